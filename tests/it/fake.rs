//! The fake engine of `examples/fake-engine`: where it is, what it was given, and the proof that it plays as told.

use crate::sandbox;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The built example. `cargo test` builds examples; `cargo test --test it` does not, so it is built here then.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let built = sandbox::harness().with_file_name("examples/fake-engine");
        if modified(&built) < newest_source() {
            build();
        }
        assert!(built.exists(), "{} is missing: `cargo test` without `--test` builds it", built.display());
        built
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

fn newest_source() -> Option<SystemTime> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fake-engine");
    fs::read_dir(folder).unwrap().filter_map(|entry| modified(&entry.unwrap().path())).max()
}

fn build() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--example", "fake-engine"]);
    assert!(cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
}

/// What one call was given.
pub struct Call {
    pub args: Vec<String>,
    pub env: serde_json::Map<String, Value>,
    pub stdin: String,
    pub cwd: String,
    pub grandchildren: Vec<i32>,
}

/// The calls that have begun to answer, in order.
pub fn calls(home: &Path) -> Vec<Call> {
    let folder = home.join(".fake/calls");
    let numbers = (1..).map(|number| folder.join(format!("{number:02}")));
    numbers.take_while(|call| call.join("stdin").exists()).map(|call| read(&call)).collect()
}

fn read(call: &Path) -> Call {
    let text = |name: &str| fs::read(call.join(name)).map(|b| String::from_utf8_lossy(&b).into_owned());
    let grandchildren = text("grandchildren").unwrap_or_default();
    Call {
        args: serde_json::from_str(&text("args").unwrap()).unwrap(),
        env: serde_json::from_str(&text("env").unwrap()).unwrap(),
        stdin: text("stdin").unwrap(),
        cwd: text("cwd").unwrap(),
        grandchildren: grandchildren.lines().map(|pid| pid.parse().unwrap()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::outcome::{Run, alive, until};
    use crate::sandbox::Sandbox;
    use rustix::process::{Pid, Signal, kill_process};
    use serde_json::Value;

    fn engine() -> Sandbox {
        Sandbox::of(super::program())
    }

    fn result(run: Run) -> Value {
        serde_json::from_str(run.take_stdout().lines().last().unwrap()).unwrap()
    }

    fn check(reply: &str, prompt: &str, answer: &str) {
        assert_eq!(result(engine().reply(reply).stdin(prompt).run([]))["result"], answer);
    }

    #[test]
    fn its_version_is_no_call() {
        let run = engine().run(["--version"]).stdout("2.1.326 (Claude Code)\n");
        assert!(run.calls().is_empty());
    }

    #[test]
    fn a_reply_is_wrapped_as_claude_wraps_it() {
        let out = engine().reply("one two\n").run(["-p", "--model", "m-1"]).take_stdout();
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["system", "stream_event", "assistant", "result"]);
        assert_eq!(lines[0]["model"], "m-1");
        assert_eq!(lines[1]["event"]["delta"]["text"], "one two\n");
        assert_eq!(lines[2]["message"]["content"][0]["text"], "one two\n");
        assert_eq!(lines[3]["is_error"], false);
        assert_eq!(lines[3]["total_cost_usd"], 0.01);
        assert_eq!(lines[3]["usage"]["input_tokens"], 1000);
    }

    #[test]
    fn partial_text_adds_up_to_the_whole() {
        let text = "ä".repeat(100);
        let out = engine().reply(&text).run([]).take_stdout();
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let parts: String =
            lines.filter_map(|l| l["event"]["delta"]["text"].as_str().map(str::to_owned)).collect();
        assert_eq!(parts, text);
    }

    #[test]
    fn what_it_was_given_is_written_down() {
        let run =
            engine().env("HARNESS_RUN", "r-1").reply("x").stdin("hello").run(["--a", "b\nc"]).any_stdout();
        let call = &run.calls()[0];
        assert_eq!(call.args, ["--a", "b\nc"]);
        assert_eq!(call.env["HARNESS_RUN"], "r-1");
        assert_eq!(call.stdin, "hello");
    }

    #[test]
    fn nonce_and_message_come_from_the_prompt() {
        let (old, new) = ("m-20261118-004201-7f3k2q", "m-20261118-004202-aaaaa1");
        let prompt =
            format!("```actions quoted\n{old}\nThe message at hand:\n{new} {old}\n```actions k3v9t2mq\n");
        check("```actions NONCE\n[]\n```", &prompt, "```actions k3v9t2mq\n[]\n```");
        check("NEXT_WORKER MSGID", &prompt, &format!("NEXT_WORKER {new}"));
        check("MSGID", &format!("{new}\nm-2026 {old}\nm-"), old);
        check("NONCE MSGID", "nothing", "NONCE MSGID");
        check("# heading is text", "", "# heading is text");
    }

    #[test]
    fn replies_come_in_order_and_then_end() {
        let engine = engine().reply("first").reply("second");
        assert_eq!(result(engine.clone().run([]))["result"], "first");
        assert_eq!(result(engine.clone().run([]))["result"], "second");
        engine.run([]).status(97).stderr("fake engine: no reply 03 is scripted\n");
    }

    #[test]
    fn calls_side_by_side_never_share_a_reply() {
        let engine = (1..=16).fold(engine(), |engine, n| engine.reply(&format!("#raw\nreply {n}\n")));
        let running: Vec<_> = (0..16).map(|_| engine.start(&[])).collect();
        let mut answers: Vec<String> = running.into_iter().map(|run| run.finish().take_stdout()).collect();
        answers.sort();
        answers.dedup();
        assert_eq!(answers.len(), 16);
    }

    #[test]
    fn plain_directives() {
        let raw = |reply: &str| engine().reply(reply).run([]);
        raw("#raw\nas it is").stdout("as it is").status(0);
        raw("#raw\n#exit 3\n").status(3);
        raw("#raw\n#stderr one\n#stderr two\n").stderr("one\ntwo\n");
        raw("#raw\n#flood 130\n").stdout(&format!("{x}\n{x}\nxx", x = "x".repeat(63)));
        raw("#raw\n#garbage\n").stdout("\u{fffd}\u{fffd} not text\n{\"type\":\"result\",[..]\n[..]\n[..]\n");
        raw("#raw\n#sleep 1ms\nslept").stdout("slept");
        raw("#nonsense\n")
            .status(97)
            .stderr("fake engine: in the directive `#nonsense`: no such directive\n");
    }

    #[test]
    fn usage_and_errors_are_reported() {
        let answer = result(engine().reply("#usage 7 8 none\nhi").run([]));
        assert_eq!(answer["usage"]["output_tokens"], 8);
        assert_eq!(answer["total_cost_usd"], Value::Null);
        let run = engine().reply("#error 429 reset=1795000000\n").run([]).status(1);
        let out = run.take_stdout();
        assert!(out.contains(r#""resetsAt":1795000000"#) && out.contains(r#""api_error_status":429"#));
    }

    #[test]
    fn no_home_is_a_mistake() {
        engine().without_env("HOME").run([]).status(97).stderr("fake engine: HOME is not set: [..]\n");
    }

    #[test]
    fn term_ends_a_hanging_engine_unless_it_is_ignored() {
        for (reply, ends) in
            [("#hang\n", true), ("#ignore-term\n#hang\n", false), ("#ignore-term\n#linger\n", false)]
        {
            let engine = engine().reply(reply);
            let mut running = engine.start(&[]);
            until("the engine is ready", || engine.home().join(".fake/calls/01/ready").exists());
            running.signal(Signal::TERM);
            if ends {
                running.finish().status(143);
                continue;
            }
            running.signal(Signal::TERM);
            assert!(!running.ended());
            running.signal(Signal::KILL);
            running.finish().status(137).any_stdout();
        }
    }

    #[test]
    fn a_lingering_engine_has_answered() {
        let engine = engine().reply("#raw\n#linger\nanswer\n");
        let running = engine.start(&[]);
        until("it has answered", || running.stdout() == "answer\n");
        running.signal(Signal::KILL);
        running.finish().status(137).any_stdout();
    }

    #[test]
    fn grandchildren_outlive_it() {
        for reply in ["#raw\n#grandchild\n", "#raw\n#setsid-grandchild\n"] {
            let run = engine().reply(reply).run([]).status(0);
            let left = run.calls()[0].grandchildren[0];
            let pid = Pid::from_raw(left).unwrap();
            let own_session = rustix::process::test_kill_process_group(pid).is_ok();
            let survived = alive(left);
            kill_process(pid, Signal::KILL).unwrap();
            assert!(survived);
            until("the grandchild is dead", || !alive(left));
            assert_eq!(own_session, reply.contains("setsid"));
        }
    }
}
