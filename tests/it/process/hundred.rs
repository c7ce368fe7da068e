//! Every shape of engine, stopped a hundred times: five seconds later nothing of it is left.
//!
//! `HARNESS_SLOW_TESTS=1` tries each a hundred times; the short form five.

use super::engine::{Engine, five, said_pids};
use director_harness::process::child::How;
use director_harness::process::interrupt::Stop;

const SHAPES: [(&str, &str); 5] = [
    ("plain", "sh -c '$UP' & await; wait"),
    ("ignores SIGTERM", "trap '' TERM; sh -c 'trap \"\" TERM; $UP' & await; wait; sleep 60"),
    ("new session", "setsid sh -c '$UP' & await; wait"),
    ("double fork", "(setsid sh -c 'sh -c \"$UP\" &' &); await; sleep 60"),
    ("cleared environment", "(env -i PATH=/usr/bin:/bin setsid sh -c '$UP' &); await; sleep 60"),
];

/// From the moment it is told to stop.
const GONE_WITHIN_S: f64 = 5.0;

#[test]
#[expect(clippy::print_stderr, reason = "how much was tried is the point of it")]
fn no_shape_survives_a_stop() {
    let rounds =
        if std::env::var_os("HARNESS_SLOW_TESTS").is_some_and(|value| value == "1") { 20 } else { 1 };
    for (name, script) in SHAPES {
        for _ in 0..rounds {
            five(|| {
                let told = std::cell::Cell::new(None::<std::time::Instant>);
                // `run_until` proves that every process it heard of is gone, and that none works in its folder.
                let outcome = Engine::new(script).run_until(&|seen| {
                    said_pids(seen, 2).then(|| {
                        told.set(told.get().or_else(|| Some(std::time::Instant::now())));
                        Stop::Cleanly
                    })
                });
                assert_eq!(outcome.ended.how, How::Stopped, "{name}");
                let took = told.get().map_or(f64::INFINITY, |told| told.elapsed().as_secs_f64());
                assert!(took < GONE_WITHIN_S, "{name}: {took} s");
            });
        }
        eprintln!("{name}: stopped {} times, no survivor", rounds * 5);
    }
}
