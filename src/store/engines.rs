//! `engines.json`: until when each engine is not to be asked, because its quota said so or because it was overloaded.
//! Every department obeys it.

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

/// What is known of an engine that could not take a question.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct EngineState {
    not_before: Option<String>,
    #[serde(default)]
    pub why: String,
    /// How often in a row it could not and gave no time; 0 where it gave one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rests: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl EngineState {
    /// The moment before which it is not to be asked, where that is still to come.
    pub fn not_before(&self, now: Time) -> Option<Time> {
        self.not_before.as_deref().and_then(parse_rfc3339).filter(|at| *at > now)
    }
}

impl Org {
    fn engine_states(&self) -> Result<Engines> {
        let Some(text) = self.own.read(NAME, 1024 * 1024)? else {
            return Ok(Engines { schema: 1, ..Default::default() });
        };
        serde_json::from_str(&text.text).map_err(|error| StoreError::format(self.own.join(NAME), error))
    }

    pub fn engine_state(&self, engine: &str) -> Result<EngineState> {
        Ok(self.engine_states()?.engines.remove(engine).unwrap_or_default())
    }

    /// The moment before which an engine is not to be asked, where that is still to come.
    pub fn not_before(&self, engine: &str, now: Time) -> Result<Option<Time>> {
        Ok(self.engine_state(engine)?.not_before(now))
    }

    /// Keeps every department from asking an engine until then.
    pub fn set_not_before(&self, engine: &str, at: Time, why: &str, rests: u32) -> Result<()> {
        let state = EngineState { not_before: Some(render_rfc3339(at)), why: why.to_string(), rests };
        self.change_engine(engine, Some(state))
    }

    /// It answers again: the next time that it can't is the first one.
    pub fn forget_rests(&self, engine: &str) -> Result<()> {
        self.change_engine(engine, None)
    }

    fn change_engine(&self, engine: &str, state: Option<EngineState>) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let mut states = self.engine_states()?;
        match state {
            Some(state) => states.engines.insert(engine.to_string(), state),
            None => states.engines.remove(engine),
        };
        write_json(&self.own, NAME, &states)
    }
}
