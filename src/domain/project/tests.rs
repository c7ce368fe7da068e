//! The format of projects, and that a change is made once and never over somebody else's.

use super::*;
use proptest::prelude::*;

const ID: &str = "p-20261118-004201-7f3k2q";
const AT: &str = "2026-11-18T00:42:01Z";

fn effect(key: &str, change: Change) -> ProjectEffect {
    ProjectEffect { id: ID.into(), key: key.into(), at: AT.into(), by: "management".into(), change }
}

fn create(title: &str, description: &str) -> ProjectEffect {
    effect(
        "r-1/1/0",
        Change::Create {
            project: Box::new(NewProject {
                title: title.into(),
                description: description.into(),
                status: "proposed".into(),
                directive: Some("d-1".into()),
                budget_usd: Some(10.5),
                provenance: "department".into(),
                why: "it was asked for".into(),
                ..NewProject::default()
            }),
        },
    )
}

fn set(key: &str, field: &str, before: &str, after: &str) -> ProjectEffect {
    let field = FieldChange { field: field.into(), before: before.into(), after: after.into() };
    effect(key, Change::Set { fields: vec![field], why: "so".into() })
}

fn done(text: Option<&str>, effect: &ProjectEffect) -> String {
    apply(text, effect).unwrap().expect("it was not made before")
}

#[test]
fn a_change_is_made_once() {
    let text = done(None, &create("Digest", "Weekly."));
    assert_eq!(apply(Some(&text), &create("Digest", "Weekly.")), Ok(None));
    let money = effect("m-1", Change::Allocate { usd: 0.2 });
    let more = done(Some(&text), &money);
    let project = parse_project(&more, ID).unwrap();
    assert_eq!(project.allowance.usd, Some(10.7));
    assert_eq!(apply(Some(&more), &money), Ok(None));
    let other = effect("m-2", Change::Allocate { usd: 0.2 });
    assert_eq!(parse_project(&done(Some(&more), &other), ID).unwrap().allowance.usd, Some(10.9));
}

#[test]
fn a_field_that_was_changed_meanwhile_stays() {
    let text = done(None, &create("Digest", "Weekly."));
    let cancelled = done(Some(&text), &set("-", "status", "proposed", "cancelled"));
    let late = set("r-1/2/0", "status", "proposed", "approved");
    let after = done(Some(&cancelled), &late);
    let project = parse_project(&after, ID).unwrap();
    assert_eq!(project.status, ProjectStatus::Cancelled);
    assert!(project.log[2].what.contains("status stays cancelled, changed meanwhile"), "{:?}", project.log);
    assert_eq!(apply(Some(&after), &late), Ok(None), "also that happens once");
}

#[test]
fn a_change_needs_its_project_and_a_new_one_its_own_name() {
    assert!(apply(None, &effect("m-1", Change::Allocate { usd: 1.0 })).is_err());
    let text = done(None, &create("Digest", "Weekly."));
    let other = ProjectEffect { key: "r-2/1/0".into(), ..create("Other", "Else.") };
    assert!(apply(Some(&text), &other).is_err());
}

#[test]
fn a_reserved_project_gets_its_file_with_its_first_change() {
    let effect = ProjectEffect { id: "platform".into(), ..effect("m-1", Change::Allocate { usd: 3.0 }) };
    let project = parse_project(&done(None, &effect), "platform").unwrap();
    assert_eq!((project.status, project.allowance.usd), (ProjectStatus::InProgress, Some(3.0)));
}

#[test]
fn unknown_keys_survive_and_a_newer_schema_is_refused() {
    let text =
        done(None, &create("Digest", "Weekly.")).replace("by: management", "colour: red\nby: management");
    let after = done(Some(&text), &effect("m-1", Change::Allocate { usd: 1.0 }));
    assert!(after.contains("\ncolour: red\n"), "{after}");
    assert!(apply(Some(&text.replace("schema: 1", "schema: 2")), &create("x", "y")).is_err());
}

#[test]
fn a_director_moves_a_project_on_and_no_more() {
    use ProjectStatus::{Cancelled, Launched, Proposed};
    assert!(!Proposed.may_become(Launched) && !Proposed.may_become(Proposed));
    for status in ProjectStatus::ALL {
        assert!(!Cancelled.may_become(status), "{status}");
        assert_eq!(ProjectStatus::parse(status.name()), Some(status));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(title in "[^\\p{C}]{1,60}", description in any::<String>()) {
        prop_assume!(!title.trim().is_empty());
        let text = done(None, &create(title.trim(), &description));
        let project = parse_project(&text, ID).unwrap();
        prop_assert_eq!(project.title.as_str(), title.trim());
        prop_assert_eq!(project.log.len(), 1, "a description can't add to the log");
        prop_assert_eq!(parse_project(&project.render(), ID).unwrap(), project);
    }

    #[test]
    fn a_description_can_not_forge_the_log(lines in proptest::collection::vec(
        prop_oneof![
            Just("## Log".to_string()),
            Just("- 2026-11-18T00:42:01Z m-1 business: budget_usd +1 is 2".to_string()),
            "[ -~]{0,20}",
        ],
        0..8,
    )) {
        let text = done(None, &create("Digest", &lines.join("\n")));
        prop_assert!(!parse_project(&text, ID).unwrap().has("m-1"));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = parse_project(&text, "p-1");
        let _ = parse_project(&format!("---\n{text}\n---\n{text}"), "p-1");
    }
}
