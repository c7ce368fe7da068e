//! What a commit says in its one line: what was done, the most telling first, as far as there is room.
//!
//! Nothing in it is a text that a model wrote: names of actions, kinds, departments and agents, and counts.

use super::RECORDS;
use crate::domain::ledger::{ActionLine, RunLine, StepLine};
use crate::domain::verdict::Verdict;

/// What was done, in at most so many characters.
pub fn what_was_done(steps: &[&StepLine], ended: &[&RunLine], paths: &[String], room: usize) -> String {
    let carried = steps.iter().filter(|step| step.outcome == "ok").flat_map(|step| &step.actions);
    let said = say_actions(&carried.collect::<Vec<_>>());
    if !said.is_empty() {
        return fit(&said, room);
    }
    let escalated = steps.iter().rev().find(|step| step.decision.as_deref() == Some("ESCALATE"));
    if let Some(item) = escalated.and_then(|step| step.item.as_ref()) {
        return format!("escalated {item}");
    }
    let jobs: Vec<String> =
        ended.iter().filter(|run| run.kind == "dispatch").map(|run| say_job(run)).collect();
    if !jobs.is_empty() {
        return fit(&jobs, room);
    }
    fit(&say_paths(paths), room)
}

/// As many of the phrases as there is room for, and how many more there are.
fn fit(said: &[String], room: usize) -> String {
    let mut text = said.first().cloned().unwrap_or_default();
    for (index, phrase) in said.iter().enumerate().skip(1) {
        let left = said.len() - index;
        let more = format!("; and {left} more");
        let longer = format!("{text}; {phrase}");
        let mark = if left > 1 { more.len() } else { 0 };
        if longer.chars().count() + mark > room {
            return text + &more;
        }
        text = longer;
    }
    text
}

/// A group of alike actions.
struct Group {
    rank: usize,
    one: String,
    many: &'static str,
    count: usize,
}

fn say_actions(actions: &[&ActionLine]) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    let mut sent: Vec<(String, Vec<String>)> = Vec::new();
    for action in actions {
        if action.verdict == Verdict::Refuse.to_string() {
            continue;
        }
        if action.name == "send_message"
            && action.verdict == Verdict::Allow.to_string()
            && let Some((kind, to)) =
                action.target.split_once(' ').and_then(|(_, rest)| rest.split_once(" to "))
        {
            let at = sent.iter().position(|(known, _)| known == to).unwrap_or_else(|| {
                sent.push((to.to_string(), Vec::new()));
                sent.len() - 1
            });
            if !sent[at].1.iter().any(|known| known == kind) {
                sent[at].1.push(kind.to_string());
            }
            continue;
        }
        let (rank, one, many) = phrase(action);
        match groups.iter_mut().find(|group| group.one == one) {
            Some(group) => group.count += 1,
            None => groups.push(Group { rank, one, many, count: 1 }),
        }
    }
    groups.sort_by_key(|group| group.rank);
    let letters = sent.into_iter().map(|(to, kinds)| format!("sent {} to {to}", kinds.join(", ")));
    letters.chain(groups.into_iter().map(|group| group.say())).collect()
}

impl Group {
    fn say(&self) -> String {
        match self.count {
            1 => self.one.clone(),
            _ if self.many.is_empty() => self.one.clone(),
            count => self.many.replace('#', &count.to_string()),
        }
    }
}

/// How telling an action is, and what it is called once and several times.
fn phrase(action: &ActionLine) -> (usize, String, &'static str) {
    if action.verdict == Verdict::NeedsApproval.to_string() {
        return (0, format!("asked approval of {}", action.name), "");
    }
    let last = action.target.split(' ').next_back().unwrap_or_default();
    let (rank, one, many) = match action.name.as_str() {
        "send_message" => (1, "sent a message", "sent # messages"),
        "escalate" => (2, "escalated something", "escalated # things"),
        "ask_human" => (2, "asked the human", "asked the human # questions"),
        "request_approval" => (2, "asked for approval", "asked for # approvals"),
        "create_project" => (3, "made a project", "made # projects"),
        "update_project" => (4, "changed a project", "changed # projects"),
        "create_task" => (3, "made a task", "made # tasks"),
        "move_task" if last == "done" => (3, "finished a task", "finished # tasks"),
        "move_task" => (4, "sent a task back", "sent # tasks back"),
        "validate" if last == "pass" => (4, "passed a task", "passed # tasks"),
        "validate" => (4, "judged a task", "judged # tasks"),
        "assign_task" => (5, "assigned a task", "assigned # tasks"),
        "dispatch" => (5, "dispatched a job", "dispatched # jobs"),
        "comment_task" => (6, "commented on a task", "commented on tasks # times"),
        "nudge" => (6, "nudged an owner", "nudged # owners"),
        "update_task" | "merge_task" | "split_task" | "depend_task" => {
            (6, "changed a task", "changed # tasks")
        }
        "add_agent" => (5, "added an agent", "added # agents"),
        "log_decision" => (5, "logged a decision", "logged # decisions"),
        "summarize_directive" => (5, "summed up a directive", "summed up # directives"),
        "write_weekly" => (5, "wrote the weekly", ""),
        "schedule" => (5, "scheduled something", "scheduled # things"),
        "unschedule" => (5, "unscheduled something", "unscheduled # things"),
        "remember" => (7, "remembered something", "remembered # things"),
        "mark_message" if last == "acknowledged" => (9, "acknowledged a message", "acknowledged # messages"),
        "mark_message" if last == "archived" => (9, "archived a message", "archived # messages"),
        "mark_message" => (8, "handled a message", "handled # messages"),
        "curate_memory" => return (7, format!("curated {}", action.target), ""),
        name => return (6, name.replace('_', " "), ""),
    };
    (rank, one.to_string(), many)
}

fn say_job(run: &RunLine) -> String {
    let task = run.task.as_ref().map(|task| format!(" on {task}")).unwrap_or_default();
    match &run.agent {
        Some(agent) => format!("{agent} worked{task}: {}", run.outcome),
        None => format!("a job{task} ended: {}", run.outcome),
    }
}

/// What the files tell, where no run does.
fn say_paths(paths: &[String]) -> Vec<String> {
    const KINDS: [(&str, &str, &str); 5] = [
        ("escalations/", "escalated something to the human", "escalated # things to the human"),
        ("questions/", "asked the human", "asked the human # questions"),
        ("approvals/", "an approval", "# approvals"),
        ("inbox/", "received a message", "received # messages"),
        ("tasks/", "changed a task", "changed # tasks"),
    ];
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => one.to_string(),
        count => many.replace('#', &count.to_string()),
    };
    let mut said = Vec::new();
    for (folder, one, many) in KINDS {
        let count = paths.iter().filter(|path| path.starts_with(folder)).count();
        if count > 0 {
            said.push(counted(count, one, many));
        }
    }
    if said.is_empty() {
        let others = paths.iter().filter(|path| !path.starts_with(RECORDS)).count();
        said.push(counted(
            if others == 0 { paths.len() } else { others },
            "changed a file",
            "changed # files",
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(name: &str, target: &str) -> ActionLine {
        ActionLine {
            name: name.into(),
            target: target.into(),
            verdict: "allow".into(),
            ..ActionLine::default()
        }
    }

    fn said(actions: Vec<ActionLine>, room: usize) -> String {
        let step = StepLine { outcome: "ok".into(), actions, ..StepLine::default() };
        what_was_done(&[&step], &[], &[], room)
    }

    #[test]
    fn the_most_telling_comes_first_and_alike_ones_are_counted() {
        let actions = vec![
            action("mark_message", "m-1 actioned"),
            action("log_decision", ""),
            action("send_message", "m-2 Decision to rd"),
            action("create_task", "t-1"),
            action("create_task", "t-2"),
            action("send_message", "m-3 Priority to rd"),
            action("mark_message", "m-4 actioned"),
        ];
        let whole = "sent Decision, Priority to rd; made 2 tasks; logged a decision; handled 2 messages";
        assert_eq!(said(actions.clone(), 100), whole);
        assert_eq!(said(actions.clone(), 62), "sent Decision, Priority to rd; made 2 tasks; and 2 more");
        assert_eq!(said(actions, 10), "sent Decision, Priority to rd; and 3 more");
    }

    #[test]
    fn what_was_refused_was_not_done() {
        let refused = ActionLine { verdict: "refuse".into(), ..action("send_message", "m-1 Decision to rd") };
        assert_eq!(said(vec![refused, action("remember", "")], 60), "remembered something");
    }

    #[test]
    fn a_job_is_told_by_its_agent_and_its_task() {
        let run = RunLine {
            kind: "dispatch".into(),
            agent: Some("planner".into()),
            task: Some("t-1".into()),
            outcome: "done".into(),
            ..RunLine::default()
        };
        assert_eq!(what_was_done(&[], &[&run], &["tasks/t-1.md".into()], 60), "planner worked on t-1: done");
    }

    #[test]
    fn where_no_run_tells_it_the_files_do() {
        let check = |paths: &[&str], expected: &str| {
            let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
            assert_eq!(what_was_done(&[], &[], &paths, 60), expected);
        };
        check(&["inbox/m-1.md", "inbox/m-2.md"], "received 2 messages");
        check(&["questions/q-1.md", ".harness/director-runs/x.md"], "asked the human");
        check(&["escalations/e-1.md"], "escalated something to the human");
        check(&["notes.md", ".harness/director-runs/x.md"], "changed a file");
    }
}
