//! The rules one by one; `tests/sequences.rs` tries any sequence of deeds.

mod edges;
mod sequences;
mod who;

use super::*;
use crate::domain::agent::{NewAgent, Works};
use crate::domain::charter::DoneNeeds;
use crate::domain::time::parse_rfc3339;
use std::cell::Cell;

fn start() -> Time {
    parse_rfc3339("2026-11-18T00:00:00Z").unwrap()
}

/// A board with its clock and its ids.
struct World {
    board: Board,
    now: Time,
    made: Cell<usize>,
}

impl World {
    fn new(needs: &[DoneNeeds]) -> World {
        let rules = BoardRules { done_needs: needs.to_vec(), agents_max: 3 };
        let mut board = Board::new(Dept::parse("rd").unwrap(), rules);
        board.engines = vec!["rules".into()];
        board.pipelines = vec!["coding".into()];
        let mut world = World { board, now: start(), made: Cell::new(0) };
        for (name, works) in [("ann", Works::ByItself), ("bob", Works::Engine("rules".into()))] {
            let new = NewAgent { name: name.into(), role: "Writer".into(), purpose: "Writes.".into(), works };
            world.act(Actor::Human, Deed::AddAgent(new)).unwrap();
        }
        world
    }

    fn act(&mut self, actor: Actor<'_>, deed: Deed) -> Result<Done, BoardFault> {
        self.act_with(actor, deed, None)
    }

    fn act_with(&mut self, actor: Actor<'_>, deed: Deed, vouched: Option<&str>) -> Result<Done, BoardFault> {
        let base = self.made.get();
        let new_id = |index: usize| {
            self.made.set(self.made.get().max(base + index + 1));
            format!("t-20261118-000000-{:06}", base + index + 1)
        };
        let at = At {
            actor,
            now: self.now,
            source: "none",
            provenance: Provenance::Department,
            vouched,
            new_id: &new_id,
        };
        let before = format!("{:?}", self.board.changes());
        let done = self.board.apply(&deed, &at);
        if done.is_err() {
            assert_eq!(before, format!("{:?}", self.board.changes()), "a refused deed changes nothing");
        }
        done
    }

    #[track_caller]
    fn refused(&mut self, actor: Actor<'_>, deed: Deed, code: &str) -> BoardFault {
        let fault = self.act(actor, deed).unwrap_err();
        assert_eq!(fault.code, code, "{}", fault.message);
        fault
    }

    #[track_caller]
    fn add(&mut self, title: &str) -> String {
        self.act(Actor::Director, Deed::Create(new_task(title))).unwrap().created.remove(0)
    }

    #[track_caller]
    fn give(&mut self, id: &str, owner: &str) -> Done {
        self.act(Actor::Director, Deed::Assign { id: id.into(), owner: owner.into() }).unwrap()
    }

    #[track_caller]
    fn review(&mut self, id: &str) {
        self.act(Actor::Human, shift(id, TaskStatus::Review)).unwrap();
    }

    #[track_caller]
    fn finish(&mut self, id: &str) {
        self.give(id, "ann");
        self.review(id);
        self.act(
            Actor::Human,
            Deed::Move {
                id: id.into(),
                status: TaskStatus::Done,
                comment: String::new(),
                vouch: Vouch::ForValidator,
            },
        )
        .unwrap();
    }

    fn task(&self, id: &str) -> &Task {
        self.board.find_task(id).unwrap()
    }
}

fn new_task(title: &str) -> NewTask {
    NewTask {
        title: title.into(),
        description: format!("Do {title}."),
        priority: Priority::Medium,
        depends_on: Vec::new(),
        owner: None,
        due: None,
        project: None,
        assists: None,
        not_twin_of: Vec::new(),
    }
}

fn shift(id: &str, status: TaskStatus) -> Deed {
    Deed::Move { id: id.into(), status, comment: "because it is so".into(), vouch: Vouch::No }
}

fn depend(id: &str, on: &str) -> Deed {
    Deed::Depend { id: id.into(), on: vec![on.into()], drop: Vec::new() }
}

fn comment(id: &str, section: Section, text: &str) -> Deed {
    Deed::Comment { id: id.into(), section, text: text.into() }
}

#[test]
fn a_task_goes_its_way() {
    let mut world = World::new(&[DoneNeeds::Validator]);
    let id = world.add("Alpha");
    assert_eq!(world.give(&id, "ann").jobs, []);
    assert_eq!(
        (world.task(&id).status, world.task(&id).owner.as_deref()),
        (TaskStatus::InProgress, Some("ann"))
    );
    world.refused(Actor::Director, shift(&id, TaskStatus::Review), "bad_move");
    world.refused(Actor::Director, shift(&id, TaskStatus::Done), "bad_move");
    world.refused(Actor::Agent("bob"), shift(&id, TaskStatus::Review), "bad_move");
    world.act(Actor::Agent("ann"), shift(&id, TaskStatus::Review)).unwrap();
    world.refused(Actor::Director, shift(&id, TaskStatus::Done), "needs_validation");
    let verdict =
        |verdict: &str| Deed::Validate { id: id.clone(), verdict: verdict.into(), evidence: "seen".into() };
    world.refused(Actor::Director, verdict("pass"), "who_may");
    world.act(Actor::Validator, verdict("fail")).unwrap();
    world.refused(Actor::Director, shift(&id, TaskStatus::Done), "needs_validation");
    world.act(Actor::Director, shift(&id, TaskStatus::Inbox)).unwrap();
    assert_eq!((world.task(&id).owner.as_deref(), &world.task(&id).verdict), (Some("ann"), &None));
    world.refused(Actor::Director, Deed::Assign { id: id.clone(), owner: "bob".into() }, "rework");
    world.give(&id, "ann");
    world.review(&id);
    world.act(Actor::Validator, verdict("pass")).unwrap();
    let silent =
        Deed::Move { id: id.clone(), status: TaskStatus::Done, comment: " ".into(), vouch: Vouch::No };
    world.refused(Actor::Director, silent, "no_comment");
    world.act(Actor::Director, shift(&id, TaskStatus::Done)).unwrap();
    assert_eq!(task_path(world.task(&id)), format!("archive/tasks/2026-11/{id}.md"));
    world.refused(Actor::Director, shift(&id, TaskStatus::Inbox), "task_closed");
}

#[test]
fn done_needs_what_the_charter_says() {
    let mut world = World::new(&[DoneNeeds::Approval]);
    let id = world.add("Alpha");
    world.give(&id, "ann");
    world.review(&id);
    world.refused(Actor::Director, shift(&id, TaskStatus::Done), "needs_approval");
    world.act_with(Actor::Director, shift(&id, TaskStatus::Done), Some("a-1")).unwrap();
    assert_eq!(world.task(&id).approved_by.as_deref(), Some("a-1"));
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    world.give(&id, "ann");
    world.refused(Actor::Human, shift(&id, TaskStatus::Done), "bad_move");
    world.review(&id);
    world.act(Actor::Director, shift(&id, TaskStatus::Done)).unwrap();
}

#[test]
fn nobody_but_an_agent_owns_a_task() {
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    for name in ["director", "lead", "rd", "user"] {
        world.refused(Actor::Director, Deed::Assign { id: id.clone(), owner: name.into() }, "not_an_owner");
    }
    world.refused(Actor::Human, Deed::Assign { id: id.clone(), owner: "eve".into() }, "unknown_agent");
    world.act(Actor::Human, Deed::RetireAgent { name: "ann".into(), why: "left".into() }).unwrap();
    world.refused(Actor::Human, Deed::Assign { id: id.clone(), owner: "ann".into() }, "agent_retired");
    assert_eq!(world.give(&id, "bob").jobs[0].works, Works::Engine("rules".into()));
    world.refused(Actor::Director, Deed::Assign { id, owner: "bob".into() }, "already_assigned");
}

#[test]
fn a_blocked_task_is_unassigned_and_cycles_are_shown() {
    let mut world = World::new(&[]);
    let (a, b, c) = (world.add("Alpha"), world.add("Beta"), world.add("Gamma"));
    world.give(&b, "ann");
    world.act(Actor::Director, depend(&b, &a)).unwrap();
    assert_eq!((world.task(&b).status, &world.task(&b).owner), (TaskStatus::Inbox, &None));
    world.refused(Actor::Human, Deed::Assign { id: b.clone(), owner: "ann".into() }, "blocked");
    world.act(Actor::Director, depend(&c, &b)).unwrap();
    let fault = world.refused(Actor::Director, depend(&a, &c), "cycle");
    assert!(fault.message.contains(&format!("{a} -> {c} -> {b} -> {a}")), "{}", fault.message);
    world.refused(Actor::Director, depend(&a, &a), "cycle");
    world.refused(Actor::Director, depend(&a, "t-none"), "unknown_task");
    world.finish(&a);
    assert!(!world.board.is_blocked(world.task(&b)) && world.board.is_blocked(world.task(&c)));
    world.give(&b, "ann");
    world.act(Actor::Human, shift(&a, TaskStatus::Inbox)).unwrap();
    assert_eq!((world.task(&b).status, &world.task(&b).owner), (TaskStatus::Inbox, &None));
    assert!(world.task(&b).comments().iter().any(|comment| comment.text.contains("was reopened")));
}

#[test]
fn twins_are_refused_and_near_ones_named() {
    let mut world = World::new(&[]);
    let id = world.add("Write the weekly digest");
    let twin = NewTask {
        description: "do  write THE weekly digest".into(),
        title: "Write the weekly digest!".into(),
        ..new_task("")
    };
    assert!(world.refused(Actor::Director, Deed::Create(twin), "twin").message.contains(&id));
    let near = NewTask { title: "Write the weekly summary".into(), ..new_task("x") };
    assert!(world.refused(Actor::Director, Deed::Create(near.clone()), "near_twin").message.contains(&id));
    let named = NewTask { not_twin_of: vec![id.clone()], ..near };
    world.act(Actor::Director, Deed::Create(named)).unwrap();
    let path = |title: &str| NewTask { description: "Look at `src/main.rs`".into(), ..new_task(title) };
    world.act(Actor::Director, Deed::Create(path("Alpha"))).unwrap();
    world.refused(
        Actor::Director,
        Deed::Create(NewTask { description: "Mend src/main.rs.".into(), ..path("Beta") }),
        "near_twin",
    );
    let fields = Fields {
        title: Some("Write the weekly digest".into()),
        description: Some("Do Write the weekly digest.".into()),
        ..Fields::default()
    };
    let other = world.add("Gamma");
    world.refused(Actor::Director, Deed::Update { id: other, fields }, "twin");
}

#[test]
fn an_assist_carries_one_deliverable() {
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    let assist = |title: &str, description: &str, helped: &str| {
        Deed::Create(NewTask {
            description: description.into(),
            assists: Some(helped.into()),
            ..new_task(title)
        })
    };
    world.refused(Actor::Director, assist("Beta", "Help.", &id), "one_deliverable");
    world.refused(Actor::Director, assist("Beta", "Deliverable: a\nDeliverable: b", &id), "one_deliverable");
    let made =
        world.act(Actor::Director, assist("Beta", "- Deliverable: a list", &id)).unwrap().created.remove(0);
    world.refused(Actor::Director, assist("Gamma", "Deliverable: a", &made), "assist_of_assist");
    world.give(&id, "ann");
    world.refused(Actor::Director, Deed::Assign { id: made, owner: "ann".into() }, "assist_self");
}

#[test]
fn the_director_comments_where_that_is_its_part() {
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    let other = world.act(Actor::Human, Deed::Create(new_task("Beta"))).unwrap().created.remove(0);
    world.refused(Actor::Director, comment(&id, Section::Context, "By the way."), "may_not_comment");
    world.act(Actor::Director, comment(&id, Section::Questions, "How long?")).unwrap();
    world.refused(Actor::Director, comment(&other, Section::Questions, "How long?"), "may_not_comment");
    world.refused(
        Actor::Director,
        comment(&other, Section::Context, &format!("See {id}.")),
        "may_not_comment",
    );
    let near = NewTask { not_twin_of: vec![other.clone()], ..new_task("Beta, once more") };
    let near = world.act(Actor::Human, Deed::Create(near)).unwrap().created.remove(0);
    world.act(Actor::Director, comment(&other, Section::Context, &format!("See {near}."))).unwrap();
    world.act(Actor::Agent("ann"), comment(&other, Section::Questions, "@lead @ann which one?")).unwrap();
    assert_eq!(world.task(&other).mentioned, ["lead"]);
    assert_eq!(world.board.eligible(world.now)[0].kind, ItemKind::Mention);
    world.act(Actor::Director, comment(&other, Section::Progress, "The first one.")).unwrap();
    world.refused(
        Actor::Director,
        comment(&other, Section::Progress, "And another thing."),
        "may_not_comment",
    );
    world.refused(Actor::Validator, comment(&other, Section::Progress, "Hm."), "may_not_comment");
}

#[test]
fn a_nudge_has_its_time() {
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    let nudge = || Deed::Nudge { id: id.clone(), text: "how is it?".into() };
    world.refused(Actor::Director, nudge(), "nobody_to_nudge");
    world.give(&id, "ann");
    let later = |world: &mut World, minutes: i64| world.now += chrono::TimeDelta::minutes(minutes);
    later(&mut world, 59);
    world.refused(Actor::Director, nudge(), "too_soon");
    assert_eq!(moments_of(world.task(&id))[0].0, start() + chrono::TimeDelta::minutes(60));
    later(&mut world, 1);
    assert!(world.board.eligible(world.now).iter().any(|item| item.kind == ItemKind::Nudge));
    world.act(Actor::Director, nudge()).unwrap();
    assert_eq!(world.task(&id).mentioned, ["ann"]);
    later(&mut world, 19);
    world.refused(Actor::Director, nudge(), "nudge_grace");
    for _ in 1..NUDGES_MAX {
        later(&mut world, 20);
        world.act(Actor::Director, nudge()).unwrap();
    }
    later(&mut world, 20);
    world.refused(Actor::Director, nudge(), "nudges_max");
    assert!(world.board.eligible(world.now).iter().any(|item| item.kind == ItemKind::Stuck));
    world.act(Actor::Agent("ann"), comment(&id, Section::Progress, "Nearly.")).unwrap();
    assert_eq!((world.task(&id).nudges, world.task(&id).mentioned.len()), (0, 0));
    world.refused(Actor::Director, nudge(), "too_soon");
}

#[test]
fn merging_and_splitting_keep_what_depends() {
    let mut world = World::new(&[]);
    let (a, b, c, d) = (world.add("Alpha"), world.add("Beta"), world.add("Gamma"), world.add("Delta"));
    world.act(Actor::Director, depend(&c, &b)).unwrap();
    world.act(Actor::Director, depend(&b, &d)).unwrap();
    world.give(&a, "ann");
    world.refused(Actor::Director, Deed::Merge { id: a.clone(), duplicates: vec![a.clone()] }, "merge_self");
    world.act(Actor::Director, Deed::Merge { id: a.clone(), duplicates: vec![b.clone()] }).unwrap();
    assert_eq!(
        (&world.task(&c).depends_on, &world.task(&a).depends_on),
        (&vec![a.clone()], &vec![d.clone()])
    );
    assert_eq!((world.task(&a).status, &world.task(&a).owner), (TaskStatus::Inbox, &None));
    assert!(task_path(world.task(&b)).starts_with("archive/tasks/"));
    world.refused(Actor::Director, Deed::Merge { id: d.clone(), duplicates: vec![c.clone()] }, "cycle");
    let part =
        |title: &str| Part { title: title.into(), description: format!("Do {title}."), priority: None };
    let split = |parts: Vec<Part>| Deed::Split { id: d.clone(), parts };
    world.refused(Actor::Director, split(vec![part("One")]), "parts");
    world.refused(Actor::Director, split(vec![part("One"), part("One")]), "twin");
    let made = world.act(Actor::Director, split(vec![part("One"), part("Two")])).unwrap().created;
    assert_eq!(world.task(&d).depends_on, made);
    world.give(&made[0], "ann");
    world.refused(
        Actor::Director,
        Deed::Split { id: made[0].clone(), parts: vec![part("Y"), part("Z")] },
        "split_only_inbox",
    );
}

#[test]
fn work_belongs_to_one_assignment() {
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    let first = world.give(&id, "bob").jobs.remove(0);
    world.act(Actor::Human, shift(&id, TaskStatus::Inbox)).unwrap();
    let second = world.give(&id, "bob").jobs.remove(0);
    assert_ne!(first.assignment, second.assignment);
    let result = |job: &Job| Deed::Result {
        id: job.task.clone(),
        assignment: job.assignment.clone(),
        outcome: "done".into(),
        text: "r".into(),
    };
    world.act(Actor::Agent("bob"), result(&first)).unwrap();
    assert_eq!(world.task(&id).status, TaskStatus::InProgress);
    world.act(Actor::Agent("bob"), result(&second)).unwrap();
    assert_eq!(world.task(&id).status, TaskStatus::Review);
}

#[test]
fn a_verdict_is_on_what_was_said_and_given_once() {
    let mut world = World::new(&[DoneNeeds::Validator]);
    let id = world.add("Alpha");
    world.give(&id, "ann");
    world.review(&id);
    let verdict =
        |verdict: &str| Deed::Validate { id: id.clone(), verdict: verdict.into(), evidence: "seen".into() };
    let update = |fields: Fields| Deed::Update { id: id.clone(), fields };
    world.act(Actor::Validator, verdict("not_run")).unwrap();
    world.act(Actor::Validator, verdict("pass")).unwrap();
    world.refused(Actor::Validator, verdict("fail"), "has_verdict");
    let urgent = Fields { priority: Some(Priority::High), ..Fields::default() };
    world.act(Actor::Director, update(urgent)).unwrap();
    assert_eq!(world.task(&id).verdict.as_deref(), Some("pass"));
    let rewritten = Fields { description: Some("Do something else.".into()), ..Fields::default() };
    world.act(Actor::Director, update(rewritten)).unwrap();
    assert_eq!((&world.task(&id).verdict, &world.task(&id).verdict_by), (&None, &None));
    world.refused(Actor::Director, shift(&id, TaskStatus::Done), "needs_validation");
    world.act(Actor::Validator, verdict("fail")).unwrap();
    world.refused(Actor::Validator, verdict("pass"), "has_verdict");
}

#[test]
fn what_was_merged_away_is_depended_on_by_nothing() {
    let mut world = World::new(&[]);
    let (a, b, c) = (world.add("Alpha"), world.add("Beta"), world.add("Gamma"));
    world.act(Actor::Director, Deed::Merge { id: a.clone(), duplicates: vec![b.clone()] }).unwrap();
    let on = |ids: &[&String]| {
        Deed::Create(NewTask {
            depends_on: ids.iter().map(|id| id.to_string()).collect(),
            ..new_task("Delta")
        })
    };
    world.refused(Actor::Director, on(&[&b]), "task_closed");
    let fields = Fields { depends_on: Some(vec![b.clone()]), ..Fields::default() };
    world.refused(Actor::Director, Deed::Update { id: c.clone(), fields }, "task_closed");
    let made = world.act(Actor::Director, on(&[&a, &c, &a])).unwrap().created.remove(0);
    assert_eq!(world.task(&made).depends_on, [a, c]);
}

#[test]
fn a_task_waits_for_everything_it_waits_for() {
    let mut world = World::new(&[]);
    let id = world.add("Alpha");
    for waits_for in ["q-1", "q-2", "q-1"] {
        world.act(Actor::Tool, Deed::Hold { id: id.clone(), waits_for: waits_for.into() }).unwrap();
    }
    world.board.release("q-2");
    assert_eq!(world.task(&id).waits_for, ["q-1"]);
    world.refused(Actor::Human, Deed::Assign { id: id.clone(), owner: "ann".into() }, "task_waits");
    world.board.release("q-1");
    world.give(&id, "ann");
}

#[test]
fn the_roster_has_rules() {
    let mut world = World::new(&[]);
    let mut hire = |name: &str, role: &str, works: Works| {
        let new = NewAgent { name: name.into(), role: role.into(), purpose: "P.".into(), works };
        world.act(Actor::Director, Deed::AddAgent(new)).map_err(|fault| fault.code)
    };
    assert_eq!(hire("Ann", "Writer", Works::ByItself), Err("agent_name"));
    assert_eq!(hire("lead", "Writer", Works::ByItself), Err("agent_name"));
    assert_eq!(hire("ann", "Writer", Works::ByItself), Err("agent_taken"));
    assert_eq!(hire("cid", "writer", Works::ByItself), Err("role_case"));
    assert_eq!(hire("cid", "Writer", Works::Engine("gpt".into())), Err("unknown_engine"));
    assert_eq!(hire("cid", "Writer", Works::Pipeline("rm".into())), Err("unknown_pipeline"));
    hire("cid", "Writer", Works::Pipeline("coding".into())).unwrap();
    assert_eq!(hire("dan", "Writer", Works::ByItself), Err("agents_max"));
    world.refused(Actor::Director, Deed::RetireAgent { name: "cid".into(), why: "x".into() }, "who_may");
}

#[test]
fn nothing_to_do_has_a_reason() {
    let mut world = World::new(&[]);
    assert_eq!((world.board.idle(0), world.board.idle(1)), (Idle::NoWork, Idle::OnlyApprovals));
    let id = world.add("Alpha");
    world.give(&id, "ann");
    assert_eq!(world.board.idle(0), Idle::OnlyFresh);
    world.act(Actor::Tool, Deed::Hold { id: id.clone(), waits_for: "a-1".into() }).unwrap();
    assert_eq!(world.board.idle(0), Idle::OnlyApprovals);
    assert!(world.board.eligible(world.now).is_empty());
    let other = world.add("Beta");
    world.act(Actor::Director, depend(&other, &id)).unwrap();
    assert_eq!(world.board.idle(0), Idle::Mixed);
}

#[test]
fn eligible_work_is_in_order() {
    let mut world = World::new(&[DoneNeeds::Validator]);
    let low = world
        .act(Actor::Director, Deed::Create(NewTask { priority: Priority::Low, ..new_task("Alpha") }))
        .unwrap()
        .created
        .remove(0);
    let high = world
        .act(Actor::Director, Deed::Create(NewTask { priority: Priority::High, ..new_task("Beta") }))
        .unwrap()
        .created
        .remove(0);
    let reviewed = world.add("Gamma");
    world.give(&reviewed, "ann");
    world.review(&reviewed);
    let kinds = |world: &World| {
        world
            .board
            .eligible(world.now)
            .into_iter()
            .map(|item| (item.id, item.kind.name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(&world),
        [(reviewed.clone(), "validate"), (high.clone(), "delegate"), (low.clone(), "delegate")]
    );
    world
        .act(
            Actor::Validator,
            Deed::Validate { id: reviewed.clone(), verdict: "not_run".into(), evidence: "x".into() },
        )
        .unwrap();
    assert_eq!(kinds(&world)[0], (reviewed.clone(), "review"));
    world.act(Actor::Director, shift(&reviewed, TaskStatus::Inbox)).unwrap();
    assert_eq!(kinds(&world)[0], (reviewed.clone(), "rework"));
    world.give(&high, "ann");
    assert!(kinds(&world).contains(&(high.clone(), "buddy")), "{:?}", kinds(&world));
    // Whose work is in review has time to help; who is at work has none.
    let theirs = world.add("Delta");
    world.give(&theirs, "bob");
    assert!(!kinds(&world).contains(&(high.clone(), "buddy")));
    world.review(&theirs);
    assert!(kinds(&world).contains(&(high.clone(), "buddy")));
    let due = Fields { due: Some(world.now), ..Fields::default() };
    world.act(Actor::Director, Deed::Update { id: low.clone(), fields: due }).unwrap();
    assert!(kinds(&world).contains(&(low.clone(), "overdue")));
    world.act(Actor::Tool, Deed::Seen { id: low.clone() }).unwrap();
    assert!(kinds(&world).contains(&(low, "delegate")));
}
