//! A task comes back as it was written, whatever was said in it.

use super::*;
use proptest::prelude::*;

fn now() -> Time {
    parse_rfc3339("2026-11-18T00:42:01Z").unwrap()
}

fn task(description: &str) -> Task {
    let new = NewTask {
        title: "Write the mail".into(),
        description: description.into(),
        priority: Priority::High,
        depends_on: vec!["t-1".into()],
        owner: None,
        due: None,
        project: None,
        assists: None,
        not_twin_of: Vec::new(),
    };
    Task::new("t-2", &new, "director", Provenance::Department, now())
}

fn comment(section: Section, text: &str) -> Comment {
    let source = "r-1/1/0".to_string();
    Comment {
        section,
        at: now(),
        by: "ann".into(),
        source,
        provenance: Provenance::External,
        text: text.into(),
    }
}

#[test]
fn a_file_reads_as_people_would_write_it() {
    let mut task = task("A short mail.");
    task.add_comment(&comment(Section::Progress, "Half of it.\nTwo lines."));
    task.add_comment(&comment(Section::Progress, "All of it."));
    task.add_comment(&comment(Section::Questions, "Who reads it?"));
    let expected = "---\nschema: 1\nid: t-2\ntitle: Write the mail\nstatus: inbox\npriority: high\n\
        created_by: director\ncreated: 2026-11-18T00:42:01Z\nheard: 2026-11-18T00:42:01Z\n\
        provenance: department\ndepends_on: [t-1]\n---\nA short mail.\n\n## Context\n\n## Progress\n\n\
        - 2026-11-18T00:42:01Z ann (r-1/1/0) external\n\n  Half of it.\n  Two lines.\n\
        - 2026-11-18T00:42:01Z ann (r-1/1/0) external\n\n  All of it.\n\n## Evidence\n\n## Risks\n\n## Next\n\n\
        ## Questions\n\n- 2026-11-18T00:42:01Z ann (r-1/1/0) external\n\n  Who reads it?\n";
    assert_eq!(task.render(), expected);
}

#[test]
fn what_is_wrong_is_named() {
    let check = |from: &str, to: &str, part: &str| {
        let text = task("A.").render().replace(from, to);
        let fault = parse_task(&text, "t-2").unwrap_err().to_string();
        assert!(fault.contains(part), "{fault}");
    };
    check("schema: 1", "schema: 2", "schema is 2");
    check("schema: 1\n", "", "schema is missing");
    check("id: t-2", "id: t-3", "its name says");
    check("title: Write the mail\n", "", "`title` is missing");
    check("status: inbox", "status: todo", "`status` can't be `todo`");
    check("status: inbox", "status: review", "`owner` is missing");
    check("priority: high", "priority: urgent", "`priority` can't be");
    check("[t-1]", "[../t-1]", "names `../t-1`");
    assert_eq!(parse_task("plain", "t-2").unwrap_err(), TaskFault::None);
}

#[test]
fn a_file_made_by_hand_gets_the_sections_it_needs() {
    let text = "---\nschema: 1\nid: t-2\ntitle: By hand\nstatus: inbox\npriority: low\ncreated: 2026-11-18T00:00:00Z\nmine: kept\n---\nDo it";
    let mut task = parse_task(text, "t-2").unwrap();
    assert_eq!(task.provenance, Provenance::External);
    task.add_comment(&comment(Section::Next, "Then this."));
    let again = parse_task(&task.render(), "t-2").unwrap();
    assert_eq!(again.comments(), [comment(Section::Next, "Then this.")]);
    assert!(task.render().contains("mine: kept\n"), "{}", task.render());
    assert!(again.description().starts_with("Do it"));
}

#[test]
fn what_it_waits_for_is_a_list_and_once_was_one_text() {
    let mut held = task("A.");
    held.waits_for = vec!["q-1".into(), "a-2".into()];
    let text = held.render();
    assert!(text.contains("\nwaits_for: [q-1, a-2]\n"), "{text}");
    assert_eq!(parse_task(&text, "t-2").unwrap().waits_for, ["q-1", "a-2"]);
    let old = text.replace("waits_for: [q-1, a-2]", "waits_for: q-1");
    assert_eq!(parse_task(&old, "t-2").unwrap().waits_for, ["q-1"]);
}

proptest! {
    #[test]
    fn what_was_said_comes_back(
        description in "[a-zA-Z#\\- \n]{0,80}",
        said in prop::collection::vec((0usize..6, "[a-zA-Z#\\-:() \n]{1,60}"), 0..8),
    ) {
        let mut task = task(&description);
        for (section, text) in &said {
            task.add_comment(&comment(Section::ALL[*section], text));
        }
        let read = parse_task(&task.render(), "t-2").unwrap();
        prop_assert_eq!(read.description(), description.trim_end());
        let mut expected: Vec<(Section, String)> = said
            .iter()
            .map(|(section, text)| (Section::ALL[*section], text.trim().lines().collect::<Vec<_>>().join("\n")))
            .collect();
        expected.sort_by_key(|(section, _)| *section);
        let found: Vec<(Section, String)> =
            read.comments().into_iter().map(|comment| (comment.section, comment.text)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(parse_task(&read.render(), "t-2").unwrap().render(), task.render());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(---\n)?[ -~\n]{0,200}(---\n)?") {
        let _either = parse_task(&text, "t-2");
    }
}
