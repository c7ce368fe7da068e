//! What comes in through Cargo.lock: how much, under which licences, from where. The lists are those of `deny.toml`,
//! which `cargo deny check` reads too where it is installed; this needs nothing but cargo.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The most crates that the program may be built from, itself left out. More is a decision, not an accident.
const CEILING: usize = 150;

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cargo(args: &[&str]) -> String {
    run(env!("CARGO"), args)
}

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(top()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn packages() -> Vec<Value> {
    // What is built here: other systems' crates may never have been fetched.
    let host = run("rustc", &["--print", "host-tuple"]);
    let host = ["--filter-platform", host.trim()];
    let text = cargo(&[&["metadata", "--format-version", "1", "--locked", "--offline"], &host[..]].concat());
    let document: Value = serde_json::from_str(&text).unwrap();
    let all = document["packages"].as_array().unwrap().iter();
    all.filter(|package| package["name"] != env!("CARGO_PKG_NAME")).cloned().collect()
}

fn rules() -> toml::Table {
    std::fs::read_to_string(top().join("deny.toml")).unwrap().parse().unwrap()
}

fn texts(value: &toml::Value) -> Vec<&str> {
    value.as_array().unwrap().iter().filter_map(toml::Value::as_str).collect()
}

/// Whether an SPDX expression can be met with what is allowed. Enough for what crates write: `A OR B`, `A AND B`,
/// `A/B`, one pair of brackets and `WITH` an exception, which is part of a licence's name.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let plain = expression.replace('/', " OR ").replace(['(', ')'], "");
    let terms: Vec<&str> = plain.split(" AND ").collect();
    terms.iter().all(|term| term.split(" OR ").any(|licence| allowed.contains(&licence.trim())))
}

#[test]
fn licences_are_met() {
    assert!(is_met("MIT OR Apache-2.0", &["MIT"]) && is_met("(MIT OR X) AND Zlib", &["MIT", "Zlib"]));
    assert!(!is_met("GPL-3.0", &["MIT"]) && !is_met("MIT AND GPL-3.0", &["MIT"]));
    let rules = rules();
    let allowed = texts(&rules["licenses"]["allow"]);
    let unmet = packages()
        .into_iter()
        .filter(|package| package["license"].as_str().is_none_or(|licence| !is_met(licence, &allowed)));
    let unmet: Vec<String> =
        unmet.map(|package| format!("{} {}", package["name"], package["license"])).collect();
    assert!(unmet.is_empty(), "deny.toml allows none of these licences: {unmet:?}");
}

#[test]
fn nothing_banned_comes_in_and_all_of_it_from_the_registry() {
    let rules = rules();
    let banned = rules["bans"]["deny"].as_array().unwrap();
    let banned: BTreeSet<&str> = banned.iter().map(|entry| entry["crate"].as_str().unwrap()).collect();
    assert!(banned.contains("tokio"));
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.contains(name), "{name} is banned in deny.toml");
        let source = package["source"].as_str().unwrap_or("a path");
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
    }
}

#[test]
fn there_are_fewer_crates_than_the_ceiling() {
    let tree = cargo(&["tree", "--locked", "--offline", "-e", "normal", "--prefix", "none"]);
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(" (").next()).collect();
    assert!(names.len() <= CEILING + 1, "{} crates; the ceiling is {CEILING}", names.len() - 1);
}
