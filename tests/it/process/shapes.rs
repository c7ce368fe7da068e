//! What engines say and how they end: codes, silence, floods, prompts, stops.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use director_harness::process::MARK;
use director_harness::process::child::{self, ChildSpec, Flow, How, Output};
use director_harness::process::interrupt::Stop;
use rustix::process::Signal;

use super::engine::{Engine, GUARD, assert_took, five, said_pids};

#[test]
fn a_plain_engine() {
    five(|| {
        let outcome = Engine::new("echo hello; echo oops >&2").run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(0)));
        assert!(outcome.stdout.ends_with("hello\n"));
        assert_eq!(outcome.stderr, "oops\n");
        assert_eq!(outcome.ended.stderr_bytes, 5);
        assert_eq!(outcome.ended.stdout_bytes, outcome.stdout.len() as u64);
    });
}

#[test]
fn an_exit_code_and_a_signal() {
    five(|| {
        let ended = Engine::new("exit 3").run().ended;
        assert_eq!((ended.how, ended.code, ended.signal), (How::Exited, Some(3), None));
        let ended = Engine::new("kill -9 $$").run().ended;
        assert_eq!((ended.how, ended.code, ended.signal), (How::Exited, None, Some(9)));
    });
}

#[test]
fn only_the_given_environment_and_folder_are_there() {
    let engine = Engine::new("env; pwd -P");
    let expected = format!("{MARK}={}", engine.run);
    let folder = engine.folder.path().canonicalize().unwrap();
    let outcome = engine.run();
    let mut lines: Vec<&str> =
        outcome.stdout.lines().skip(1).filter(|line| !line.starts_with("PWD=")).collect();
    assert_eq!(lines.pop(), folder.to_str());
    lines.sort_unstable();
    assert_eq!(lines, [expected.as_str(), "PATH=/usr/bin:/bin"]);
}

#[test]
fn an_engine_that_is_not_there() {
    let spec = ChildSpec { program: "/nowhere/engine".into(), ..Engine::new("").spec() };
    let spec = ChildSpec { cwd: "/".into(), ..spec };
    let mut stderr = Vec::new();
    let mut on_output = |output: Output<'_>| {
        if let Output::Stderr(bytes) = output {
            stderr.extend_from_slice(bytes);
        }
        Flow::Continue
    };
    let ended = child::run(Path::new(GUARD), &spec, &|| None, &mut on_output).unwrap();
    assert_eq!(ended.how, How::NotStarted { os_error: rustix::io::Errno::NOENT.raw_os_error() });
    assert_eq!((ended.code, ended.left), (None, Some(0)));
    assert!(String::from_utf8(stderr).unwrap().contains("/nowhere/engine"));
}

#[test]
fn an_engine_that_exits_127_was_started() {
    let ended = Engine::new("exit 127").run().ended;
    assert_eq!((ended.how, ended.code), (How::Exited, Some(127)));
}

#[test]
fn a_guard_that_is_not_there() {
    let engine = Engine::new("");
    let error = child::run(Path::new("/nowhere/harness"), &engine.spec(), &|| None, &mut |_| Flow::Continue);
    assert!(error.unwrap_err().to_string().contains("/nowhere/harness"));
}

#[test]
fn hangs_before_any_output() {
    five(|| {
        let mut engine = Engine::new("").limits(|limits| limits.start = Duration::from_millis(300));
        engine.script = "exec sleep 60".into();
        let outcome = engine.run();
        assert_eq!(outcome.ended.how, How::StartDeadline);
        assert_eq!(outcome.ended.signal, Some(15));
        assert_took(&outcome, 0.3, 2.0);
    });
}

#[test]
fn goes_silent() {
    five(|| {
        let outcome = Engine::new("echo a; sleep 60").limits(|l| l.idle = Duration::from_millis(300)).run();
        assert_eq!(outcome.ended.how, How::IdleDeadline);
        assert_took(&outcome, 0.3, 2.0);
    });
}

#[test]
fn never_comes_to_an_end() {
    five(|| {
        let script = "while [ -e fifo ]; do echo tick; sleep 0.05; done";
        let outcome = Engine::new(script).limits(|l| l.total = Duration::from_millis(500)).run();
        assert_eq!(outcome.ended.how, How::TotalDeadline);
        assert_took(&outcome, 0.5, 2.5);
    });
}

#[test]
fn floods() {
    five(|| {
        let outcome = Engine::new("yes").limits(|l| l.stdout_bytes = 100_000).run();
        assert_eq!(outcome.ended.how, How::OutputCap);
        assert!(outcome.ended.stdout_bytes > 100_000);
        assert!((99_990..=100_000).contains(&outcome.stdout.len()));
        let outcome = Engine::new("yes >&2").limits(|l| l.stderr_bytes = 100_000).run();
        assert_eq!((outcome.ended.how, outcome.stderr.len()), (How::OutputCap, 100_000));
    });
}

#[test]
fn ignores_sigterm() {
    five(|| {
        let script = "trap '' TERM; echo a; sleep 60";
        let outcome = Engine::new(script).limits(|l| l.idle = Duration::from_millis(300)).run();
        assert_eq!((outcome.ended.how, outcome.ended.signal), (How::IdleDeadline, Some(9)));
        assert_took(&outcome, 2.3, 5.0);
    });
}

#[test]
fn gives_its_result_and_stays() {
    five(|| {
        let engine = Engine::new("echo done; sleep 60").result("done");
        let outcome = engine.limits(|l| l.after_result = Duration::from_millis(300)).run();
        assert_eq!(outcome.ended.how, How::AfterResult);
        assert_took(&outcome, 0.3, 2.0);
    });
}

#[test]
fn gives_its_result_and_goes() {
    let outcome = Engine::new("echo done; exit 0").result("done").run();
    assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(0)));
}

#[test]
fn exits_0_when_told_to_stop() {
    five(|| {
        let script = "trap 'exit 0' TERM; echo up; while [ -e fifo ]; do sleep 0.05; done";
        let outcome = Engine::new(script).run_until(&|seen| seen.contains("up").then_some(Stop::Cleanly));
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Stopped, Some(0)));
        assert_took(&outcome, 0.0, 2.0);
    });
}

#[test]
fn stop_now_does_not_wait() {
    five(|| {
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; $UP' & await; wait";
        let outcome = Engine::new(script).run_until(&|seen| said_pids(seen, 2).then_some(Stop::Now));
        assert_eq!((outcome.ended.how, outcome.ended.signal), (How::Stopped, Some(9)));
        assert_took(&outcome, 0.0, 1.5);
    });
}

#[test]
fn a_second_stop_cuts_the_first_ones_wait() {
    five(|| {
        let asked = AtomicUsize::new(0);
        let interrupt = |seen: &str| match seen.contains("up").then(|| asked.fetch_add(1, Ordering::Relaxed))
        {
            None => None,
            Some(0..5) => Some(Stop::Cleanly),
            Some(_) => Some(Stop::Now),
        };
        let outcome = Engine::new("trap '' TERM; echo up; sleep 60").run_until(&interrupt);
        assert_eq!((outcome.ended.how, outcome.ended.signal), (How::Stopped, Some(9)));
        assert_took(&outcome, 0.0, 1.8);
    });
}

#[test]
fn a_large_prompt_comes_back_whole() {
    five(|| {
        let prompt: Vec<u8> = (0..100_000).flat_map(|n| format!("line {n:04}\n").into_bytes()).collect();
        let outcome = Engine::new("cat").stdin(prompt.clone()).run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(0)));
        assert!(prompt.len() > 1_000_000);
        assert!(outcome.stdout.split_once('\n').is_some_and(|(_, rest)| rest.as_bytes() == prompt));
    });
}

#[test]
fn a_large_prompt_that_nobody_reads() {
    five(|| {
        let prompt = vec![b'x'; 1_000_000];
        let outcome = Engine::new("exec <&-; echo a; exit 4").stdin(prompt.clone()).run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(4)));
        let outcome =
            Engine::new("sleep 60").stdin(prompt).limits(|l| l.idle = Duration::from_millis(200)).run();
        assert_eq!(outcome.ended.how, How::IdleDeadline);
    });
}

#[test]
fn standard_input_ends_after_the_prompt() {
    let outcome = Engine::new("cat; echo end").run();
    assert!(outcome.stdout.ends_with("end\n"));
}

#[test]
fn stops_itself_and_hears_sigterm_all_the_same() {
    five(|| {
        let outcome =
            Engine::new("kill -STOP $$; sleep 60").limits(|l| l.idle = Duration::from_millis(300)).run();
        assert_eq!((outcome.ended.how, outcome.ended.signal), (How::IdleDeadline, Some(15)));
        assert_took(&outcome, 0.3, 2.0);
    });
}

#[test]
fn the_usual_signals_reach_an_engine() {
    let outcome = Engine::new("exec grep -E 'SigIgn|SigBlk' /proc/self/status").run();
    let usual = [Signal::INT, Signal::TERM, Signal::PIPE]
        .map(|signal| 1 << (signal.as_raw() - 1))
        .iter()
        .sum::<u64>();
    for line in outcome.stdout.lines().skip(1) {
        let (_, mask) = line.split_once('\t').unwrap();
        assert_eq!(u64::from_str_radix(mask, 16).unwrap() & usual, 0, "{line}");
    }
}
