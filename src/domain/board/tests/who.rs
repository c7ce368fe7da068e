//! Who may do what: every actor at every move and at every kind of deed, and nobody else.

use super::*;

const ACTORS: [Actor<'static>; 6] =
    [Actor::Human, Actor::Director, Actor::Validator, Actor::Agent("ann"), Actor::Agent("bob"), Actor::Tool];

/// The names of those who may do a deed on a copy of a board; every other is refused with one of these codes.
fn who(world: &World, deed: &Deed, codes: &[&str]) -> Vec<&'static str> {
    let may = |actor: &Actor<'static>| {
        let mut tried = World { board: world.board.clone(), now: world.now, made: Cell::new(100) };
        match tried.act(*actor, deed.clone()) {
            Ok(_) => true,
            Err(fault) => {
                assert!(codes.contains(&fault.code), "{}: {deed:?}: {}", actor.name(), fault.message);
                false
            }
        }
    };
    ACTORS.iter().filter(|actor| may(actor)).map(Actor::name).collect()
}

/// A board with a task in each state; ann works on what is being worked on.
fn board() -> (World, [String; 4]) {
    let mut world = World::new(&[]);
    let ids = ["Alpha", "Beta", "Gamma", "Delta"].map(|title| world.add(title));
    for id in &ids {
        world.give(id, "ann");
    }
    for id in [&ids[0], &ids[2], &ids[3]] {
        world.review(id);
    }
    // Back from review, so that it has somebody to go on with it.
    world.act(Actor::Director, shift(&ids[0], TaskStatus::Inbox)).unwrap();
    world.act(Actor::Director, shift(&ids[3], TaskStatus::Done)).unwrap();
    (world, ids)
}

#[test]
fn every_move_is_somebodys_and_nobody_elses() {
    use TaskStatus::{Done, InProgress, Inbox, Review};
    let (world, ids) = board();
    for (from, id) in [Inbox, InProgress, Review, Done].into_iter().zip(&ids) {
        assert_eq!(world.task(id).status, from);
        for to in TaskStatus::ALL {
            let expected: &[&str] = match (from, to) {
                (Inbox, InProgress) | (InProgress | Done, Inbox) => &["user"],
                (InProgress, Review) => &["user", "ann"],
                (Review, Done | Inbox) => &["user", "director"],
                _ => &[],
            };
            assert_eq!(who(&world, &shift(id, to), &["bad_move", "task_closed"]), expected, "{from} to {to}");
        }
    }
}

#[test]
fn every_deed_is_somebodys_and_nobody_elses() {
    let (mut world, [back, works, reviewed, done]) = board();
    let open = world.add("Epsilon");
    world.now += chrono::TimeDelta::minutes(90);
    let part = |title: &str| Part { title: title.into(), description: "Do it.".into(), priority: None };
    let urgent = Fields { priority: Some(Priority::High), ..Fields::default() };
    let both = ["user", "director"];
    for (deed, expected) in [
        (Deed::Create(new_task("Zeta")), &both[..]),
        (Deed::Update { id: open.clone(), fields: urgent }, &both),
        (Deed::Merge { id: open.clone(), duplicates: vec![back.clone()] }, &both),
        (Deed::Split { id: open.clone(), parts: vec![part("One"), part("Two")] }, &both),
        (Deed::Assign { id: open.clone(), owner: "bob".into() }, &both),
        (depend(&open, &back), &both),
        (Deed::Nudge { id: works.clone(), text: "well?".into() }, &both),
        (
            Deed::AddAgent(NewAgent {
                name: "cid".into(),
                role: "Writer".into(),
                purpose: "P.".into(),
                works: Works::ByItself,
            }),
            &both,
        ),
        (Deed::RetireAgent { name: "bob".into(), why: "left".into() }, &both[..1]),
        (
            Deed::Validate { id: reviewed.clone(), verdict: "pass".into(), evidence: "e".into() },
            &["validator"],
        ),
        (
            Deed::Result { id: works.clone(), assignment: None, outcome: "done".into(), text: "r".into() },
            &["ann", "bob"],
        ),
        (
            comment(&reviewed, Section::Progress, "Hm."),
            &["user", "director", "validator", "ann", "bob", "harness"],
        ),
        (comment(&works, Section::Progress, "Hm."), &["user", "ann", "bob", "harness"]),
        (comment(&done, Section::Progress, "Hm."), &[]),
    ] {
        assert_eq!(who(&world, &deed, &["who_may", "may_not_comment", "task_closed"]), expected, "{deed:?}");
    }
    world.refused(Actor::Human, comment(&works, Section::Progress, " "), "no_comment");
    world.refused(Actor::Agent("eve"), comment(&works, Section::Progress, "Hm."), "unknown_agent");
    let assign = |id: &str, owner: &str| Deed::Assign { id: id.into(), owner: owner.into() };
    world.refused(Actor::Human, assign(&reviewed, "bob"), "in_review");
    world.refused(Actor::Human, assign(&done, "bob"), "task_closed");
}
