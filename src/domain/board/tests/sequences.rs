//! Any sequence of deeds, by anybody: none leads to a forbidden board.

use super::*;
use proptest::prelude::*;

/// Whatever was done, this holds.
fn check(board: &Board, needs: &[DoneNeeds]) -> Result<(), TestCaseError> {
    let mut prints = std::collections::BTreeSet::new();
    for task in board.tasks.values() {
        let works = matches!(task.status, TaskStatus::InProgress | TaskStatus::Review);
        prop_assert!(!works || task.owner.is_some(), "{} works without an owner", task.id);
        if let Some(owner) = &task.owner {
            prop_assert!(board.agents.contains_key(owner), "{} is owned by {owner}", task.id);
        }
        if task.is_open() {
            prop_assert!(
                !(board.is_blocked(task) && (works || task.owner.is_some())),
                "{} is blocked and at work",
                task.id
            );
            prop_assert!(
                prints.insert(twins::Said::of(&task.title, task.description())),
                "{} has a twin",
                task.id
            );
        }
        for on in task.depends_on.iter().filter(|_| task.is_open()) {
            let merged = board.find_task(on).is_some_and(|other| other.merged_into.is_some());
            prop_assert!(!merged, "{} waits for {on}, which is never done", task.id);
        }
        let once: std::collections::BTreeSet<&String> = task.depends_on.iter().collect();
        prop_assert_eq!(once.len(), task.depends_on.len(), "{} waits twice", task.id);
        prop_assert!(task.verdict.is_none() || !task.is_open() || task.status == TaskStatus::Review);
        prop_assert!(board.check_cycle(&task.id).is_ok(), "{} goes round", task.id);
        if task.status == TaskStatus::Done {
            prop_assert!(!needs.contains(&DoneNeeds::Validator) || task.verdict.as_deref() == Some("pass"));
            prop_assert!(!needs.contains(&DoneNeeds::Approval) || task.approved_by.is_some());
            prop_assert!(task.worker.is_some(), "{} was done by nobody", task.id);
        }
        prop_assert!(task.nudges <= NUDGES_MAX);
        let read = crate::domain::task::parse_task(&task.render(), &task.id);
        prop_assert!(read.is_ok(), "{read:?}");
    }
    Ok(())
}

/// What one deed may not have done, whatever came before it.
fn check_step(was: &BTreeMap<String, Task>, board: &Board, deed: &Deed) -> Result<(), TestCaseError> {
    for task in board.tasks.values() {
        let Some(before) = was.get(&task.id) else { continue };
        let same = before.title == task.title && before.description() == task.description();
        prop_assert!(same || task.verdict.is_none(), "{} keeps the verdict on other words", task.id);
        if let (Deed::Validate { id, .. }, Some("pass" | "fail")) = (deed, before.verdict.as_deref()) {
            prop_assert!(*id != task.id, "{id} has a second verdict");
        }
        let kept = before.waits_for.iter().all(|id| task.waits_for.contains(id));
        prop_assert!(kept || !task.is_open(), "{} waits no more for {:?}", task.id, before.waits_for);
        if let Deed::Result { id, assignment, .. } = deed
            && *id == task.id
            && before.assignment != *assignment
        {
            prop_assert_eq!(before.status, task.status, "{} was moved by the work of another time", id);
        }
    }
    Ok(())
}

fn any_deed(choice: u8, x: usize, y: usize) -> Deed {
    let id = |n: usize| format!("t-20261118-000000-{:06}", n % 8);
    let names = ["ann", "bob", "lead", "rd", "eve"];
    let owner = names[y % names.len()].to_string();
    let status = TaskStatus::ALL[y % 4];
    let titles = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta"];
    let part = |n: usize| Part {
        title: format!("{} part", titles[n % 6]),
        description: titles[n % 6].into(),
        priority: None,
    };
    match choice {
        0 => Deed::Create(NewTask {
            depends_on: if y.is_multiple_of(3) { vec![id(y)] } else { Vec::new() },
            owner: (y % 4 == 1).then_some(owner),
            ..new_task(titles[x % 6])
        }),
        1 => Deed::Update {
            id: id(x),
            fields: Fields {
                title: Some(titles[y % 6].into()),
                depends_on: (y.is_multiple_of(2)).then(|| vec![id(y)]),
                ..Fields::default()
            },
        },
        2 => Deed::Merge { id: id(x), duplicates: vec![id(y)] },
        3 => Deed::Split { id: id(x), parts: vec![part(x), part(y)] },
        4 | 5 => Deed::Assign { id: id(x), owner },
        6 | 7 => Deed::Move {
            id: id(x),
            status,
            comment: "so".into(),
            vouch: if x.is_multiple_of(2) { Vouch::No } else { Vouch::ForValidator },
        },
        8 => comment(&id(x), Section::ALL[y % 6], "@lead and @ann"),
        9 => Deed::Depend { id: id(x), on: vec![id(y)], drop: vec![id(y + 1)] },
        10 => Deed::Nudge { id: id(x), text: "well?".into() },
        11 => Deed::Validate {
            id: id(x),
            verdict: ["pass", "fail", "not_run"][y % 3].into(),
            evidence: "e".into(),
        },
        12 => Deed::Result {
            id: id(x),
            assignment: None,
            outcome: ["done", "failed"][y % 2].into(),
            text: "r".into(),
        },
        13 => Deed::RetireAgent { name: owner, why: "w".into() },
        14 => Deed::AddAgent(NewAgent {
            name: ["cid", "dan"][y % 2].into(),
            role: "Writer".into(),
            purpose: "P".into(),
            works: Works::ByItself,
        }),
        15 => Deed::Hold { id: id(x), waits_for: format!("q-{}", y % 3) },
        16 => Deed::Seen { id: id(x) },
        _ => Deed::Offered { id: id(x) },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_reaches_a_forbidden_board(
        needs in 0usize..4,
        deeds in prop::collection::vec((0u8..18, 0usize..64, 0usize..64, 0u8..6, 0i64..90), 1..60),
    ) {
        let all = [vec![], vec![DoneNeeds::Validator], vec![DoneNeeds::Approval], vec![DoneNeeds::Validator, DoneNeeds::Approval]];
        let needs = &all[needs];
        let mut world = World::new(needs);
        for (choice, x, y, who, minutes) in deeds {
            world.now += chrono::TimeDelta::minutes(minutes);
            let actor = [Actor::Human, Actor::Director, Actor::Validator, Actor::Agent("ann"), Actor::Agent("bob"), Actor::Tool][usize::from(who)];
            let was = world.board.tasks.clone();
            let mut deed = any_deed(choice, x, y);
            if let Deed::Result { id, assignment, .. } = &mut deed && y.is_multiple_of(3) {
                *assignment = was.get(id).and_then(|task| task.assignment.clone());
            }
            let vouched = x.is_multiple_of(5).then_some("a-1");
            let done = world.act_with(actor, deed.clone(), vouched);
            if done.is_ok() {
                check_step(&was, &world.board, &deed)?;
            }
            for task in world.board.tasks.values().filter(|task| task.status == TaskStatus::Done) {
                let before = was.get(&task.id).map(|task| task.status);
                prop_assert!(matches!(before, Some(TaskStatus::Review | TaskStatus::Done)), "{} was done out of {before:?}", task.id);
            }
            check(&world.board, needs)?;
        }
    }
}
