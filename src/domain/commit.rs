//! What belongs into a department's next commit, and what the commit says.
//!
//! Every file that the program writes in a department is noted before it is written. A noted path that turns out to be
//! unchanged harms nothing; a path that is not noted is never committed, so that a human's own changes stay theirs.

pub mod batches;
mod subject;

use super::ledger::{Line, RunLine, StepLine};
use super::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use subject::what_was_done;

/// The newest format this program knows.
pub const NOTE_SCHEMA: u64 = 1;
/// The longest subject; longer ones are cut off by whatever shows them.
const SUBJECT_MAX: usize = 72;
const RECORDS: &str = ".harness/director-runs/";
const CONFIG: &str = ".harness/director-config.json";

/// One file that is about to be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub schema: u64,
    /// Beneath the department's folder.
    pub path: String,
    /// `user`, or `<run>.<dept>`.
    pub by: String,
    #[serde(flatten)]
    pub written: Written,
}

/// How it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "written", rename_all = "lowercase")]
pub enum Written {
    /// All of it, with these bytes.
    Whole {
        sha256: String,
    },
    /// An entry at its end.
    Added {
        text: String,
    },
    /// It came from another place.
    Moved,
    Gone,
}

/// Whether git is to know of a file: of the tool's own state, only the settings and the records.
pub fn is_kept(path: &str) -> bool {
    !path.starts_with(".harness/") || path.starts_with(RECORDS) || path == CONFIG
}

/// The runs of a department that wrote what is noted, in their order.
pub fn runs_of<'a>(notes: &'a [Note], dept: &str) -> Vec<&'a str> {
    let mut runs: Vec<&str> = Vec::new();
    for note in notes {
        if let Some((run, of)) = note.by.split_once('.')
            && of == dept
            && !runs.contains(&run)
        {
            runs.push(run);
        }
    }
    runs
}

/// What all notes on one file come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It must still be what was written.
    Whole {
        sha256: String,
    },
    /// Entries at the end of what was there.
    Added(Vec<String>),
    AsItIs,
    Gone,
}

/// The notes by file.
pub fn fold_notes<'a>(notes: impl IntoIterator<Item = &'a Note>) -> BTreeMap<String, Standing> {
    let mut files = BTreeMap::new();
    for note in notes {
        let before = files.remove(&note.path);
        files.insert(note.path.clone(), next_standing(before, &note.written));
    }
    files
}

fn next_standing(before: Option<Standing>, written: &Written) -> Standing {
    match (before, written) {
        (_, Written::Whole { sha256 }) => Standing::Whole { sha256: sha256.clone() },
        (_, Written::Moved) => Standing::AsItIs,
        (_, Written::Gone) => Standing::Gone,
        (None, Written::Added { text }) => Standing::Added(vec![text.clone()]),
        (Some(Standing::Added(mut entries)), Written::Added { text }) => {
            // After a crash the same entry is added once more, perhaps without the line end before it.
            let same = |entry: &String| entry.trim_start_matches('\n') == text.trim_start_matches('\n');
            if !entries.iter().any(same) {
                entries.push(text.clone());
            }
            Standing::Added(entries)
        }
        (Some(_), Written::Added { .. }) => Standing::AsItIs,
    }
}

/// A text with the entries that it lacks.
pub fn with_entries(base: &[u8], entries: &[String]) -> Vec<u8> {
    let mut whole = base.to_vec();
    for entry in entries {
        let entry = entry.trim_start_matches('\n').as_bytes();
        if holds(&whole, entry) {
            continue;
        }
        if !whole.is_empty() && !whole.ends_with(b"\n") {
            whole.push(b'\n');
        }
        whole.extend_from_slice(entry);
    }
    whole
}

/// Whether a text holds an entry, which begins a line.
fn holds(text: &[u8], entry: &[u8]) -> bool {
    let found = |at: usize| (at == 0 || text[at - 1] == b'\n') && text[at..].starts_with(entry);
    !entry.is_empty() && text.len() >= entry.len() && (0..=text.len() - entry.len()).any(found)
}

/// Whether more than records would be committed: a run that changed nothing still has a record.
pub fn is_change<'a>(paths: impl IntoIterator<Item = &'a str>) -> bool {
    paths.into_iter().any(|path| !path.starts_with(RECORDS))
}

/// What one commit tells: its runs with their lines of the ledger, and what came from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Telling<'a> {
    pub dept: &'a str,
    pub runs: &'a [&'a str],
    /// The ledger's lines, of which those of the runs are told.
    pub lines: &'a [Line],
    pub paths: &'a [String],
    /// Said instead of what the runs did.
    pub subject: Option<String>,
}

/// The commit's message: a subject, and the trailers of its runs.
pub fn render_commit(telling: &Telling<'_>) -> String {
    let of_run = |run: &str| telling.runs.contains(&run);
    let steps: Vec<&StepLine> = telling
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Step(step) if of_run(&step.run) => Some(&**step),
            _ => None,
        })
        .collect();
    let ended: Vec<&RunLine> = telling
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Run(run) if of_run(&run.run) => Some(run),
            _ => None,
        })
        .collect();
    let room = SUBJECT_MAX.saturating_sub(telling.dept.len() + 2);
    let done = telling.subject.clone().unwrap_or_else(|| what_was_done(&steps, &ended, telling.paths, room));
    let subject = one_line(&format!("{}: {done}", telling.dept), SUBJECT_MAX);
    // What the tool wrote by itself has no run that the ledger knows.
    let known = |run: &str| telling.lines.iter().any(|line| line.run() == run);
    let runs: Vec<&str> = telling.runs.iter().copied().filter(|run| known(run)).collect();
    let mut trailers: Vec<(String, String)> =
        runs.iter().map(|run| ("Harness-Run".to_string(), run.to_string())).collect();
    if !runs.is_empty() {
        trailers.push(("Harness-Decision".to_string(), decisions(&steps)));
        trailers.push(("Harness-Cost".to_string(), cost(&runs, &ended, &steps)));
    }
    let mut text = format!("{subject}\n");
    if !trailers.is_empty() {
        text.push('\n');
    }
    for (name, value) in trailers {
        text.push_str(&format!("{name}: {}\n", one_line(&value, 500)));
    }
    text
}

fn decisions(steps: &[&StepLine]) -> String {
    let decided = steps.iter().filter(|step| step.role == "orchestrator");
    let mut words: Vec<&str> = decided.filter_map(|step| step.decision.as_deref()).collect();
    if words.is_empty() {
        // Where the tool decided by itself, the worker's line has the decision.
        words = steps.iter().filter_map(|step| step.decision.as_deref()).collect();
    }
    if words.is_empty() { "none".to_string() } else { words.join(", ") }
}

fn cost(runs: &[&str], ended: &[&RunLine], steps: &[&StepLine]) -> String {
    let (known, counted): (Option<f64>, f64) = if ended.len() == runs.len() {
        (ended.iter().map(|run| run.cost_usd).sum(), ended.iter().map(|run| run.counted_usd).sum())
    } else {
        (steps.iter().map(|step| step.cost_usd).sum(), steps.iter().map(|step| step.counted_usd).sum())
    };
    // The sum of nothing is a negative zero.
    let (known, counted) = (known.map(|usd| usd + 0.0), counted + 0.0);
    match known {
        Some(usd) => format!("{usd:.4} USD"),
        None => format!("unknown, counted as {counted:.4} USD"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::ActionLine;
    use super::super::verdict::Verdict;
    use super::*;

    fn note(path: &str, by: &str, written: Written) -> Note {
        Note { schema: 1, path: path.into(), by: by.into(), written }
    }

    fn added(text: &str) -> Written {
        Written::Added { text: text.into() }
    }

    #[test]
    fn notes_fold_to_what_stands_last() {
        let whole = Written::Whole { sha256: "1".into() };
        let files = fold_notes(&[
            note("a", "user", added("- one\n")),
            note("a", "user", added("\n- one\n")),
            note("a", "user", added("- two\n")),
            note("b", "user", whole.clone()),
            note("b", "user", Written::Gone),
            note("c", "user", whole.clone()),
            note("c", "user", added("- x\n")),
            note("d", "user", Written::Moved),
            note("d", "user", whole),
        ]);
        assert_eq!(files["a"], Standing::Added(vec!["- one\n".into(), "- two\n".into()]));
        assert_eq!(files["b"], Standing::Gone);
        assert_eq!(files["c"], Standing::AsItIs);
        assert_eq!(files["d"], Standing::Whole { sha256: "1".into() });
    }

    #[test]
    fn entries_are_there_once_and_on_lines_of_their_own() {
        let entries = ["- one\n".to_string(), "- two\n".to_string()];
        assert_eq!(with_entries(b"# Log", &entries), b"# Log\n- one\n- two\n");
        assert_eq!(with_entries(b"# Log\n- one\n", &entries), b"# Log\n- one\n- two\n");
        assert_eq!(with_entries(b"x- one\n", &entries), b"x- one\n- one\n- two\n");
        assert_eq!(with_entries(b"", &entries), b"- one\n- two\n");
    }

    #[test]
    fn only_settings_and_records_of_the_tools_own_state_are_kept() {
        for (path, kept) in [
            ("inbox/m-1.md", true),
            (".gitignore", true),
            (".harness/director-runs/x.md", true),
            (".harness/director-config.json", true),
            (".harness/runs.jsonl", false),
            (".harness/journal/x.json", false),
        ] {
            assert_eq!(is_kept(path), kept, "{path}");
        }
    }

    fn step(run: &str, role: &str, decision: &str, actions: Vec<ActionLine>) -> Line {
        Line::Step(Box::new(StepLine {
            run: run.into(),
            role: role.into(),
            decision: Some(decision.into()),
            outcome: "ok".into(),
            actions,
            cost_usd: Some(0.25),
            ..StepLine::default()
        }))
    }

    fn action(name: &str, target: &str, verdict: &str) -> ActionLine {
        ActionLine {
            name: name.into(),
            target: target.into(),
            verdict: verdict.into(),
            ..ActionLine::default()
        }
    }

    #[test]
    fn a_commit_tells_what_its_run_did() {
        let sent = action("send_message", "m-1 Decision to rd", "allow");
        let lines = [
            step("r-0", "worker", "NEXT_WORKER", vec![action("remember", "", "allow")]),
            step("r-1", "orchestrator", "NEXT_WORKER", Vec::new()),
            step("r-1", "worker", "NEXT_WORKER", vec![sent, action("mark_message", "m-2 actioned", "allow")]),
            step("r-1", "orchestrator", "DONE", Vec::new()),
            Line::Run(RunLine { run: "r-1".into(), cost_usd: Some(0.75), ..RunLine::default() }),
        ];
        let telling = Telling { dept: "business", runs: &["r-1"], lines: &lines, ..Telling::default() };
        assert_eq!(
            render_commit(&telling),
            "business: sent Decision to rd; handled a message\n\nHarness-Run: r-1\n\
             Harness-Decision: NEXT_WORKER, DONE\nHarness-Cost: 0.7500 USD\n"
        );
    }

    #[test]
    fn what_waits_for_a_human_was_asked_and_not_done() {
        let waits = action("send_message", "a-1", &Verdict::NeedsApproval.to_string());
        let lines = [step("r-1", "worker", "NEXT_WORKER", vec![waits])];
        let telling = Telling { dept: "rd", runs: &["r-1"], lines: &lines, ..Telling::default() };
        assert!(render_commit(&telling).starts_with("rd: asked approval of send_message\n"));
    }

    #[test]
    fn a_run_that_the_ledger_does_not_know_is_not_named() {
        let paths = ["escalations/e-1.md".to_string()];
        let telling = Telling { dept: "rd", runs: &["r-1"], paths: &paths, ..Telling::default() };
        assert_eq!(render_commit(&telling), "rd: escalated something to the human\n");
    }

    #[test]
    fn a_run_that_cost_nothing_says_so_plainly() {
        let lines = [Line::Step(Box::new(StepLine { run: "r-2".into(), ..StepLine::default() }))];
        assert_eq!(cost(&["r-2"], &[], &[]), "0.0000 USD");
        let telling = Telling { dept: "rd", runs: &["r-2"], lines: &lines, ..Telling::default() };
        assert!(render_commit(&telling).contains("Harness-Run: r-2\n"));
    }

    #[test]
    fn what_came_from_elsewhere_has_no_trailers() {
        let paths = ["inbox/m-1.md".to_string(), "inbox/m-2.md".to_string()];
        let telling = Telling { dept: "rd", paths: &paths, ..Telling::default() };
        assert_eq!(render_commit(&telling), "rd: received 2 messages\n");
    }
}
