//! What a run changed in all, and what it takes to take it back.
//!
//! The plans that a run carried out are kept. Together they say of each file what it was before the run and what it was
//! after: only a file that is still as the run left it is taken back. Logs are never cut; they get a line more.

use super::digest::sha256;
use super::plan::{Before, Effect, Marking, Plan};
use std::collections::BTreeMap;

/// A file before and after the run; none is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetFile {
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A message that the run moved on.
#[derive(Clone, Debug, PartialEq)]
pub struct NetMark {
    /// Where it was, and what it said.
    pub before: Option<Before>,
    pub last: Marking,
}

/// A message that the run put into an inbox, or took out of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub dept: String,
    pub id: String,
    pub text: String,
}

/// Everything a run changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Net {
    pub files: BTreeMap<String, NetFile>,
    pub marks: BTreeMap<String, NetMark>,
    pub delivered: Vec<Letter>,
    pub recalled: Vec<Letter>,
    /// Projects that it made or changed.
    pub projects: Vec<String>,
    /// The log, and the entry's first line.
    pub logged: Vec<(String, String)>,
}

/// What the plans of one run, in their order, come to.
pub fn net_effect(plans: &[Plan]) -> Net {
    let mut net = Net::default();
    for plan in plans {
        for planned in &plan.effects {
            net.take(&planned.effect, &plan.before);
        }
    }
    net
}

impl Net {
    fn take(&mut self, effect: &Effect, before: &[Before]) {
        let known = |of: &str| before.iter().find(|before| before.of == of);
        match effect {
            Effect::Create { path, text } => self.wrote(path, || None, Some(text)),
            Effect::Replace { path, text, .. } => {
                self.wrote(path, || known(path).and_then(|before| before.text.clone()), Some(text));
            }
            Effect::Remove { path, .. } => {
                self.wrote(path, || known(path).and_then(|before| before.text.clone()), None);
            }
            Effect::Board { path, from: Some(from), text, .. } => {
                self.wrote(from, || known(from).and_then(|before| before.text.clone()), None);
                self.wrote(path, || None, Some(text));
            }
            Effect::Board { path, from: None, text, .. } => {
                self.wrote(path, || known(path).and_then(|before| before.text.clone()), Some(text));
            }
            Effect::Append { path, text } => {
                let first = text.lines().next().unwrap_or_default();
                self.logged.push((path.clone(), first.to_string()));
            }
            Effect::Deliver { dept, id, text } => self.delivered.push(letter(dept, id, text)),
            Effect::Recall { dept, id, .. } => {
                let text = known(&format!("{dept}/{id}")).and_then(|before| before.text.clone());
                self.recalled.extend(text.map(|text| letter(dept, id, &text)));
            }
            Effect::Project(effect) => self.projects.push(effect.id.clone()),
            Effect::Mark { id, mark } => {
                let first = NetMark { before: known(id).cloned(), last: mark.clone() };
                self.marks.entry(id.clone()).or_insert(first).last = mark.clone();
            }
        }
    }

    fn wrote(&mut self, path: &str, before: impl FnOnce() -> Option<String>, after: Option<&String>) {
        let file = self.files.entry(path.to_string());
        let file = file.or_insert_with(|| NetFile { before: before(), after: None });
        file.after = after.cloned();
    }
}

fn letter(dept: &str, id: &str, text: &str) -> Letter {
    Letter { dept: dept.to_string(), id: id.to_string(), text: text.to_string() }
}

/// What can be done about one change.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is taken back by these effects.
    Back(Vec<Effect>),
    /// It stays, and the log it stands in says that it was undone.
    Retracted(Effect),
    /// It is as it was before the run.
    Already,
    /// It stays, and why.
    Stays(String),
}

/// One change, in words, and what can be done about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub what: String,
    pub verdict: Verdict,
}

impl Verdict {
    /// What is to be done about it.
    pub fn effects(&self) -> &[Effect] {
        match self {
            Verdict::Back(effects) => effects,
            Verdict::Retracted(effect) => std::slice::from_ref(effect),
            Verdict::Already | Verdict::Stays(_) => &[],
        }
    }
}

/// A file that is as the run left it goes back to what it was before.
pub fn judge_file(path: &str, file: &NetFile, now: Option<&str>) -> Item {
    let what = match (&file.before, &file.after) {
        (None, _) => format!("{path} was made"),
        (Some(_), None) => format!("{path} was removed"),
        (Some(_), Some(_)) => format!("{path} was changed"),
    };
    let hash = |text: &str| sha256(text.as_bytes());
    let verdict = if now == file.before.as_deref() {
        Verdict::Already
    } else if now != file.after.as_deref() {
        Verdict::Stays(match now {
            Some(_) => "it was changed since".to_string(),
            None => "it is gone".to_string(),
        })
    } else {
        let path = path.to_string();
        Verdict::Back(match (&file.before, now) {
            (Some(text), now) => {
                vec![Effect::Replace { path, before: now.map(hash), text: text.clone() }]
            }
            (None, Some(now)) => vec![Effect::Remove { path, sha256: hash(now) }],
            (None, None) => Vec::new(),
        })
    };
    Item { what, verdict }
}

/// An entry of a log stays, and the log says that it was undone.
pub fn retraction(path: &str, first_line: &str, run: &str, undo: &str, ts: &str) -> Effect {
    let text = if first_line.starts_with("- ") {
        format!("- {undo} [undone] human\n  Undone by the human, with {run}: {first_line}\n")
    } else {
        format!(
            "## {ts} Undone ({undo})\n\nThe human took back {run}, and with it: {}\n\n",
            title(first_line)
        )
    };
    Effect::Append { path: path.to_string(), text }
}

fn title(first_line: &str) -> &str {
    first_line.trim_start_matches('#').trim_start()
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Finish, Planned};
    use super::*;

    fn plan(effects: Vec<Effect>, before: Vec<Before>) -> Plan {
        Plan {
            schema: 1,
            run: "r-1".into(),
            step: 1,
            dept: "rd".into(),
            charter: String::new(),
            role: String::new(),
            provenance: String::new(),
            actions: Vec::new(),
            effects: effects.into_iter().map(|effect| Planned { action: None, effect }).collect(),
            before,
            finish: Finish::default(),
            failures: 0,
        }
    }

    fn replace(path: &str, text: &str) -> Effect {
        Effect::Replace { path: path.into(), before: None, text: text.into() }
    }

    fn before(of: &str, text: &str) -> Before {
        Before { of: of.into(), path: of.into(), text: Some(text.into()) }
    }

    #[test]
    fn the_first_before_and_the_last_after_count() {
        let net = net_effect(&[
            plan(vec![replace("a", "two")], vec![before("a", "one")]),
            plan(vec![replace("a", "three")], vec![before("a", "two")]),
            plan(vec![Effect::Create { path: "b".into(), text: "x".into() }, replace("b", "y")], Vec::new()),
        ]);
        assert_eq!(net.files["a"], NetFile { before: Some("one".into()), after: Some("three".into()) });
        assert_eq!(net.files["b"], NetFile { before: None, after: Some("y".into()) });
    }

    #[test]
    fn only_what_is_as_the_run_left_it_goes_back() {
        let file = NetFile { before: Some("one".into()), after: Some("two".into()) };
        let check = |now: Option<&str>, expected: &str| {
            let said = match judge_file("a", &file, now).verdict {
                Verdict::Back(effects) => format!("{effects:?}"),
                Verdict::Already | Verdict::Retracted(_) => "already".into(),
                Verdict::Stays(why) => why,
            };
            assert!(said.starts_with(expected), "{said}");
        };
        check(Some("two"), "[Replace");
        check(Some("one"), "already");
        check(Some("three"), "it was changed since");
        check(None, "it is gone");
        let made = NetFile { before: None, after: Some("two".into()) };
        assert!(matches!(judge_file("a", &made, Some("two")).verdict, Verdict::Back(effects)
            if matches!(effects[..], [Effect::Remove { .. }])));
        assert_eq!(judge_file("a", &made, None).verdict, Verdict::Already);
    }
}
