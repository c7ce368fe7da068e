//! What engines leave behind, and what they do to their guard.

use std::time::Duration;

use director_harness::process::child::How;
use director_harness::process::interrupt::Stop;

use super::engine::{Engine, assert_took, five, said_pids};

#[test]
fn leaves_a_child_that_holds_its_output() {
    five(|| {
        let outcome = Engine::new("sh -c '$UP' & await; echo bye; exit 5").run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(5)));
        assert!(outcome.stdout.ends_with("bye\n") && said_pids(&outcome.stdout, 2));
        assert_took(&outcome, 0.0, 2.0);
    });
}

#[test]
fn leaves_a_child_in_its_own_session() {
    five(|| {
        let outcome = Engine::new("setsid sh -c '$UP' & await; exit 0").run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(0)));
        assert!(said_pids(&outcome.stdout, 2));
    });
}

#[test]
fn leaves_a_stubborn_daemon_without_a_mark() {
    five(|| {
        let daemon = "(env -i PATH=/usr/bin:/bin setsid sh -c 'trap \"\" TERM HUP INT; $UP' &)";
        let outcome = Engine::new(&format!("{daemon}; await; exit 0")).run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(0)));
        assert!(said_pids(&outcome.stdout, 2));
        assert_took(&outcome, 0.2, 2.0);
    });
}

#[test]
fn stopped_while_daemons_run() {
    five(|| {
        let script =
            "(setsid sh -c '$UP' &); await; (env -i PATH=/usr/bin:/bin setsid sh -c '$UP' &); await; wait";
        let script = format!("{script}; sleep 60");
        let outcome = Engine::new(&script).run_until(&|seen| said_pids(seen, 3).then_some(Stop::Cleanly));
        assert_eq!((outcome.ended.how, outcome.ended.signal), (How::Stopped, Some(15)));
        assert_took(&outcome, 0.0, 2.0);
    });
}

#[test]
fn kills_its_guard() {
    five(|| {
        let script = "(setsid sh -c '$UP' &); await; kill -9 $PPID; sleep 60";
        let outcome = Engine::new(script).run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::GuardLost, None));
        assert_took(&outcome, 0.0, 3.0);
    });
}

#[test]
fn freezes_its_guard() {
    let daemon = "(env -i PATH=/usr/bin:/bin setsid sh -c '$UP' &); await";
    let engine = Engine::new(&format!("{daemon}; kill -STOP $PPID; sleep 60"));
    let outcome = engine.limits(|limits| limits.total = Duration::from_millis(500)).run();
    assert_eq!(outcome.ended.how, How::TotalDeadline);
    assert_took(&outcome, 6.0, 9.0);
}

#[test]
fn signals_to_its_guard() {
    five(|| {
        let outcome = Engine::new("kill -INT $PPID; kill -HUP $PPID; exit 6").run();
        assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(6)));
        let outcome = Engine::new("kill -TERM $PPID; sleep 60").run();
        assert_eq!((outcome.ended.how, outcome.ended.signal), (How::Stopped, Some(15)));
    });
}

#[test]
fn orphans_that_ended_are_reaped_while_it_runs() {
    // Through cat: a process that ends between the list and the reading ends some versions of awk.
    let zombies = "cat /proc/[0-9]*/stat 2>/dev/null | \
        awk '$3 == \"Z\" && $4 == '$PPID' { n++ } END { print \"zombies\", n + 0 }'";
    let orphans = "(sh -c 'exit 0' &); (sh -c 'exit 0' &)";
    let script =
        format!("{orphans}; sleep 1.2; {orphans}; sleep 0.2; (sh -c 'exit 0' &); sleep 0.1; {zombies}");
    let outcome = Engine::new(&script).run();
    let count = outcome.stdout.lines().find_map(|line| line.strip_prefix("zombies ")).unwrap();
    assert!(count.parse::<u32>().unwrap() < 5, "{count} zombies");
}

/// Each generation starts the next in a session of its own and goes, faster than a list of processes is read.
/// Should one get away after all, it ends with its folder.
#[test]
fn leaves_a_chain_that_runs_away() {
    let starts = "setsid sh ./f & env -i PATH=/usr/bin:/bin setsid sh ./f &";
    let shell = format!("printf 'setsid sh ./f &' >f; {starts} true");
    let perl = "perl -MPOSIX=setsid -e 'while (-e \"fifo\") { exit if fork; setsid }'";
    five(|| {
        for script in [shell.as_str(), perl] {
            let outcome = Engine::new(&format!("{script}; sleep 0.1; exit 7")).run();
            assert_eq!((outcome.ended.how, outcome.ended.code), (How::Exited, Some(7)));
            assert_took(&outcome, 0.1, 3.0);
        }
    });
}
