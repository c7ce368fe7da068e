//! What a deed may not do, whoever does it, and what it must not lose.

use super::*;

/// A deed of the director in a step that external text led to.
fn led_by_external(world: &mut World, deed: &Deed) {
    let new_id = |_: usize| "t-20261118-000000-zzzzzz".to_string();
    let at = At {
        actor: Actor::Director,
        now: world.now,
        source: "none",
        provenance: Provenance::External,
        vouched: None,
        new_id: &new_id,
    };
    world.board.apply(deed, &at).unwrap();
}

fn update(id: &str, fields: Fields) -> Deed {
    Deed::Update { id: id.into(), fields }
}

fn merge(id: &str, duplicates: &[&str]) -> Deed {
    Deed::Merge { id: id.into(), duplicates: duplicates.iter().map(|id| id.to_string()).collect() }
}

#[test]
fn a_task_is_changed_by_the_rules_by_which_it_is_made() {
    let mut world = World::new(&[]);
    let (first, second) = (world.add("Write the weekly digest"), world.add("Alpha"));
    let past = Some(world.now - chrono::TimeDelta::seconds(1));
    let late = NewTask { due: past, ..new_task("Beta") };
    world.refused(Actor::Director, Deed::Create(late), "past_due");
    let unknown = NewTask { not_twin_of: vec!["t-none".into()], ..new_task("Beta") };
    world.refused(Actor::Director, Deed::Create(unknown), "unknown_task");
    world.refused(Actor::Director, update(&second, Fields::default()), "nothing_changed");
    world.refused(Actor::Director, update(&second, Fields { due: past, ..Fields::default() }), "past_due");
    let near = Fields { title: Some("Write the weekly summary".into()), ..Fields::default() };
    world.refused(Actor::Director, update(&second, near.clone()), "near_twin");
    world.act(Actor::Director, update(&second, Fields { not_twin_of: vec![first.clone()], ..near })).unwrap();
    let help = NewTask {
        assists: Some(first.clone()),
        description: "Deliverable: a list".into(),
        ..new_task("Gamma")
    };
    let help = world.act(Actor::Director, Deed::Create(help)).unwrap().created.remove(0);
    let vague = Fields { description: Some("Just help.".into()), ..Fields::default() };
    world.refused(Actor::Director, update(&help, vague), "one_deliverable");
}

#[test]
fn merging_loses_nothing_and_starts_anew() {
    let mut world = World::new(&[]);
    let (kept, gone) = (world.add("Alpha"), world.add("Beta"));
    world.refused(Actor::Director, merge(&kept, &[]), "nothing_changed");
    led_by_external(
        &mut world,
        &update(&gone, Fields { priority: Some(Priority::High), ..Fields::default() }),
    );
    assert_eq!(world.task(&gone).provenance, Provenance::External, "what changes a task leaves its trust");
    world.give(&kept, "ann");
    world.review(&kept);
    world.act(Actor::Director, merge(&kept, &[&gone])).unwrap();
    let task = world.task(&kept);
    // What is asked of it has changed: its worker goes on with it.
    assert_eq!((task.status, task.owner.as_deref()), (TaskStatus::Inbox, Some("ann")));
    assert_eq!(task.provenance, Provenance::External);
    assert!(task.comments().iter().any(|one| one.text.contains("Do Beta.")), "{:?}", task.comments());
}

#[test]
fn what_comes_back_finds_the_board_as_it_is_now() {
    let mut world = World::new(&[DoneNeeds::Validator]);
    let id = world.add("Alpha");
    world.give(&id, "ann");
    world.review(&id);
    let vouched = Deed::Move {
        id: id.clone(),
        status: TaskStatus::Done,
        comment: "It is right.".into(),
        vouch: Vouch::ForValidator,
    };
    world.refused(Actor::Director, vouched.clone(), "needs_validation");
    world.act(Actor::Human, Deed::RetireAgent { name: "ann".into(), why: "left".into() }).unwrap();
    let mut other = World { board: world.board.clone(), now: world.now, made: Cell::new(50) };
    other.act(Actor::Director, shift(&id, TaskStatus::Inbox)).unwrap();
    assert_eq!(other.task(&id).owner, None, "nobody works on it who has left");
    world.act(Actor::Human, vouched).unwrap();
    world.add("Alpha");
    world.refused(Actor::Human, shift(&id, TaskStatus::Inbox), "twin");
}

#[test]
fn only_those_who_are_there_are_named_nudged_and_judged() {
    let mut world = World::new(&[]);
    let (id, other) = (world.add("Alpha"), world.add("Beta"));
    world.act(Actor::Human, Deed::RetireAgent { name: "bob".into(), why: "left".into() }).unwrap();
    world.act(Actor::Human, comment(&id, Section::Context, "@bob @nobody @lead please")).unwrap();
    assert_eq!(world.task(&id).mentioned, ["lead"]);
    world.act(Actor::Tool, Deed::Seen { id: id.clone() }).unwrap();
    assert!(world.task(&id).mentioned.is_empty());
    world.give(&id, "ann");
    let verdict =
        || Deed::Validate { id: id.clone(), verdict: "pass".into(), evidence: "it is there".into() };
    world.refused(Actor::Validator, verdict(), "not_in_review");
    world.review(&id);
    world.now += chrono::TimeDelta::minutes(90);
    let nudge = Deed::Nudge { id: id.clone(), text: "well?".into() };
    world.refused(Actor::Director, nudge, "nobody_to_nudge");
    world.act(Actor::Validator, verdict()).unwrap();
    // Help is asked about once for each giving.
    world.give(&other, "ann");
    let helps = |world: &World| world.board.eligible(world.now).iter().any(|item| item.kind.is_help());
    world.act(Actor::Human, hire("cid")).unwrap();
    assert!(helps(&world));
    world.act(Actor::Tool, Deed::Offered { id: other.clone() }).unwrap();
    assert!(!helps(&world));
    world.give(&other, "cid");
    assert!(helps(&world));
}

fn hire(name: &str) -> Deed {
    Deed::AddAgent(NewAgent {
        name: name.into(),
        role: "Writer".into(),
        purpose: "P.".into(),
        works: Works::ByItself,
    })
}

fn high(title: &str) -> Deed {
    Deed::Create(NewTask { priority: Priority::High, ..new_task(title) })
}

#[track_caller]
fn kinds(world: &World, expected: &[(&str, &str)]) {
    let found = world.board.eligible(world.now);
    let found: Vec<(&str, &str)> = found.iter().map(|item| (item.id.as_str(), item.kind.name())).collect();
    assert_eq!(found, expected);
}

#[test]
fn who_leaves_the_roster_makes_room_and_hands_back_the_work() {
    let mut world = World::new(&[]);
    let (works, reviewed) = (world.add("Alpha"), world.add("Beta"));
    world.give(&works, "ann");
    world.give(&reviewed, "ann");
    world.review(&reviewed);
    world.act(Actor::Director, hire("cid")).unwrap();
    world.refused(Actor::Director, hire("dan"), "agents_max");
    let retire = Deed::RetireAgent { name: "ann".into(), why: "left".into() };
    world.act(Actor::Human, retire.clone()).unwrap();
    world.refused(Actor::Human, retire, "agent_retired");
    assert_eq!((world.task(&works).status, &world.task(&works).owner), (TaskStatus::Inbox, &None));
    assert_eq!(
        world.task(&reviewed).status,
        TaskStatus::Review,
        "the director decides about it all the same"
    );
    world.act(Actor::Director, hire("dan")).unwrap();
}

#[test]
fn what_nobody_can_do_is_no_item() {
    let mut world = World::new(&[]);
    let (first, second) = (world.add("Alpha"), world.add("Beta"));
    world.act(Actor::Director, depend(&second, &first)).unwrap();
    kinds(&world, &[(&first, "delegate")]);
    world.act(Actor::Tool, Deed::Hold { id: first.clone(), waits_for: "q-1".into() }).unwrap();
    kinds(&world, &[]);
    world.board.release("q-1");
    world.finish(&first);
    kinds(&world, &[(&second, "unblocked")]);
    let low = Fields { priority: Some(Priority::Low), ..Fields::default() };
    world.act(Actor::Director, Deed::Update { id: second.clone(), fields: low }).unwrap();
    world.give(&second, "ann");
    let later = |world: &mut World, minutes: i64| world.now += chrono::TimeDelta::minutes(minutes);
    later(&mut world, 59);
    kinds(&world, &[]);
    later(&mut world, 1);
    kinds(&world, &[(&second, "nudge")]);
    world.act(Actor::Director, Deed::Nudge { id: second.clone(), text: "well?".into() }).unwrap();
    later(&mut world, 19);
    kinds(&world, &[]);
    later(&mut world, 1);
    kinds(&world, &[(&second, "nudge")]);
}

#[test]
fn help_is_for_those_who_can_be_helped_and_have_none() {
    let mut world = World::new(&[]);
    let engines = world.act(Actor::Director, high("Alpha")).unwrap().created.remove(0);
    world.give(&engines, "bob");
    kinds(&world, &[]);
    world.act(Actor::Human, shift(&engines, TaskStatus::Review)).unwrap();
    world.act(Actor::Human, shift(&engines, TaskStatus::Done)).unwrap();
    world.act(Actor::Director, hire("cid")).unwrap();
    let id = world.act(Actor::Director, high("Beta")).unwrap().created.remove(0);
    world.give(&id, "ann");
    kinds(&world, &[(&id, "buddy")]);
    let help =
        NewTask { assists: Some(id.clone()), description: "Deliverable: a list".into(), ..new_task("Gamma") };
    let help = world.act(Actor::Director, Deed::Create(help)).unwrap().created.remove(0);
    kinds(&world, &[(&help, "delegate"), (&id, "helper")]);
    world.give(&help, "cid");
    kinds(&world, &[]);
}

#[test]
fn why_and_when_are_told_of_what_is_there() {
    let mut world = World::new(&[]);
    let id = world.add("Launch");
    let same = NewTask { description: "Other words.".into(), ..new_task("launch!") };
    world.refused(Actor::Director, Deed::Create(same), "near_twin");
    let due = Some(world.now + chrono::TimeDelta::days(1));
    world.act(Actor::Director, update(&id, Fields { due, ..Fields::default() })).unwrap();
    assert_eq!(moments_of(world.task(&id)).first().map(|(at, _)| *at), due);
    world.act(Actor::Tool, Deed::Hold { id: id.clone(), waits_for: "a-1".into() }).unwrap();
    assert_eq!(moments_of(world.task(&id)), []);
    world.board.release("a-1");
    // A dependency that is nowhere, as by a hand: it blocks, and nothing else is there.
    world.board.tasks.get_mut(&id).unwrap().depends_on.push("t-none".into());
    assert_eq!(world.board.idle(0), Idle::OnlyBlocked);
}
