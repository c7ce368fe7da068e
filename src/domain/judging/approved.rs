//! What the charter's limits say of an action that a human approved, at the moment at which it is carried out.

use crate::domain::charter::Limits;
use crate::domain::ledger::Line;
use crate::domain::time::{Time, parse_rfc3339};
use crate::domain::verdict::Ruling;

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

/// An approved action that was carried out.
#[derive(Clone, Debug)]
pub struct Carried {
    pub name: String,
    /// When it was asked for: the step that did so counts it too.
    pub asked: Time,
    pub at: Time,
}

/// What an approved action is counted among.
pub struct Counted<'a> {
    pub limits: &'a Limits,
    pub ledger: &'a [Line],
    pub carried: &'a [Carried],
    /// Messages of its thread before it.
    pub in_thread: u64,
    pub now: Time,
}

impl Counted<'_> {
    /// A refusal with the numbers, where carrying out the action of this approval would exceed a limit.
    pub fn rule(&self, approval: &str, name: &str, hops: u64) -> Option<Ruling> {
        let limits = self.limits;
        let mut rules = vec![
            ("actions_per_hour", HOUR, None, limits.actions_per_hour),
            ("actions_per_day", DAY, None, limits.actions_per_day),
        ];
        if name == "send_message" {
            rules.push(("messages_per_hour", HOUR, Some(name), limits.messages_per_hour));
        }
        for (code, seconds, name, most) in rules {
            let before = self.before(approval, seconds, name);
            if before + 1 > most {
                let message = format!("{before} before and 1 now; the most is {most}");
                return Some(super::refuse(code, &format!("charter.toml [limits] {code}"), message));
            }
        }
        if name == "send_message" && self.in_thread + 1 > limits.messages_per_thread {
            let (before, most) = (self.in_thread, limits.messages_per_thread);
            let message = format!("{before} before and 1 now in its thread; the most is {most}");
            let rule = "charter.toml [limits] messages_per_thread";
            return Some(super::refuse("messages_per_thread", rule, message));
        }
        (hops > limits.thread_hops).then(|| {
            let (round, most) = (hops - 1, limits.thread_hops);
            let message = format!("the thread has gone round {round} times, and the most is {most}");
            super::refuse("thread_hops", "charter.toml [limits] thread_hops", message)
        })
    }

    /// Actions within a span, each once: what asked for this one is this one, and is left out.
    fn before(&self, approval: &str, seconds: i64, name: Option<&str>) -> u64 {
        let within = |at: Time| (self.now - at).num_seconds() < seconds;
        let wanted = |found: &str| name.is_none_or(|name| name == found);
        let steps = self.ledger.iter().filter_map(|line| match line {
            Line::Step(step) if step.outcome == "ok" => Some(step),
            _ => None,
        });
        let steps = steps.filter(|step| parse_rfc3339(&step.at).is_some_and(within));
        let actions = steps.flat_map(|step| &step.actions);
        let asked = actions.filter(|action| action.target != approval && wanted(&action.name)).count();
        let carried = self.carried.iter().filter(|one| within(one.at) && !within(one.asked));
        (asked + carried.filter(|one| wanted(&one.name)).count()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::{ActionLine, StepLine};

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn asked(target: &str, name: &str) -> Line {
        let action = ActionLine { target: target.to_string(), name: name.to_string(), ..Default::default() };
        let step = StepLine {
            at: "2026-11-18T09:30:00Z".to_string(),
            outcome: "ok".to_string(),
            actions: vec![action],
            ..Default::default()
        };
        Line::Step(Box::new(step))
    }

    #[test]
    fn every_action_counts_once() {
        let limits = Limits { actions_per_hour: 2, messages_per_hour: 1, ..Limits::default() };
        let carried = |asked: &str| Carried {
            name: "send_message".to_string(),
            asked: at(asked),
            at: at("2026-11-18T09:40:00Z"),
        };
        let check = |ledger: &[Line], carried: &[Carried], name: &str, expected: Option<&str>| {
            let now = at("2026-11-18T10:00:00Z");
            let counted = Counted { limits: &limits, ledger, carried, in_thread: 0, now };
            let ruling = counted.rule("a-1", name, 0);
            assert_eq!(ruling.map(|ruling| ruling.code), expected);
        };
        let own = asked("a-1", "send_message");
        check(std::slice::from_ref(&own), &[], "send_message", None);
        check(&[own.clone(), asked("m-2", "send_message")], &[], "send_message", Some("messages_per_hour"));
        check(&[own.clone(), asked("m-2", "send_message")], &[], "remember", None);
        let two = [own.clone(), asked("x", "remember"), asked("y", "remember")];
        check(&two, &[], "remember", Some("actions_per_hour"));
        let daily = Limits { actions_per_day: 2, ..Limits::default() };
        let now = at("2026-11-18T10:00:00Z");
        let counted = Counted { limits: &daily, ledger: &two, carried: &[], in_thread: 0, now };
        assert_eq!(counted.rule("a-1", "remember", 0).unwrap().code, "actions_per_day");
        check(
            std::slice::from_ref(&own),
            &[carried("2026-11-17T09:00:00Z")],
            "send_message",
            Some("messages_per_hour"),
        );
        // Asked for within the hour, the step that asked for it counts already.
        check(&[own], &[carried("2026-11-18T09:30:00Z")], "send_message", None);
    }

    #[test]
    fn a_thread_goes_round_so_often() {
        let limits = Limits::default();
        let now = at("2026-11-18T10:00:00Z");
        let mut counted = Counted { limits: &limits, ledger: &[], carried: &[], in_thread: 39, now };
        assert!(counted.rule("a-1", "send_message", limits.thread_hops).is_none());
        assert_eq!(counted.rule("a-1", "send_message", limits.thread_hops + 1).unwrap().code, "thread_hops");
        counted.in_thread = 40;
        assert_eq!(counted.rule("a-1", "send_message", 0).unwrap().code, "messages_per_thread");
        assert!(counted.rule("a-1", "remember", 0).is_none());
    }
}
