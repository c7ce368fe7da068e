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

/// One question that a department without an objective asks.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct IntakeQuestion {
    /// A key of `goal.toml`, or a word of its own for what is kept in memory alone.
    pub field: String,
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Intake {
    #[serde(rename = "schema")]
    _schema: u64,
    question: Vec<IntakeQuestion>,
}

/// Reads the questions: 3 to 7, each about something else.
pub fn parse_intake(text: &str, dept: &str) -> Result<Vec<IntakeQuestion>, String> {
    let intake: Intake =
        toml::from_str(text).map_err(|error| super::charter::toml_fault(text, &error).to_string())?;
    let mut questions = intake.question;
    if !(3..=7).contains(&questions.len()) {
        return Err(format!("it has {} questions; there are 3 to 7", questions.len()));
    }
    for question in &mut questions {
        question.text = question.text.replace("{{ dept }}", dept);
    }
    Ok(questions)
}

/// `goal.toml` with an answer filed in it; none where the answer belongs to no key of it, or where the file says
/// something that can't be read: that is somebody's, and is not written over. Comments stay.
pub fn file_answer(text: &str, field: &str, answer: &str) -> Option<String> {
    let mut goal = if text.trim().is_empty() { Goal::default() } else { parse_goal(text).ok()? };
    let answer = answer.trim();
    match field {
        "objective" => goal.objective = answer.to_string(),
        "success_metrics" => {
            let parts = answer.split(['\n', ';']).map(|part| part.trim().trim_start_matches(['-', '*', ' ']));
            goal.success_metrics = parts.filter(|part| !part.is_empty()).map(str::to_string).collect();
        }
        "target_date" => goal.target_date = answer.to_string(),
        _ => return None,
    }
    let quoted = |text: &str| toml::Value::String(text.to_string()).to_string();
    let comments: String = text
        .lines()
        .filter(|line| line.trim_start().starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    let metrics: String =
        goal.success_metrics.iter().map(|metric| format!("  {},\n", quoted(metric))).collect();
    let metrics = if metrics.is_empty() { "[]".to_string() } else { format!("[\n{metrics}]") };
    Some(format!(
        "schema = {GOAL_SCHEMA}\n{comments}objective = {}\nsuccess_metrics = {metrics}\ntarget_date = {}\n",
        quoted(&goal.objective),
        quoted(&goal.target_date)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_filed_one_after_another() {
        let text = "schema = 1\n# Mine.\nobjective = \"\"\nsuccess_metrics = []\ntarget_date = \"\"\n";
        let text = file_answer(text, "success_metrics", "- ten users; \"two\" months\n").unwrap();
        let text = file_answer(&text, "objective", "Be \\ useful\nto all").unwrap();
        let text = file_answer(&text, "target_date", "2027-03-31").unwrap();
        assert!(text.starts_with("schema = 1\n# Mine.\nobjective = "), "{text}");
        let goal = parse_goal(&text).unwrap();
        assert_eq!(goal.objective, "Be \\ useful\nto all");
        assert_eq!(goal.success_metrics, ["ten users", "\"two\" months"]);
        assert_eq!(goal.target_date, "2027-03-31");
        assert_eq!(file_answer(&text, "people", "users"), None);
        assert!(file_answer("", "objective", "Be there").is_some());
        assert_eq!(file_answer("objective = [", "objective", "Be there"), None, "it is somebody's");
        assert_eq!(file_answer("schema = 2\n", "objective", "Be there"), None);
    }

    #[test]
    fn there_are_three_to_seven_questions() {
        let question = "[[question]]\nfield = \"a\"\ntext = \"For {{ dept }}?\"\n";
        let read = |count: usize| parse_intake(&format!("schema = 1\n{}", question.repeat(count)), "rd");
        assert!(read(2).is_err() && read(8).is_err());
        assert_eq!(read(3).unwrap()[0].text, "For rd?");
    }
}
