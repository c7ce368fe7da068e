//! The figure that users feel: what a week of the template's five departments costs, on the rules alone and where every
//! message is answered by a model's stand-in, beside a heartbeat that asks every interval.
//!
//! `harness simulate` lives the week in a copy, on a clock set by hand. The mail is `benches/week.toml`. Started by
//! anything but `cargo bench`, it says so and does nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench stands outside the layers: it lays down files, starts programs and prints its table"
)]

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
const MAIL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/week.toml");
const BEGIN: &str = "2026-11-16T00:00:00Z";

const ORCHESTRATOR: &str = "The oldest message comes first.\n\nNEXT_WORKER {{ message_id }}\n";
const WORKER: &str = r#"It is taken note of.

```actions {{ nonce }}
[
  {"do": "remember", "text": "A message came in and was read.", "tags": ["mail"], "reason": "later readers see it"},
  {"do": "mark_message", "id": "{{ message_id }}", "status": "actioned", "reason": "it was read and noted"}
]
```
"#;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir()?;
    let (root, answers) = (folder.path().join("root"), folder.path().join("answers"));
    fs::create_dir(folder.path().join("home"))?;
    harness(folder.path(), &["init", "--root", &root.display().to_string()])?;
    fs::create_dir(&answers)?;
    fs::write(answers.join("orchestrator.txt"), ORCHESTRATOR)?;
    fs::write(answers.join("worker.txt"), WORKER)?;
    let settings = root.join(".harness/org.toml");
    let engine = format!("\n[engines.scripted]\npreset = \"script\"\nfolder = \"{}\"\n", answers.display());
    fs::write(&settings, fs::read_to_string(&settings)? + &engine)?;
    println!("| week of five departments | rules | scripted |\n|---|---:|---:|");
    let weeks = ["rules", "scripted"].map(|engine| live(folder.path(), &root, engine));
    let [rules, scripted] = weeks;
    let (rules, scripted) = (figures(&rules?)?, figures(&scripted?)?);
    for ((name, rules), (_, scripted)) in rules.iter().zip(&scripted) {
        println!("| {name} | {rules} | {scripted} |");
    }
    Ok(ExitCode::SUCCESS)
}

fn harness(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new(HARNESS);
    command.args(arguments).env_clear().env("HOME", folder.join("home")).env("TZ", "UTC");
    let output = command.current_dir(folder).output()?;
    ensure!(output.status.success(), "{}: {}", arguments[0], String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

fn live(folder: &Path, root: &Path, engine: &str) -> Result<Value> {
    let root = root.display().to_string();
    let arguments =
        ["simulate", "--root", &root, "--days", "7", "--from", BEGIN, "--mail", MAIL, "--engine", engine];
    let policy = ["--approvals", "approve", "--after", "2h", "--json"];
    let out = harness(folder, &[&arguments[..], &policy].concat())?;
    Ok(serde_json::from_slice::<Value>(&out)?["data"].clone())
}

fn figures(data: &Value) -> Result<Vec<(&'static str, String)>> {
    let number = |key: &str| data["cost"][key].as_u64().with_context(|| format!("`cost.{key}`"));
    let (calls, handled, bytes) = (number("calls")?, number("handled")?, number("prompt_bytes")?);
    let (beats, beat_bytes) = (number("heartbeat_calls")?, number("heartbeat_bytes")?);
    let per = |sum: u64, count: u64| {
        if count == 0 { "-".to_string() } else { format!("{:.2}", sum as f64 / count as f64) }
    };
    Ok(vec![
        ("letters that came in", data["mail"].to_string()),
        ("messages handled", handled.to_string()),
        ("engine calls", calls.to_string()),
        ("engine calls a handled message", per(calls, handled)),
        (
            "prompt bytes a handled message",
            bytes.checked_div(handled).map_or("-".into(), |each| each.to_string()),
        ),
        ("share of a prompt in its stable prefix", per(number("prefix_bytes")?, bytes)),
        ("hours in which nothing came", number("idle_hours")?.to_string()),
        ("engine calls in those", number("idle_calls")?.to_string()),
        ("calls of a heartbeat that asks every interval", beats.to_string()),
        ("prompt bytes of that heartbeat", beat_bytes.to_string()),
        ("heartbeat's calls for each of ours", per(beats, calls)),
        ("heartbeat's bytes for each of ours", per(beat_bytes, bytes)),
    ])
}
