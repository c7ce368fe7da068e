//! `engines.json`: until when each engine is not to be asked, because its quota said so. Every department obeys it.

use super::charters::write_json;
use super::fault::{Result, StoreError};
use super::lock::lock;
use super::org::Org;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NAME: &str = "engines.json";

#[derive(Default, Deserialize, Serialize)]
struct Engines {
    schema: u64,
    #[serde(default)]
    engines: BTreeMap<String, EngineState>,
}

#[derive(Default, Deserialize, Serialize)]
struct EngineState {
    not_before: Option<String>,
    #[serde(default)]
    why: String,
}

impl Org {
    fn engine_states(&self) -> Result<Engines> {
        let Some(text) = self.own.read(NAME, 1024 * 1024)? else {
            return Ok(Engines { schema: 1, ..Default::default() });
        };
        serde_json::from_str(&text.text).map_err(|error| StoreError::format(self.own.join(NAME), error))
    }

    /// The moment before which an engine is not to be asked, where that is still to come.
    pub fn not_before(&self, engine: &str, now: Time) -> Result<Option<Time>> {
        let states = self.engine_states()?;
        let at =
            states.engines.get(engine).and_then(|state| state.not_before.as_deref()).and_then(parse_rfc3339);
        Ok(at.filter(|at| *at > now))
    }

    pub fn set_not_before(&self, engine: &str, at: Time, why: &str) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let mut states = self.engine_states()?;
        let state = EngineState { not_before: Some(render_rfc3339(at)), why: why.to_string() };
        states.engines.insert(engine.to_string(), state);
        write_json(&self.own, NAME, &states)
    }
}
