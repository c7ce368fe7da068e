//! A rehearsal: what a case expects of a department's run, how that is compared, and the results as TAP or JUnit.

use super::ledger::{Line, RunLine, StepLine};
use serde::Deserialize;

/// The newest format this program knows.
pub const EXPECTED_SCHEMA: u64 = 1;

/// `expected.toml` of a case. What isn't given isn't looked at; nothing given at all is refused.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub schema: u64,
    /// How the run ended.
    pub outcome: Option<String>,
    /// The orchestrator's decisions, in their order.
    pub decisions: Option<Vec<String>>,
    /// Each action as `name: verdict`, in their order.
    pub actions: Option<Vec<String>>,
    /// What was sent, as `Kind to dept`, in their order.
    pub sent: Option<Vec<String>>,
    /// The codes of all refusals, in their order.
    pub refusals: Option<Vec<String>>,
}

/// Reads a case's expectation.
pub fn parse_expected(text: &str) -> Result<Expected, String> {
    let expected: Expected = toml::from_str(text).map_err(|error| error.message().to_string())?;
    if expected.schema != EXPECTED_SCHEMA {
        return Err(format!("its schema is {}, and this program knows {EXPECTED_SCHEMA}", expected.schema));
    }
    let empty = Expected { schema: EXPECTED_SCHEMA, ..Expected::default() };
    if expected == empty {
        return Err("it expects nothing, so it could not fail".to_string());
    }
    Ok(expected)
}

/// What a run did that differs from what was expected.
pub fn faults(expected: &Expected, lines: &[Line]) -> Vec<String> {
    let steps: Vec<&StepLine> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Step(step) => Some(&**step),
            Line::Run(_) => None,
        })
        .collect();
    let end: Option<&RunLine> = lines.iter().rev().find_map(|line| match line {
        Line::Run(run) => Some(run),
        Line::Step(_) => None,
    });
    let mut faults = Vec::new();
    if let Some(wanted) = &expected.outcome {
        let found = end.map_or("none", |run| run.outcome.as_str());
        if wanted != found {
            let why = end.map(|run| run.reason.as_str()).unwrap_or_default();
            faults.push(format!("outcome: expected {wanted}, found {found} ({why})"));
        }
    }
    let decided = steps.iter().filter(|step| step.role == "orchestrator");
    let decisions = decided.filter_map(|step| step.decision.clone()).collect();
    let actions = steps.iter().flat_map(|step| &step.actions);
    let words = actions.clone().map(|action| format!("{}: {}", action.name, action.verdict)).collect();
    let carried = actions.filter(|action| action.name == "send_message" && action.verdict == "allow");
    let sent =
        carried.filter_map(|action| action.target.split_once(' ').map(|(_, to)| to.to_string())).collect();
    let refused = steps.iter().flat_map(|step| step.first_refusals.iter().chain(&step.refusals));
    let codes = refused.map(|refusal| refusal.code.clone()).collect();
    for (name, wanted, found) in [
        ("decisions", &expected.decisions, decisions),
        ("actions", &expected.actions, words),
        ("sent", &expected.sent, sent),
        ("refusals", &expected.refusals, codes),
    ] {
        faults.extend(compare(name, wanted.as_deref(), found));
    }
    faults
}

fn compare(name: &str, wanted: Option<&[String]>, found: Vec<String>) -> Option<String> {
    let wanted = wanted?;
    (wanted != found)
        .then(|| format!("{name}: expected [{}], found [{}]", wanted.join(", "), found.join(", ")))
}

/// One case and what was wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub name: String,
    pub faults: Vec<String>,
}

/// The results in the Test Anything Protocol.
pub fn render_tap(results: &[CaseResult]) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", results.len());
    for (index, case) in results.iter().enumerate() {
        let word = if case.faults.is_empty() { "ok" } else { "not ok" };
        text.push_str(&format!("{word} {} - {}\n", index + 1, case.name.replace('#', "\\#")));
        for fault in &case.faults {
            text.push_str(&format!("  # {}\n", super::text::one_line(fault, 500)));
        }
    }
    text
}

/// The results as JUnit's XML.
pub fn render_junit(dept: &str, results: &[CaseResult]) -> String {
    let failed = results.iter().filter(|case| !case.faults.is_empty()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" \
         errors=\"0\" skipped=\"0\">\n",
        escape(dept),
        results.len()
    );
    for case in results {
        // Some that read it want a class: the department is one.
        let name = format!("classname=\"{}\" name=\"{}\"", escape(dept), escape(&case.name));
        if case.faults.is_empty() {
            text.push_str(&format!("  <testcase {name}/>\n"));
            continue;
        }
        let first = case.faults.first().map(|fault| escape(fault)).unwrap_or_default();
        let all = escape(&case.faults.join("\n"));
        text.push_str(&format!(
            "  <testcase {name}>\n    <failure message=\"{first}\">{all}</failure>\n  </testcase>\n"
        ));
    }
    text.push_str("</testsuite>\n");
    text
}

/// Text within XML; characters that XML can't hold are left out.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    let holds =
        |c: &char| (!c.is_control() || matches!(c, '\n' | '\t')) && !matches!(c, '\u{fffe}' | '\u{ffff}');
    for c in text.chars().filter(holds) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_that_could_not_fail_is_refused() {
        assert_eq!(parse_expected("schema = 1"), Err("it expects nothing, so it could not fail".to_string()));
        assert!(parse_expected("schema = 1\noutcom = \"done\"").is_err());
        assert!(parse_expected("schema = 2\noutcome = \"done\"").is_err());
        assert!(parse_expected("schema = 1\noutcome = \"done\"").is_ok());
    }

    #[test]
    fn results_in_both_forms() {
        let results = [
            CaseResult { name: "good".into(), faults: Vec::new() },
            CaseResult { name: "a<b".into(), faults: vec!["x & \"y\"".into()] },
        ];
        assert_eq!(
            render_tap(&results),
            "TAP version 13\n1..2\nok 1 - good\nnot ok 2 - a<b\n  # x & \"y\"\n"
        );
        let xml = render_junit("rd", &results);
        assert!(xml.contains("<testsuite name=\"rd\" tests=\"2\" failures=\"1\" errors=\"0\""), "{xml}");
        assert!(
            xml.contains(
                "<testcase classname=\"rd\" name=\"a&lt;b\">\n    <failure message=\"x &amp; &quot;y&quot;\">"
            ),
            "{xml}"
        );
    }
}
