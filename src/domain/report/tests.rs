//! The page says what the facts say, and nothing in it can be empty of words.

use super::*;
use crate::domain::ledger::{Counted, Line, StepLine};
use crate::domain::time::parse_rfc3339;

fn at(text: &str) -> Time {
    parse_rfc3339(text).unwrap()
}

fn facts(departments: Vec<DeptFacts>) -> Facts {
    Facts {
        now: at("2026-11-18T12:00:00Z"),
        since: at("2026-11-15T12:00:00Z"),
        command: "harness report".into(),
        root: "/root".into(),
        version: "0".into(),
        gate: "enabled (open)".into(),
        departments,
        needs: Vec::new(),
        cap_usd: Some(1.0),
        from_user: BTreeMap::from([("rd".to_string(), 2)]),
        directives: Vec::new(),
    }
}

fn dept(name: &str, usd: &[(&str, f64)]) -> DeptFacts {
    let mut dept = DeptFacts { name: name.into(), ..DeptFacts::default() };
    for (day, usd) in usd {
        let step = StepLine {
            at: format!("{day}T08:00:00Z"),
            role: "worker".into(),
            counted_usd: *usd,
            cost_usd: Some(*usd),
            ..StepLine::default()
        };
        dept.stats.take(&Counted::from(&Line::Step(Box::new(step))), Time::MIN_UTC);
    }
    dept
}

#[test]
fn an_empty_organisation_has_a_page_without_charts() {
    let page = lay_out_page(&Facts { from_user: BTreeMap::new(), ..facts(Vec::new()) });
    for figure in [
        &page.spend,
        &page.runs,
        &page.outcomes,
        &page.decisions,
        &page.hours,
        &page.flow,
        &page.refusals,
        &page.board,
        &page.directives,
    ] {
        let drawn = figure.columns.is_some()
            || figure.bars.is_some()
            || figure.strip.is_some()
            || figure.flow.is_some();
        assert!(!drawn && !figure.summary.is_empty(), "{}", figure.id);
    }
}

#[test]
fn a_mark_for_each_department_and_day_that_spent() {
    let page = lay_out_page(&facts(vec![
        dept("business", &[("2026-11-16", 0.5), ("2026-11-18", 0.25)]),
        dept("rd", &[("2026-11-16", 0.5)]),
    ]));
    let chart = page.spend.columns.unwrap();
    // Days without anything are there too.
    assert_eq!((chart.marks.len(), chart.days.len()), (3, 4));
    assert!(chart.cap.is_some());
    assert_eq!(page.spend.table.rows.len(), 3);
    assert_eq!(page.spend.summary, "$1.25 over 4 days of UTC. The most was $1.00 on 2026-11-16.");
}

#[test]
fn departments_past_the_colours_share_one() {
    let many: Vec<DeptFacts> =
        (0..30).map(|index| dept(&format!("d{index}"), &[("2026-11-17", 1.0)])).collect();
    let page = lay_out_page(&facts(many));
    assert_eq!(page.spend.legend.len(), 8);
    let chart = page.spend.columns.unwrap();
    let of_day: Vec<_> = chart.marks.iter().filter(|mark| mark.title.starts_with("2026-11-17")).collect();
    assert_eq!(of_day.len(), 8);
    assert!(of_day[7].title.ends_with("others: $23.00"), "{}", of_day[7].title);
}

#[test]
fn directives_and_tasks_are_drawn() {
    let mut rd = dept("rd", &[]);
    let task = |status: &'static str| TaskFacts {
        id: "t-1".into(),
        title: "Ask ten users".into(),
        status,
        priority: "high",
        owner: None,
        due: Some(at("2026-11-17T00:00:00Z")),
        created: at("2026-11-16T00:00:00Z"),
    };
    rd.tasks = vec![task("inbox"), task("review")];
    let mut facts = facts(vec![rd]);
    let open = DirectiveFacts {
        id: "d-1".into(),
        title: "Digest".into(),
        status: "open".into(),
        priority: "high".into(),
        deadline: None,
        from: at("2026-11-10T00:00:00Z"),
        to: None,
        usd: 1.0,
        projects: 1,
    };
    let ended =
        DirectiveFacts { status: "completed".into(), to: Some(at("2026-11-12T00:00:00Z")), ..open.clone() };
    facts.directives = vec![open, ended];
    let page = lay_out_page(&facts);
    let strip = page.directives.strip.unwrap();
    assert_eq!(strip.rows.iter().map(|row| row.marks.len()).sum::<usize>(), 2);
    assert!(strip.rows[0].marks[0].w > strip.rows[1].marks[0].w);
    assert_eq!(page.board.bars.unwrap().bars[0].marks.len(), 2);
    assert_eq!((page.tasks.rows.len(), page.tasks.rows[0][0].text.as_str()), (2, "in\u{a0}review"));
    assert_eq!(page.tasks.rows[0][5].class, "bad", "it is late");
}

#[test]
fn hidden_characters_are_shown() {
    let mut facts = facts(vec![dept("rd", &[])]);
    facts.needs.push(NeedFacts { what: "pay\u{202e}llib".into(), ..NeedFacts::default() });
    let page = lay_out_page(&facts);
    assert_eq!(page.needs.rows[0][0].text, "pay\\u{202e}llib");
}
