//! Runs what the README shows, so that it can't promise what isn't so.
//!
//! Blocks whose info string begins with `console` run from top to bottom in one `sh` with the built `harness` on its
//! PATH, so that folders and variables carry over. In a block, `$ ` begins a command and `> ` goes on with it; the
//! lines up to the next command are what a terminal would show, stdout and stderr together, with `[..]` for any text
//! within a line and a line `...` for any lines. A block in a list is indented as a whole. Every command ends with 0; in a block `console status=N` the last one
//! ends with N. `console norun` is only shown. The root is what a reader's is: the home, with no variable set.

use crate::pattern::compare_with_gaps;
use crate::sandbox::{Sandbox, write};
use std::path::Path;

#[derive(Debug, PartialEq)]
struct Step {
    line: usize,
    command: String,
    output: String,
    status: i32,
}

/// The steps of all blocks, or where a block is not as it should be.
fn parse(text: &str) -> Result<Vec<Step>, String> {
    let (mut steps, mut lines) = (Vec::new(), text.lines().enumerate());
    while let Some((at, line)) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let inside = lines.by_ref().take_while(|(_, line)| line.trim_start() != "```");
        let block: Vec<(usize, &str)> =
            inside.map(|(at, line)| (at, line.strip_prefix(indent).unwrap_or(line))).collect();
        match info.split_whitespace().collect::<Vec<_>>()[..] {
            ["console"] => steps.extend(parse_block(&block, 0)?),
            ["console", "norun"] => {}
            ["console", status] => {
                let number = status.strip_prefix("status=").and_then(|number| number.parse().ok());
                steps.extend(parse_block(
                    &block,
                    number.ok_or(format!("line {}: `{status}` is unknown", at + 1))?,
                )?);
            }
            _ => {}
        }
    }
    if steps.is_empty() { Err("it shows no command in a console block".to_owned()) } else { Ok(steps) }
}

fn parse_block(block: &[(usize, &str)], status: i32) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, line) in block {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: at + 1, command: command.to_owned(), output: String::new(), status: 0 });
            continue;
        }
        let step = steps.last_mut().ok_or_else(|| format!("line {}: a block begins with `$ `", at + 1))?;
        match line.strip_prefix("> ") {
            Some(more) if step.output.is_empty() => step.command.push_str(&format!("\n{more}")),
            _ => step.output.push_str(&format!("{line}\n")),
        }
    }
    if let Some(last) = steps.last_mut() {
        last.status = status;
    }
    Ok(steps)
}

/// One script: each command in the shell itself, its output and status kept in files.
fn script(steps: &[Step], kept: &Path) -> String {
    let kept = kept.display();
    let lines = steps.iter().enumerate().map(|(index, step)| {
        let command = &step.command;
        // A seed for each step: two sends in the same fixed second must not make the same id.
        format!(
            "export HARNESS_TEST_SEED={index}\n{{\n{command}\n}} >'{kept}/{index}.output' 2>&1\n\
             echo $? >'{kept}/{index}.status'\n"
        )
    });
    lines.collect()
}

fn run(steps: &[Step]) -> Vec<String> {
    let sandbox = Sandbox::of("/bin/sh").without_env("HARNESS_ROOT").now("2026-11-18T00:42:01.25Z");
    let (kept, home) = (sandbox.dir().join("out"), sandbox.home());
    let path = sandbox.dir().join("readme.sh");
    write(&path, script(steps, &kept).as_bytes());
    let (_, _, complaint) = sandbox.clone().cwd(home).start(&[&path.display().to_string()]).finish().parts();
    let read =
        |index: usize, what: &str| std::fs::read(kept.join(format!("{index}.{what}"))).unwrap_or_default();
    let text = |bytes: Vec<u8>| sandbox.places().hide(&String::from_utf8_lossy(&bytes));
    let results = (0..steps.len()).map(|index| (text(read(index, "status")), text(read(index, "output"))));
    let faults =
        steps.iter().zip(results).filter_map(|(step, (status, output))| fault(step, &status, &output));
    faults.chain((!complaint.is_empty()).then_some(complaint)).collect()
}

fn fault(step: &Step, status: &str, output: &str) -> Option<String> {
    let what = if status.is_empty() {
        "never ran to its end".to_owned()
    } else if status.trim() != step.status.to_string() {
        format!("exited {} and said:\n{output}", status.trim())
    } else {
        format!("shows something else:\n{}", compare_with_gaps(&step.output, output).err()?)
    };
    Some(format!("README.md:{}: `{}` {what}", step.line, step.command))
}

#[test]
fn the_readme_shows_what_happens() {
    let Ok(text) = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")) else {
        return;
    };
    let steps = parse(&text).unwrap_or_else(|fault| panic!("README.md: {fault}"));
    let faults = run(&steps);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(block: &str, expected: &[&str]) {
        let faults = run(&parse(&format!("# Title\n\n```{block}\n```\n")).unwrap());
        assert_eq!(faults.len(), expected.len(), "{faults:#?}");
        let all = faults.iter().zip(expected).all(|(fault, part)| fault.contains(part));
        assert!(all, "{faults:#?}");
    }

    #[test]
    fn what_is_as_shown_passes() {
        check("console\n$ echo a; echo b >&2\na\nb", &[]);
        check("console\n$ printf '1\\n2\\n3\\n'\n1\n...\n3\n$ echo took 3 s\ntook [..] s", &[]);
        check("console\n$ cat <<END\n> text\n> END\ntext", &[]);
        check("console status=3\n$ true\n$ (exit 3)", &[]);
        check("console\n$ command -v harness\n[DIR]/bin/harness", &[]);
        check("console\n$ pwd; echo ${HARNESS_ROOT-none}\n[HOME]\nnone", &[]);
    }

    #[test]
    fn a_block_in_a_list_runs_too() {
        let faults = run(&parse("1. First:\n\n   ```console\n   $ echo a\n   b\n   ```\n").unwrap());
        assert!(faults.len() == 1 && faults[0].contains("README.md:4"), "{faults:?}");
    }

    #[test]
    fn state_carries_over() {
        check(
            "console\n$ mkdir d && cd d\n$ export X=y\n```\n\ntext\n\n```console\n$ pwd; echo $X\n[HOME]/d\ny",
            &[],
        );
    }

    #[test]
    fn what_is_not_as_shown_is_seen() {
        check("console\n$ echo a\nb", &["README.md:4: `echo a` shows something else"]);
        check("console\n$ echo a", &["shows something else"]);
        check("console\n$ false\n$ echo a\na", &["`false` exited 1"]);
        check("console status=3\n$ true", &["`true` exited 0"]);
        check("console\n$ exit 0\n$ echo a\na", &["`exit 0` never ran", "`echo a` never ran"]);
    }

    #[test]
    fn a_readme_that_shows_nothing_is_refused() {
        let none = Err("it shows no command in a console block".to_owned());
        assert_eq!(parse("# Title\n\n```sh\n$ x\n```\n"), none);
        assert_eq!(parse("```console norun\n$ x\n```\n"), none);
        assert_eq!(parse("```console\nx\n```\n"), Err("line 2: a block begins with `$ `".to_owned()));
        assert_eq!(parse("```console no-run\n$ x\n```\n"), Err("line 1: `no-run` is unknown".to_owned()));
    }
}
