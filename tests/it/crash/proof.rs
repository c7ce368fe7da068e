//! What each mishap is measured by: the same run without one, and what must hold in the end.

use super::books::{self, Books};
use super::facts::{Facts, compare, facts};
use super::stage::{Call, KILLED, Stage, Story};
use super::tree::Tree;

/// Who acts between the crash and the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Nobody,
    /// The department that got the messages reads and handles them.
    Receiver,
}

/// A stage, and what its run comes to when nothing goes wrong.
pub struct Proof {
    pub stage: Stage,
    /// The operations of the clean run.
    pub operations: Vec<serde_json::Value>,
    alone: Facts,
    with_receiver: Facts,
}

/// The department that gets the messages, and how often it may have to run until it has done all it can.
const RECEIVER: &str = "run-loop management --engine rules";
const RECEIVER_ROUNDS: u64 = 8;

/// The seed of a run that recovers and dies itself.
pub const AGAIN: u64 = 50;

/// What is wrong after a mishap; empty is as it should be.
pub type Problems = Vec<String>;

impl Proof {
    pub fn new(story: Story) -> Proof {
        let stage = Stage::new(story);
        let ended = stage.play(stage.first());
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let alone = facts(&stage.start, &stage.tree());
        let faults = books::faults(&stage.tree());
        assert!(faults.is_empty(), "without a mishap: {faults:#?}");
        let mut proof = Proof { stage, operations: Vec::new(), with_receiver: alone.clone(), alone };
        // What the script asks for is more than the receiver's playbook covers, and no test lets it act there.
        if story == Story::Rules {
            let problems = proof.receive(1);
            assert!(problems.is_empty(), "without a mishap: {problems:#?}");
            proof.with_receiver = facts(&proof.stage.start, &proof.stage.tree());
        }
        proof.trace();
        proof
    }

    fn trace(&mut self) {
        self.stage.reset();
        self.operations = self.stage.traced(self.stage.first()).1;
    }

    /// From now on the program is broken; what is right is still what the unbroken one did.
    pub fn break_with(&mut self, breakage: &'static str) {
        self.stage.breakage = Some(breakage);
        self.trace();
    }

    pub fn last(&self) -> u64 {
        self.operations.len() as u64
    }

    /// The operations of one kind or another: `write`, `append`, `sync`, ...
    pub fn numbers_of(&self, names: &[&str]) -> Vec<u64> {
        let is_one = |operation: &serde_json::Value| names.contains(&operation["op"].as_str().unwrap());
        (1..=self.last()).filter(|number| is_one(&self.operations[*number as usize - 1])).collect()
    }

    /// Dies by `fault` in the first run, recovers, and looks at what came of it.
    pub fn kill(&self, fault: &str, between: Between) -> Problems {
        self.stage.reset();
        let ended = self.stage.play(self.stage.first().fault(fault));
        if ended.status != KILLED {
            return vec![format!("it did not die: {} {}", ended.status, ended.stderr)];
        }
        let dead = self.stage.tree();
        let mut problems = match between {
            Between::Nobody => self.recover_twice(),
            Between::Receiver => self.run(RECEIVER, 30),
        };
        problems.extend(self.finish(between));
        problems.extend(self.compare(&dead, between));
        let number: usize = fault.split(':').nth(1).unwrap().parse().unwrap();
        problems.extend(self.paid_faults(&labels(&self.operations)[number - 1]));
        problems
    }

    /// Dies by `fault` in the run that recovers from a first crash, whose remains are `dead`, and recovers again.
    pub fn kill_again(&self, dead: &Tree, fault: &str) -> Problems {
        self.stage.put(dead);
        let ended = self.stage.play(self.stage.later(AGAIN).fault(fault));
        if ended.status != KILLED {
            return vec![format!("it did not die again: {} {}", ended.status, ended.stderr)];
        }
        let dead_again = self.stage.tree();
        let mut problems = self.recover_twice();
        problems.extend(self.finish(Between::Nobody));
        problems.extend(self.compare(dead, Between::Nobody));
        problems.extend(self.compare(&dead_again, Between::Nobody));
        problems
    }

    /// Recovering twice changes nothing.
    fn recover_twice(&self) -> Problems {
        let mut problems = self.run("recover business", 20);
        let once = self.stage.tree();
        problems.extend(self.run("recover business", 21));
        let differ = once.differences(&self.stage.tree());
        // The command itself is audited each time.
        let differ = differ.into_iter().filter(|path| path != ".harness/audit.jsonl");
        problems.extend(differ.map(|path| format!("the second recovery changed {path}")));
        problems
    }

    /// Runs until all is quiet.
    pub fn finish(&self, between: Between) -> Problems {
        let line = format!("run-loop business --engine {}", self.stage.story.engine());
        let mut problems = self.run(&line, 40);
        if between == Between::Receiver {
            problems.extend(self.receive(41));
        }
        problems
    }

    /// The receiver runs until its board stands still too: agents work between its runs, so a run that the mishap let
    /// it have early would else be a run more than the clean story has.
    fn receive(&self, seed: u64) -> Problems {
        let mut before = self.stage.tree();
        for round in 0..RECEIVER_ROUNDS {
            let problems = self.run(RECEIVER, seed + round);
            let after = self.stage.tree();
            if !problems.is_empty() || facts(&before, &after).is_empty() {
                return problems;
            }
            before = after;
        }
        vec![format!("{RECEIVER}: not quiet after {RECEIVER_ROUNDS} runs")]
    }

    /// A call that has to succeed.
    pub fn run(&self, line: &str, seed: u64) -> Problems {
        let ended = self.stage.play(Call::of(line, seed));
        if ended.status == 0 {
            Vec::new()
        } else {
            vec![format!("{line}: exit {}: {}", ended.status, ended.stderr)]
        }
    }

    /// What is there now against what should be; `dead` is what the crash had left.
    pub fn compare(&self, dead: &Tree, between: Between) -> Problems {
        let tree = self.stage.tree();
        let expected = match between {
            Between::Nobody => &self.alone,
            Between::Receiver => &self.with_receiver,
        };
        let mut problems = compare(expected, &facts(&self.stage.start, &tree));
        problems.extend(books::faults(&tree));
        problems.extend(self.work_faults(dead, &tree));
        problems
    }

    /// The work was done by one step, by the dead run's where it had planned it, and every run that began has an end.
    fn work_faults(&self, dead: &Tree, tree: &Tree) -> Problems {
        let mut problems = Vec::new();
        let books = Books::of(tree, "business");
        let workers: Vec<_> = books.steps().filter(|step| step["role"] == "worker").collect();
        if workers.len() != 1 || workers[0]["outcome"] != "ok" {
            problems.push(format!("not one worker step, and ok: {workers:#?}"));
        }
        let set_aside = tree.names_in("org-business/.harness/quarantine").len();
        if set_aside != if self.stage.story == Story::Script { 2 } else { 0 } {
            problems.push(format!("{set_aside} files are in quarantine"));
        }
        let journal = dead.names_in("org-business/.harness/journal").into_iter();
        for entry in journal.filter(|name| !name.starts_with('.')) {
            let (run, rest) = entry.split_once('.').unwrap();
            let step = rest.split('.').next().unwrap();
            if step != "0"
                && !books.steps().any(|line| line["run"] == run && line["step"].as_u64() == step.parse().ok())
            {
                problems.push(format!("{entry} came to nothing"));
            }
        }
        if let Some(active) = dead.text("org-business/.harness/active.json") {
            let active: serde_json::Value = serde_json::from_str(&active).unwrap_or_default();
            let run = active["run"].as_str().unwrap_or_default();
            if books.ends(run).len() != 1 {
                problems.push(format!("{run} died and has no end"));
            }
        }
        problems
    }

    /// An answer that was paid for is lost only where the crash came before it could be saved.
    fn paid_faults(&self, label: &str) -> Problems {
        let tree = self.stage.tree();
        let Some(counters) = tree.text("org-business/.harness/scripts.json") else { return Vec::new() };
        let counters: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&counters).unwrap();
        let asked: u64 = counters.values().filter_map(serde_json::Value::as_u64).sum();
        let recorded = Books::of(&tree, "business").steps().count() as u64;
        let may_lose = label.ends_with("scripts.json") || label.ends_with(".answer.json");
        if asked == recorded || (may_lose && asked == recorded + 1) {
            return Vec::new();
        }
        vec![format!("{asked} answers were paid for and {recorded} recorded, by a crash at {label}")]
    }
}

/// What each operation is for: the file that it makes, changes or syncs in the end.
pub fn labels(operations: &[serde_json::Value]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for operation in operations {
        let file = operation["file"].as_str().unwrap();
        let renamed = operations.iter().find(|later| later["to_file"].is_string() && later["file"] == file);
        labels.push(match renamed {
            Some(rename) => rename["to_file"].as_str().unwrap().to_owned(),
            // A folder is synced for what was just done in it.
            None if file.is_empty() => labels.last().cloned().unwrap_or_default(),
            None => file.to_owned(),
        });
    }
    labels
}
