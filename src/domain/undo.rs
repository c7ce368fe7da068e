//! What a run changed in all, and what it takes to take it back.
//!
//! The plans that a run carried out are kept. Together they say of each file what it was before the run and what it was
//! after: only a file that is still as the run left it is taken back. Logs are never cut; they get a line more.

use super::digest::sha256;
use super::plan::{Before, Effect, Marking, Plan};
use super::project::{Change, FieldChange, Project, ProjectEffect, ProjectStatus};
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
    /// What it did to projects, in order.
    pub projects: Vec<ProjectEffect>,
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
            Effect::Project(effect) => self.projects.push(effect.as_ref().clone()),
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

impl Item {
    /// The message that is open again by this.
    pub fn opens(&self) -> Option<&str> {
        let Verdict::Back(effects) = &self.verdict else { return None };
        effects.iter().find_map(|effect| match effect {
            Effect::Replace { path, .. } => path.strip_prefix("inbox/")?.strip_suffix(".md"),
            _ => None,
        })
    }
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

/// A change of a project is taken back by a change of its own, which the project's log tells. One that the run made is
/// cancelled, as long as nobody else has touched it. `now` is the project as it is.
pub fn judge_project(done: &ProjectEffect, now: Option<&Project>, undo: &ProjectUndo<'_>) -> Item {
    let id = &done.id;
    let what = match &done.change {
        Change::Create { .. } => format!("the project {id} was made"),
        Change::Set { .. } => format!("the project {id} was changed"),
        Change::Allocate { .. } => format!("the project {id} was given money"),
    };
    let stays = |why: &str| Item { what: what.clone(), verdict: Verdict::Stays(why.to_string()) };
    let Some(now) = now else { return Item { what, verdict: Verdict::Already } };
    let change = match &done.change {
        Change::Create { .. } if now.status == ProjectStatus::Cancelled => {
            return Item { what, verdict: Verdict::Already };
        }
        Change::Create { .. } if now.log.iter().any(|entry| !undo.knows(&entry.key)) => {
            return stays("others have worked on it since; `harness project update` changes it");
        }
        Change::Create { .. } => {
            let (before, after) =
                (now.status.name().to_string(), ProjectStatus::Cancelled.name().to_string());
            vec![FieldChange { field: "status".to_string(), before, after }]
        }
        Change::Set { fields, .. } => {
            let back = fields.iter().map(FieldChange::back);
            let back: Vec<FieldChange> =
                back.filter(|field| now.field(&field.field) == field.before).collect();
            if back.is_empty() {
                let is_before = fields.iter().all(|field| now.field(&field.field) == field.before);
                return match is_before {
                    true => Item { what, verdict: Verdict::Already },
                    false => stays("it was changed since"),
                };
            }
            back
        }
        Change::Allocate { usd } => {
            if now.allowance.usd.is_none_or(|all| all < *usd) {
                return stays("its budget is smaller now");
            }
            let effect = undo.effect(id, Change::Allocate { usd: -usd });
            return Item { what, verdict: Verdict::Back(vec![effect]) };
        }
    };
    let change = Change::Set { fields: change, why: format!("{} was undone by the human.", undo.run) };
    let effect = undo.effect(id, change);
    Item { what, verdict: Verdict::Back(vec![effect]) }
}

/// Who takes a project's change back, and from which run it was.
pub struct ProjectUndo<'a> {
    pub run: &'a str,
    /// Everything that the run did to projects.
    pub done: &'a [ProjectEffect],
    /// What makes the change happen once.
    pub key: String,
    pub at: String,
}

impl ProjectUndo<'_> {
    /// Whether an entry of a project's log is of the run that is undone, or of an undo.
    fn knows(&self, key: &str) -> bool {
        key.contains("/undo/") || self.done.iter().any(|done| done.key == key)
    }

    fn effect(&self, id: &str, change: Change) -> Effect {
        let (id, key, at) = (id.to_string(), self.key.clone(), self.at.clone());
        Effect::Project(Box::new(ProjectEffect { id, key, at, by: "user".to_string(), change }))
    }
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
    use super::super::project::LogEntry;
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
    fn a_projects_change_is_taken_back_by_another() {
        let change = |field: &str, before: &str, after: &str| Change::Set {
            fields: vec![FieldChange { field: field.into(), before: before.into(), after: after.into() }],
            why: String::new(),
        };
        let done = |key: &str, change: Change| ProjectEffect {
            id: "p-1".into(),
            key: key.into(),
            at: String::new(),
            by: "rd".into(),
            change,
        };
        let mut project = Project::proposed("p-1", "Shop", None, Some(5.0));
        let check = |done: &ProjectEffect, project: &Project, expected: &str| {
            let undo = ProjectUndo {
                run: "r-1",
                done: std::slice::from_ref(done),
                key: "r-2/undo/0".into(),
                at: String::new(),
            };
            let said = format!("{:?}", judge_project(done, Some(project), &undo).verdict);
            assert!(said.contains(expected), "{said}");
        };
        check(
            &done("r-1/1/0", change("title", "Stall", "Shop")),
            &project,
            r#"before: "Shop", after: "Stall""#,
        );
        check(&done("r-1/1/0", change("title", "Shop", "Stall")), &project, "Already");
        check(&done("r-1/1/0", change("title", "Stall", "Hall")), &project, "it was changed since");
        check(&done("m-1", Change::Allocate { usd: 3.0 }), &project, "usd: -3.0");
        check(&done("m-1", Change::Allocate { usd: 7.0 }), &project, "its budget is smaller now");
        let made = done("r-1/1/0", Change::Create { project: Box::default() });
        check(&made, &project, r#"before: "proposed", after: "cancelled""#);
        let (at, by, what) = (String::new(), "rd".to_string(), String::new());
        project.log.push(LogEntry { at, key: "r-9/1/0".into(), by, what });
        check(&made, &project, "others have worked on it since");
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
