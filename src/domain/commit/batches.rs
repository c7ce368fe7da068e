//! Several runs whose commits wait: which notes make one commit.
//!
//! Each run gets a commit of its own, in their order. Two runs can't be told apart where both wrote the same file whole:
//! what the first one wrote is gone. Then they, and those between them, share one commit, which names them all. Entries
//! at the end of a log are told apart. What others wrote goes with the run that took it up, else with the last one.

use super::{Note, Written, runs_of};
use std::collections::BTreeMap;

/// The notes of one commit, and the runs it tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<'a> {
    pub runs: Vec<&'a str>,
    pub notes: Vec<&'a Note>,
}

impl Batch<'_> {
    pub fn touches(&self, path: &str) -> bool {
        self.notes.iter().any(|note| note.path == path)
    }
}

/// What several runs did with one file.
struct Shared {
    first: usize,
    last: usize,
    only_added: bool,
}

/// The commits that notes make, oldest run first.
pub fn batches<'a>(notes: &'a [Note], dept: &str) -> Vec<Batch<'a>> {
    let mut runs = runs_of(notes, dept);
    if runs.len() < 2 {
        return vec![Batch { runs, notes: notes.iter().collect() }];
    }
    // Ids sort by the second; within one, the order of the notes counts.
    runs.sort_by_key(|run| run.rsplit_once('-').map_or(*run, |(moment, _)| moment));
    let own = |note: &Note| {
        let run = note.by.split_once('.').filter(|(_, of)| *of == dept)?.0;
        runs.iter().position(|known| *known == run)
    };
    let mut files: BTreeMap<&str, Shared> = BTreeMap::new();
    for note in notes {
        let Some(run) = own(note) else { continue };
        let file = files.entry(&note.path).or_insert(Shared { first: run, last: run, only_added: true });
        file.first = file.first.min(run);
        file.last = file.last.max(run);
        file.only_added &= matches!(note.written, Written::Added { .. });
    }
    let mut with_next = vec![false; runs.len()];
    for file in files.values().filter(|file| !file.only_added) {
        with_next[file.first..file.last].fill(true);
    }
    let mut batch_of = vec![0; runs.len()];
    for run in 1..runs.len() {
        batch_of[run] = batch_of[run - 1] + usize::from(!with_next[run - 1]);
    }
    let last = runs.len() - 1;
    let mut made: Vec<Batch<'a>> =
        (0..=batch_of[last]).map(|_| Batch { runs: Vec::new(), notes: Vec::new() }).collect();
    for (run, id) in runs.iter().enumerate() {
        made[batch_of[run]].runs.push(id);
    }
    for note in notes {
        let taken_up = || files.get(note.path.as_str()).map_or(last, |file| file.first);
        made[batch_of[own(note).unwrap_or_else(taken_up)]].notes.push(note);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str, by: &str, written: Written) -> Note {
        Note { schema: 1, path: path.into(), by: by.into(), written }
    }

    fn whole(path: &str, by: &str) -> Note {
        note(path, by, Written::Whole { sha256: String::new() })
    }

    fn check(notes: &[Note], expected: &str) {
        let said: Vec<String> = batches(notes, "rd")
            .iter()
            .map(|batch| {
                let paths: Vec<&str> = batch.notes.iter().map(|note| note.path.as_str()).collect();
                format!("{}: {}", batch.runs.join("+"), paths.join(" "))
            })
            .collect();
        assert_eq!(said.join("; "), expected);
    }

    #[test]
    fn each_run_has_its_own() {
        check(&[whole("m", "r-9.business"), whole("n", "user")], ": m n");
        check(&[whole("a", "r-1-a.rd"), whole("b", "r-2-a.rd")], "r-1-a: a; r-2-a: b");
        // Whichever list was read first.
        check(&[whole("b", "r-2-a.rd"), whole("a", "r-1-a.rd")], "r-1-a: a; r-2-a: b");
    }

    #[test]
    fn what_others_wrote_goes_with_whoever_took_it_up() {
        let gone = note("inbox/m", "r-1-a.rd", Written::Gone);
        let notes =
            [whole("inbox/m", "r-9.business"), whole("inbox/n", "user"), gone, whole("b", "r-2-a.rd")];
        check(&notes, "r-1-a: inbox/m inbox/m; r-2-a: inbox/n b");
    }

    #[test]
    fn logs_are_told_apart_and_files_written_twice_are_not() {
        let added = |by: &str| note("log", by, Written::Added { text: by.into() });
        check(&[added("r-1-a.rd"), added("r-2-a.rd")], "r-1-a: log; r-2-a: log");
        let notes =
            [whole("x", "r-1-a.rd"), whole("b", "r-2-a.rd"), whole("x", "r-3-a.rd"), whole("c", "r-4-a.rd")];
        check(&notes, "r-1-a+r-2-a+r-3-a: x b x; r-4-a: c");
        check(&[whole("log", "r-1-a.rd"), added("r-2-a.rd")], "r-1-a+r-2-a: log log");
    }
}
