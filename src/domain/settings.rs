//! The organisation's settings, `org.toml`: engines, pipelines, budgets and caps, with every default stated.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// The newest format this program knows.
pub const SETTINGS_SCHEMA: u64 = 1;

/// `org.toml`. A key it doesn't know is refused: a cap that nothing reads is worse than none.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub schema: u64,
    #[serde(default)]
    pub defaults: Defaults,
    #[serde(default)]
    pub engines: BTreeMap<String, EngineSettings>,
    #[serde(default)]
    pub pipelines: BTreeMap<String, Pipeline>,
    #[serde(default)]
    pub budget: Budgets,
    #[serde(default)]
    pub notify: Option<Notify>,
    #[serde(default)]
    pub git: Git,
    #[serde(default)]
    pub live_state: Caps,
}

/// What a department gets that doesn't say otherwise.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// Engines by name, in the order in which they are asked.
    pub engine: Vec<String>,
    pub max_iterations: u64,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults { engine: vec!["rules".to_string(), "claude".to_string()], max_iterations: 10 }
    }
}

/// One engine.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    pub preset: String,
    pub model: Option<String>,
    /// Where given, any other model is refused.
    #[serde(default)]
    pub allow_models: Vec<String>,
    #[serde(default)]
    pub command: Vec<String>,
    /// Arguments put after the preset's own.
    #[serde(default)]
    pub args: Vec<String>,
    /// Names of variables that are passed through; never values.
    #[serde(default)]
    pub env: Vec<String>,
    /// Tools the engine may use; none unless named.
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u64,
    /// What a call may cost at the most; counted where the engine reports no cost.
    #[serde(default = "default_worst_case")]
    pub worst_case_usd: f64,
    /// How many tokens an answer may have at the most; reserved before a call.
    #[serde(default = "default_output_tokens")]
    pub worst_case_output_tokens: usize,
    /// The folder of answers of a `script` engine.
    pub folder: Option<String>,
}

fn default_timeout() -> u64 {
    600
}

fn default_worst_case() -> f64 {
    1.0
}

fn default_output_tokens() -> usize {
    8_192
}

/// A program that `dispatch` may start.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    pub command: Vec<String>,
    #[serde(default)]
    pub env: Vec<String>,
    #[serde(default = "default_pipeline_timeout")]
    pub timeout_seconds: u64,
    #[serde(default = "default_worst_case")]
    pub worst_case_usd: f64,
    /// How many tokens it may take at the most: nobody reports what a program used.
    #[serde(default = "default_pipeline_tokens")]
    pub worst_case_tokens: u64,
}

fn default_pipeline_tokens() -> u64 {
    8_192
}

fn default_pipeline_timeout() -> u64 {
    3_600
}

/// Budgets by whom they hold for.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    pub organisation: Budget,
    pub department: Budget,
    pub project: Budget,
    pub directive: Budget,
}

impl Default for Budgets {
    fn default() -> Budgets {
        let organisation = Budget { usd_per_day: Some(10.0), runs_per_day: Some(500), ..Budget::default() };
        let department = Budget { usd_per_day: Some(3.0), ..Budget::default() };
        Budgets { organisation, department, project: Budget::default(), directive: Budget::default() }
    }
}

impl Budgets {
    /// What isn't set has its default, also where other keys of the same table are: never unlimited.
    fn fill_in(&mut self) {
        let Budgets { organisation, department, .. } = Budgets::default();
        self.organisation.usd_per_day = self.organisation.usd_per_day.or(organisation.usd_per_day);
        self.organisation.runs_per_day = self.organisation.runs_per_day.or(organisation.runs_per_day);
        self.department.usd_per_day = self.department.usd_per_day.or(department.usd_per_day);
    }
}

/// What may be spent in one span; absent is not limited by this key.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub usd_per_step: Option<f64>,
    pub usd_per_run: Option<f64>,
    pub usd_per_day: Option<f64>,
    pub usd_per_week: Option<f64>,
    pub usd_per_month: Option<f64>,
    pub tokens_per_step: Option<u64>,
    pub tokens_per_run: Option<u64>,
    pub tokens_per_day: Option<u64>,
    pub tokens_per_week: Option<u64>,
    pub tokens_per_month: Option<u64>,
    pub runs_per_day: Option<u64>,
    pub runs_per_week: Option<u64>,
    pub runs_per_month: Option<u64>,
}

/// The user's own notifier: it gets JSON on stdin.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    pub command: Vec<String>,
}

/// Whether each run ends in a commit.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Git {
    pub commit: bool,
}

impl Default for Git {
    fn default() -> Git {
        Git { commit: true }
    }
}

/// How much of each section of live state a prompt shows. What is cut leaves a mark with the count.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Caps {
    pub memory_bytes: usize,
    pub notes_bytes: usize,
    pub charter_bytes: usize,
    pub history_entries: usize,
    pub history_bytes: usize,
    pub inbox_entries: usize,
    pub inbox_bytes: usize,
    pub outbox_entries: usize,
    pub projects_entries: usize,
    pub board_entries: usize,
    pub board_bytes: usize,
    pub eligible_entries: usize,
    pub decisions_entries: usize,
    pub refusals_entries: usize,
    pub message_bytes: usize,
}

impl Default for Caps {
    fn default() -> Caps {
        Caps {
            memory_bytes: 16_384,
            notes_bytes: 8_192,
            charter_bytes: 16_384,
            history_entries: 96,
            history_bytes: 16_384,
            inbox_entries: 40,
            inbox_bytes: 8_192,
            outbox_entries: 10,
            projects_entries: 30,
            board_entries: 40,
            board_bytes: 8_192,
            eligible_entries: 20,
            decisions_entries: 12,
            refusals_entries: 20,
            message_bytes: 65_536,
        }
    }
}

/// Why settings can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault(pub String);

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Engines that need no entry in `org.toml`, because they start nothing.
pub const BUILT_IN: [&str; 1] = ["rules"];

/// Reads and checks `org.toml`.
pub fn parse_settings(text: &str) -> Result<Settings, SettingsFault> {
    if let Some(schema) = super::charter::other_schema(text, SETTINGS_SCHEMA) {
        return Err(SettingsFault(format!(
            "its schema is {schema}, and this program knows {SETTINGS_SCHEMA}"
        )));
    }
    let mut settings: Settings = toml::from_str(text)
        .map_err(|error| SettingsFault(super::charter::toml_fault(text, &error).to_string()))?;
    settings.budget.fill_in();
    settings.check()?;
    Ok(settings)
}

impl Settings {
    fn check(&self) -> Result<(), SettingsFault> {
        if !(1..=1_000).contains(&self.defaults.max_iterations) {
            return Err(SettingsFault("`defaults.max_iterations` must be from 1 to 1000".to_string()));
        }
        for (name, engine) in &self.engines {
            engine.check(name)?;
        }
        for (name, pipeline) in &self.pipelines {
            if !pipeline.command.first().is_some_and(|program| program.starts_with('/')) {
                return Err(SettingsFault(format!(
                    "`pipelines.{name}.command` must begin with an absolute path"
                )));
            }
            if !pipeline.worst_case_usd.is_finite() || pipeline.worst_case_usd < 0.0 {
                return Err(SettingsFault(format!(
                    "`pipelines.{name}.worst_case_usd` must be a number of USD, 0 or more"
                )));
            }
        }
        self.check_money()
    }

    fn check_money(&self) -> Result<(), SettingsFault> {
        let budgets = [
            &self.budget.organisation,
            &self.budget.department,
            &self.budget.project,
            &self.budget.directive,
        ];
        let amounts = budgets.into_iter().flat_map(|budget| {
            [
                budget.usd_per_step,
                budget.usd_per_run,
                budget.usd_per_day,
                budget.usd_per_week,
                budget.usd_per_month,
            ]
        });
        match amounts.flatten().find(|amount| !amount.is_finite() || *amount < 0.0) {
            Some(amount) => Err(SettingsFault(format!("a budget of {amount} USD is no budget: 0 or more"))),
            None => Ok(()),
        }
    }
}

impl EngineSettings {
    fn check(&self, name: &str) -> Result<(), SettingsFault> {
        let fault = |key: &str, what: &str| Err(SettingsFault(format!("`engines.{name}.{key}` {what}")));
        if !self.worst_case_usd.is_finite() || self.worst_case_usd < 0.0 {
            return fault("worst_case_usd", "must be a number of USD, 0 or more");
        }
        if !(1..=86_400).contains(&self.timeout_seconds) {
            return fault("timeout_seconds", "must be from 1 to 86400");
        }
        if self.model.is_none()
            && let Some(first) = self.allow_models.first()
        {
            // Without one the client takes its own default, whatever the list says.
            return fault(
                "model",
                &format!(
                    "is missing: `allow_models` needs an exact model beside it, such as `model = \"{first}\"`"
                ),
            );
        }
        if let Some(model) = &self.model
            && !self.allow_models.is_empty()
            && !self.allow_models.contains(model)
        {
            return fault("model", &format!("is `{model}`, which is not in `allow_models`"));
        }
        let names_model = |arg: &String| arg == "-m" || arg == "--model" || arg.starts_with("--model=");
        if !self.allow_models.is_empty() && self.args.iter().any(names_model) {
            return fault("args", "name a model, which `allow_models` can't hold: set `model` instead");
        }
        if self.preset == "command" && self.command.is_empty() {
            return fault("command", "is missing: the preset `command` runs it");
        }
        Ok(())
    }
}
