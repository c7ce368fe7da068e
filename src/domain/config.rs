//! A department's own settings, `director-config.json`.

use super::hours::parse_hours;
use super::id::nearest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
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
    /// Such as `08:00-18:00` or `mon-fri 08:00-18:00 Europe/Berlin`; local time where no zone is named.
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

/// The keys that a person may set, with what each takes.
pub const KEYS: [(&str, &str); 9] = [
    ("autoLoop", "true or false"),
    ("autoIntervalSeconds", "30 to 3600"),
    ("engine", "engines by name, with commas between them"),
    ("maxIterations", "1 to 1000"),
    ("routing", "ask or auto"),
    ("proactive", "true or false"),
    ("activeHours", "such as 08:00-18:00, or mon-fri 08:00-18:00 Europe/Berlin"),
    ("missedRuns", "skip or latest"),
    ("maxQuietSeconds", "60 to 2592000"),
];

/// The word that takes an optional key away again.
pub const DEFAULT: &str = "default";

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
        if self.max_quiet_seconds.is_some_and(|most| !(60..=2_592_000).contains(&most)) {
            return Err(ConfigFault("`maxQuietSeconds` must be from 60 to 2592000, a month".to_string()));
        }
        if self.engine.as_ref().is_some_and(Vec::is_empty) {
            return Err(ConfigFault("`engine` names no engine".to_string()));
        }
        if let Some(hours) = &self.active_hours {
            parse_hours(hours).map_err(|what| ConfigFault(format!("`activeHours` {what}")))?;
        }
        Ok(())
    }

    /// The keys and values as they stand; what isn't set is left out.
    pub fn values(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(values)) => values,
            _ => Map::new(),
        }
    }

    /// The config with one key changed, where that is a key and the value is within its bounds.
    pub fn with(&self, key: &str, text: &str) -> Result<DirectorConfig, ConfigFault> {
        let Some((_, takes)) = KEYS.iter().find(|(name, _)| *name == key) else {
            let near = nearest(key, KEYS.iter().map(|(name, _)| *name));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let key = super::text::one_line(key, 60);
            return Err(ConfigFault(format!("there is no key `{key}`{near}")));
        };
        let mut values = self.values();
        match value_of(key, text.trim()) {
            None => {
                values.shift_remove(key);
            }
            Some(value) => {
                values.insert(key.to_string(), value);
            }
        }
        let changed: Result<DirectorConfig, _> = serde_json::from_value(Value::Object(values));
        let shown = super::text::one_line(text, 60);
        let changed =
            changed.map_err(|_| ConfigFault(format!("`{key}` can't be `{shown}`: it takes {takes}")))?;
        changed.check()?;
        Ok(changed)
    }
}

/// A config as a tick remembers it: the keys with their values, or why it can't be read.
pub fn seen_config(config: &Result<DirectorConfig, String>) -> Value {
    match config {
        Ok(config) => Value::Object(config.values()),
        Err(why) => Value::String(why.clone()),
    }
}

/// What changed from one to the other, in a sentence; none where nothing did.
pub fn changes(before: &Value, now: &Value) -> Option<String> {
    let (Value::Object(before), Value::Object(now)) = (before, now) else {
        return match now {
            _ if before == now => None,
            Value::String(why) => Some(format!("it can't be read: {}", super::text::one_line(why, 300))),
            _ => Some("it can be read again".to_string()),
        };
    };
    let names = KEYS.iter().map(|(name, _)| *name);
    let changed = names.filter(|name| before.get(*name) != now.get(*name)).map(|name| {
        let shown = |values: &Map<String, Value>| values.get(name).map_or("default".to_string(), shown_value);
        format!("{name} is {} instead of {}", shown(now), shown(before))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| changed.join(", "))
}

/// A value as `config set` takes it.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::Null => "default".to_string(),
        Value::String(text) => super::text::one_line(text, 200),
        Value::Array(list) => list.iter().map(shown_value).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A value as a person types it; none where the key is to be taken away.
fn value_of(key: &str, text: &str) -> Option<Value> {
    if text == DEFAULT {
        return match key {
            "autoLoop" => Some(Value::Bool(false)),
            "autoIntervalSeconds" => Some(DirectorConfig::default().auto_interval_seconds.into()),
            _ => None,
        };
    }
    Some(match key {
        "engine" => text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
        "activeHours" | "routing" | "missedRuns" => Value::String(text.to_string()),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, value: &str, good: bool) {
        let changed = DirectorConfig::default().with(key, value);
        assert_eq!(changed.is_ok(), good, "{key}={value}: {changed:?}");
    }

    #[test]
    fn bounds_are_held() {
        for (value, good) in [("30", true), ("3600", true), ("29", false), ("3601", false), ("-1", false)] {
            check("autoIntervalSeconds", value, good);
        }
        for (value, good) in [("", false), ("60s", false), ("1e2", false), ("60.0", false)] {
            check("autoIntervalSeconds", value, good);
        }
        for (value, good) in [("true", true), ("false", true), ("yes", false), ("1", false)] {
            check("autoLoop", value, good);
            check("proactive", value, good);
        }
        for (value, good) in [("skip", true), ("latest", true), ("all", false)] {
            check("missedRuns", value, good);
        }
        check("activeHours", "08:00-18:00", true);
        check("activeHours", "8-18", false);
        check("maxQuietSeconds", "59", false);
        check("maxQuietSeconds", "60", true);
        check("engine", "rules, claude", true);
        check("engine", ",", false);
        check("routing", "auto", true);
        check("nothing", "1", false);
    }

    #[test]
    fn an_optional_key_can_be_taken_away() {
        let set = DirectorConfig::default().with("maxIterations", "3").unwrap();
        assert_eq!(set.max_iterations, Some(3));
        assert_eq!(set.with("maxIterations", "default").unwrap(), DirectorConfig::default());
        let loops = set.with("autoLoop", "true").unwrap().with("autoLoop", "default").unwrap();
        assert!(!loops.auto_loop);
    }

    #[test]
    fn a_change_is_told_by_its_keys() {
        let before = DirectorConfig::default();
        let after = before.with("autoLoop", "true").unwrap().with("maxIterations", "3").unwrap();
        let [before, after] = [before, after].map(|config| seen_config(&Ok(config)));
        assert_eq!(changes(&before, &before), None);
        let told = "autoLoop is true instead of false, maxIterations is 3 instead of default";
        assert_eq!(changes(&before, &after).unwrap(), told);
        let broken = seen_config(&Err("no JSON".to_string()));
        assert_eq!(changes(&after, &broken).unwrap(), "it can't be read: no JSON");
        assert_eq!(changes(&broken, &after).unwrap(), "it can be read again");
    }

    #[test]
    fn a_misspelt_key_is_guessed() {
        let fault = DirectorConfig::default().with("autoloop", "true").unwrap_err();
        assert_eq!(fault.0, "there is no key `autoloop`; did you mean `autoLoop`?");
    }
}
