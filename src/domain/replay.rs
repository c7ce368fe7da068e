//! A run's recorded answers against what today's parser, charter and limits make of them.

use super::ledger::{ActionLine, Refusal, StepLine};
use super::verdict::Verdict;

/// What an answer came to: a decision, actions each with a verdict, or refusals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Came {
    pub decision: Option<String>,
    pub actions: Vec<ActionLine>,
    pub refusals: Vec<Refusal>,
}

/// One step, then and now.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub step: u64,
    pub role: String,
    pub item: Option<String>,
    /// Lines with `-` for then, `+` for now and a blank for both.
    pub lines: Vec<String>,
}

/// How many actions there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub actions: usize,
    /// Carried out then, refused now.
    pub refused: usize,
    /// Refused then, carried out now.
    pub allowed: usize,
    /// Judged differently in another way.
    pub other: usize,
}

impl Compared {
    pub fn differs(&self) -> bool {
        self.lines.iter().any(|line| !line.starts_with(' '))
    }
}

impl Came {
    /// As the ledger has it.
    pub fn of_line(line: &StepLine) -> Came {
        let decision = line.decision.clone().filter(|_| line.role == "orchestrator" && line.outcome == "ok");
        let stands = line.outcome == "ok";
        Came {
            decision,
            actions: if stands { line.actions.clone() } else { Vec::new() },
            refusals: line.refusals.clone(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let decision = self.decision.iter().map(|decision| format!("decides {decision}"));
        let actions = self.actions.iter().map(|action| {
            // Ids that are made anew would differ for nothing.
            let words = action.target.split(' ').filter(|word| !is_made(action, word));
            let target = words.collect::<Vec<_>>().join(" ");
            format!("{} {target}: {} ({})", action.name, action.verdict, action.code)
        });
        let refusals =
            self.refusals.iter().map(|refusal| format!("refused: {}: {}", refusal.code, refusal.message));
        decision.chain(actions).chain(refusals).map(|line| line.replace("  ", " ")).collect()
    }
}

/// Whether the id that an action's target begins with is of something that the action made, or asked approval with.
pub fn makes(action: &ActionLine) -> bool {
    const MAKING: [&str; 7] = [
        "send_message",
        "create_task",
        "create_project",
        "dispatch",
        "ask_human",
        "request_approval",
        "schedule",
    ];
    action.verdict == Verdict::NeedsApproval.to_string() || MAKING.contains(&action.name.as_str())
}

/// Whether a word of a target is the id of what the action made.
fn is_made(action: &ActionLine, word: &str) -> bool {
    super::id::is_made_id(word) && makes(action)
}

/// A step then and now, line by line.
pub fn compare(line: &StepLine, then: &Came, now: &Came) -> Compared {
    let (old, new) = (then.lines(), now.lines());
    let mut lines = Vec::new();
    for change in similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new)
        .iter()
        .flat_map(|op| op.iter_changes(&old, &new))
    {
        let sign = match change.tag() {
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
            similar::ChangeTag::Equal => ' ',
        };
        lines.push(format!("{sign} {}", change.value()));
    }
    Compared { step: line.step, role: line.role.clone(), item: line.item.clone(), lines }
}

impl Totals {
    pub fn add(&mut self, then: &Came, now: &Came) {
        let stood = |came: &Came, index: usize| came.actions.get(index).map(|action| action.verdict.clone());
        let count = then.actions.len().max(now.actions.len());
        self.actions += count;
        for index in 0..count {
            match (stood(then, index), stood(now, index)) {
                (Some(_), None) => self.refused += 1,
                (None, Some(_)) => self.allowed += 1,
                (then, now) if then != now => self.other += 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(verdicts: &[&str], refusal: Option<&str>) -> Came {
        let action = |verdict: &&str| ActionLine {
            name: "send_message".into(),
            target: "m-20261118-004201-7f3k2q Decision to rd".into(),
            verdict: verdict.to_string(),
            code: "allowed".into(),
            ..ActionLine::default()
        };
        let refusals = refusal.map(|code| Refusal { code: code.into(), message: "no".into() });
        Came {
            decision: None,
            actions: verdicts.iter().map(action).collect(),
            refusals: refusals.into_iter().collect(),
        }
    }

    #[test]
    fn what_differs_is_shown_and_counted() {
        let line = StepLine { step: 2, role: "worker".into(), ..StepLine::default() };
        let (then, now) = (came(&["allow"], None), came(&[], Some("kind_not_sent")));
        let compared = compare(&line, &then, &now);
        assert_eq!(
            compared.lines,
            ["- send_message Decision to rd: allow (allowed)", "+ refused: kind_not_sent: no"]
        );
        assert!(compared.differs() && !compare(&line, &then, &then).differs());
        let mut totals = Totals::default();
        totals.add(&then, &now);
        totals.add(&now, &then);
        totals.add(&then, &came(&["needs_approval"], None));
        assert_eq!(totals, Totals { actions: 3, refused: 1, allowed: 1, other: 1 });
    }
}
