//! The short form of the fuzz targets: every property of `fuzz/properties.rs`, on changed pieces of real files.
//!
//! `fuzz/run` is the long form, with a fuzzer that looks for new paths.

#[path = "../../fuzz/properties.rs"]
mod properties;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::path::Path;

/// How often each property is tried.
const CASES: u32 = 4_000;

/// Pieces of every format: the template, an organisation of version 1, and texts that are nearly right.
fn seeds() -> Vec<Vec<u8>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["org-template", "prompts", "tests/fixtures/org-v1"].map(|folder| top.join(folder));
    let files = folders.iter().flat_map(walkdir::WalkDir::new).map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file() && entry.metadata().unwrap().len() < 20_000);
    let nearly = [
        "```actions 7f3k2qx9\n[{\"do\": \"escalate\", \"id\": \"m-1\", \"reason\": \"because of it\"}]\n```\n",
        "```actions 7f3k2qx9\n[]\n```\n```actions 7f3k2qx9\n[]\n```\n",
        "**NEXT_WORKER m-20261118-004201-7f3k2q**\nDONE\nESCALATE m-1 why\n",
        "{% for a in dept %}{{ a|upper }}{% include 'x' %}{% endfor %}",
        "{\"schema\":1,\"run\":\"r\",\"step\":1,\"dept\":\"d\",\"charter\":\"c\",\"role\":\"worker\",\"provenance\":\
         \"human\",\"actions\":[],\"effects\":[{\"effect\":\"append\",\"path\":\"a\",\"text\":\"b\"}],\"finish\":\
         {\"record_name\":\"\",\"record\":\"\",\"ledger\":\"\",\"worker_log\":\"\"}}",
    ];
    let nearly = nearly.iter().map(|text| text.as_bytes().to_vec());
    files.map(|entry| fs::read(entry.path()).unwrap()).chain(nearly).collect()
}

/// A change of some bytes.
#[derive(Clone, Debug)]
enum Change {
    Cut(Index),
    Put(Index, Vec<u8>),
    Repeat(Index, Index),
    Flip(Index, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let words = prop::sample::select(vec![
        "---\n",
        "```",
        "```actions 7f3k2qx9\n",
        "{{",
        "%}",
        "\"",
        "\\u0000",
        "\u{202e}",
        "\r\n",
        "\0",
        "[[",
        "= ",
        "DONE",
        "schema = 2\n",
        "\u{feff}",
        "99999999999999999999",
        "é",
    ]);
    prop_oneof![
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), words).prop_map(|(at, word)| Change::Put(at, word.as_bytes().to_vec())),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Repeat(from, to)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len() + 1;
    match change {
        Change::Cut(at) => bytes.truncate(at.index(length)),
        Change::Put(at, word) => {
            let at = at.index(length);
            bytes.splice(at..at, word.iter().copied());
        }
        Change::Repeat(from, to) => {
            let (from, to) = (from.index(length), to.index(length));
            let piece = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.splice(to..to, piece);
        }
        Change::Flip(at, byte) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        Change::Flip(..) => {}
    }
}

#[test]
fn every_property_holds_on_changed_pieces_of_real_files() {
    let seeds = seeds();
    for (name, property) in properties::ALL {
        seeds.iter().for_each(|seed| property(seed));
        let mut runner =
            TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        let texts = (any::<Index>(), prop::collection::vec(change(), 0..6));
        let tried = runner.run(&texts, |(seed, changes)| {
            let mut bytes = seed.get(&seeds).clone();
            changes.iter().for_each(|change| apply(&mut bytes, change));
            property(&bytes);
            Ok(())
        });
        tried.unwrap_or_else(|problem| panic!("{name}: {problem}"));
    }
}

/// A property that nothing fuzzes, or a target without one, would be found out only by reading.
#[test]
fn every_property_has_its_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut targets: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    targets.sort();
    let mut names: Vec<&str> = properties::ALL.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(targets, names);
}
