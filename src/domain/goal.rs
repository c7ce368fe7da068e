//! A department's goal, `goal.toml`: what it is after, how that is measured, and by when.

use serde::{Deserialize, Serialize};

/// The newest format this program knows.
pub const GOAL_SCHEMA: u64 = 1;

/// `goal.toml`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    pub schema: u64,
    #[serde(default)]
    pub objective: String,
    #[serde(default)]
    pub success_metrics: Vec<String>,
    #[serde(default)]
    pub target_date: String,
}

/// Reads a goal.
pub fn parse_goal(text: &str) -> Result<Goal, String> {
    if let Some(schema) = super::charter::other_schema(text, GOAL_SCHEMA) {
        return Err(format!("its schema is {schema}, and this program knows {GOAL_SCHEMA}"));
    }
    toml::from_str(text).map_err(|error| super::charter::toml_fault(text, &error).to_string())
}
