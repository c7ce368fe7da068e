//! A department's own settings, `director-config.json`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The newest format this program knows.
pub const CONFIG_SCHEMA: u64 = 1;

/// `director-config.json`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DirectorConfig {
    /// The format of this file: 1.
    #[serde(default = "one")]
    pub schema: u64,
    /// Whether `tick` runs this department.
    pub auto_loop: bool,
    /// How often it is looked at, 30 to 3600.
    pub auto_interval_seconds: u64,
    /// Engines by name, in the order in which they are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// Whether it may look for work of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proactive: Option<bool>,
    /// Such as `08:00-18:00`, local time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_runs: Option<MissedRuns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_quiet_seconds: Option<u64>,
}

fn one() -> u64 {
    CONFIG_SCHEMA
}

/// Whether the tool decides by itself where only one thing can be done.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Routing {
    Ask,
    Auto,
}

/// What happens to slots that passed while the machine slept.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MissedRuns {
    Skip,
    Latest,
}

impl Default for DirectorConfig {
    fn default() -> DirectorConfig {
        DirectorConfig {
            schema: CONFIG_SCHEMA,
            auto_loop: false,
            auto_interval_seconds: 60,
            engine: None,
            max_iterations: None,
            routing: None,
            proactive: None,
            active_hours: None,
            missed_runs: None,
            max_quiet_seconds: None,
        }
    }
}

/// Why a config can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault(pub String);

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads and checks a config.
pub fn parse_config(text: &str) -> Result<DirectorConfig, ConfigFault> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| ConfigFault(error.to_string()))?;
    if let Some(schema) = value.get("schema").and_then(serde_json::Value::as_u64)
        && schema != CONFIG_SCHEMA
    {
        return Err(ConfigFault(format!("its schema is {schema}, and this program knows {CONFIG_SCHEMA}")));
    }
    let config: DirectorConfig =
        serde_json::from_value(value).map_err(|error| ConfigFault(error.to_string()))?;
    config.check()?;
    Ok(config)
}

impl DirectorConfig {
    fn check(&self) -> Result<(), ConfigFault> {
        if !(30..=3_600).contains(&self.auto_interval_seconds) {
            let found = self.auto_interval_seconds;
            return Err(ConfigFault(format!("`autoIntervalSeconds` is {found}; it must be from 30 to 3600")));
        }
        if self.max_iterations.is_some_and(|most| !(1..=1_000).contains(&most)) {
            return Err(ConfigFault("`maxIterations` must be from 1 to 1000".to_string()));
        }
        Ok(())
    }
}
