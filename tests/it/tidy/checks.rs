//! Runs the rules over the repository, and each over a sample that must fail.

use super::{TextFile, files, layers, read, rules, rust_files, top};

#[track_caller]
fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn each(files: &[TextFile], rule: fn(&TextFile) -> Vec<String>) -> Vec<String> {
    files.iter().flat_map(rule).collect()
}

fn all_rust() -> Vec<TextFile> {
    ["src", "tests/it", "examples", "benches"].into_iter().flat_map(rust_files).collect()
}

#[test]
fn the_files_are_found() {
    assert!(all_rust().iter().any(|file| file.path == "src/domain/mod.rs"));
    assert!(all_rust().iter().any(|file| file.path == "tests/it/tidy/checks.rs"));
}

#[test]
fn layers_point_one_way() {
    none(each(&rust_files("src"), layers::faults));
}

#[test]
fn every_file_says_what_it_is_for() {
    none(each(&all_rust(), rules::module_doc));
}

#[test]
fn files_and_functions_are_short() {
    none(each(&all_rust(), rules::sizes));
}

#[test]
fn names_say_something() {
    none(each(&all_rust(), rules::names));
}

#[test]
fn nothing_is_left_for_later() {
    none(each(&all_rust(), rules::marks));
}

#[test]
fn every_test_file_is_declared() {
    none(rules::declared(&rust_files("tests/it")));
}

#[test]
fn all_content_is_compiled_in() {
    let content: Vec<TextFile> = ["prompts", "org-template"].into_iter().flat_map(files).collect();
    none(rules::embedded(&content, &rust_files("src")));
}

#[test]
fn the_architecture_page_is_short() {
    none(read(&top().join("ARCHITECTURE.md")).iter().flat_map(rules::architecture).collect());
}

fn file(path: &str, text: &str) -> TextFile {
    TextFile { path: path.to_owned(), text: text.to_owned() }
}

#[track_caller]
fn check(rule: fn(&TextFile) -> Vec<String>, (path, text): (&str, &str), expected: &[&str]) {
    assert_eq!(rule(&file(path, text)), expected);
}

#[test]
fn a_file_without_its_doc_is_seen() {
    check(rules::module_doc, ("src/a.rs", "//! What it is.\n"), &[]);
    for text in ["", "use x;\n//! Late.\n", "// Plain.\n", "//!\n"] {
        check(
            rules::module_doc,
            ("src/a.rs", text),
            &["src/a.rs:1: begin with `//! ` and what the file is for"],
        );
    }
}

#[test]
fn what_is_too_long_is_seen() {
    let function = |lines: usize| format!("//! x\n\nfn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
    check(rules::sizes, ("src/a.rs", &function(80)), &[]);
    let long = "src/a.rs:3: `long` has 81 lines; a function has at most 80";
    check(rules::sizes, ("src/a.rs", &function(81)), &[long]);
    check(rules::sizes, ("src/a.rs", &"x\n".repeat(600)), &[]);
    check(
        rules::sizes,
        ("src/a.rs", &"x\n".repeat(601)),
        &["src/a.rs:601: 601 lines; a file has at most 600"],
    );
}

#[test]
fn a_name_that_says_nothing_is_seen() {
    check(rules::names, ("src/domain/commons.rs", ""), &[]);
    check(rules::names, ("src/utils.rs", ""), &["src/utils.rs:1: `utils` names no part of the problem"]);
    let folder = "src/store/test_helpers/a.rs";
    check(
        rules::names,
        (folder, ""),
        &["src/store/test_helpers/a.rs:1: `test_helpers` names no part of the problem"],
    );
}

#[test]
fn a_mark_left_behind_is_seen() {
    check(rules::marks, ("src/a.rs", "let x = \"TODO\"; // TODOS of a board\n#[expect(dead_code)]\n"), &[]);
    check(rules::marks, ("src/a.rs", "//! x\nx(); // TODO: y\n"), &["src/a.rs:2: TODO: do it, or leave it"]);
    check(rules::marks, ("src/a.rs", "/* a\nFIXME */"), &["src/a.rs:2: FIXME: do it, or leave it"]);
    let instead = "src/a.rs:1: write `#[expect(..., reason = \"...\")]` instead of allow";
    check(rules::marks, ("src/a.rs", "#[allow(dead_code)]"), &[instead]);
    check(rules::marks, ("src/a.rs", "#![ allow (dead_code)]"), &[instead]);
}

#[test]
fn a_test_file_that_nothing_declares_is_seen() {
    let main = file("tests/it/main.rs", "//! x\nmod a;\nmod deep;\n// mod b;\n");
    let deep = file("tests/it/deep.rs", "mod one;\n");
    let names = ["tests/it/a.rs", "tests/it/b.rs", "tests/it/deep/one.rs", "tests/it/deep/two.rs"];
    let all: Vec<TextFile> = [main, deep].into_iter().chain(names.map(|name| file(name, ""))).collect();
    let expected = ["tests/it/b.rs", "tests/it/deep/two.rs"];
    let expected = expected.map(|path| format!("{path}:1: no `mod` declares this file, so it never runs"));
    assert_eq!(rules::declared(&all), expected);
}

#[test]
fn content_that_is_not_compiled_in_is_seen() {
    let content = ["prompts/base/a.md", "prompts/base/b.md", "prompts/base/c.md", "org-template/org.toml"];
    let content = content.map(|path| file(path, ""));
    let table =
        file("src/store/a.rs", "x(include_str!(\"../../prompts/base/a.md\")); embed!(\"base/b.md\");");
    let other = file("src/store/b.rs", "let path = \"base/c.md\"; // include_str!\n");
    let settings = file("src/store/c.rs", "include_str!(\"x\"); let path = \".harness/org.toml\";");
    let faults = rules::embedded(&content, &[table, other, settings]);
    let expected = ["prompts/base/c.md", "org-template/org.toml"];
    assert_eq!(faults, expected.map(|path| format!("{path}:1: no table in src compiles this file in")));
}

#[test]
fn a_long_architecture_page_is_seen() {
    check(rules::architecture, ("ARCHITECTURE.md", &"x\n".repeat(150)), &[]);
    let long = "ARCHITECTURE.md:151: 151 lines; the page has at most 150";
    check(rules::architecture, ("ARCHITECTURE.md", &"x\n".repeat(151)), &[long]);
}
