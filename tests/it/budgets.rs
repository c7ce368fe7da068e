//! Budgets: every key refuses at its number, for everyone it holds for; nothing is lost by a kill or spent twice by a race.
//!
//! What a call may take is read off its refusal, so that a limit can be set to it and to just less than it.

use crate::office::{act, answer, data, delivered, done, note, office, step};
use crate::outcome::{Running, until};
use crate::sandbox::Sandbox;
use rustix::process::Signal;
use serde_json::{Value, json};

const LOG: &str = ".harness/budget.jsonl";
const ABOUT: &str = "m-20261118-000000-aaaaaa";
const IDLE: &str = "#usage 100 10 0.5\nNothing is to be done.\n\n```actions NONCE\n[]\n```\n";

/// The settings with one budget table alone; every other limit is out of the way.
fn budget(sandbox: &Sandbox, scope: &str, line: &str) {
    let mut text =
        "schema = 1\n[defaults]\nengine = [\"claude\"]\n[engines.claude]\npreset = \"claude\"\n".to_owned();
    for name in ["organisation", "department", "project", "directive"] {
        text += &format!("[budget.{name}]\n");
        if name == scope {
            text += &format!("{line}\n");
        }
        if !(name == scope && line.starts_with("usd_per_day")) {
            text += "usd_per_day = 1000.0\n";
        }
        if !(name == scope && line.starts_with("runs_per_day")) {
            text += "runs_per_day = 1000\n";
        }
    }
    crate::sandbox::write(&sandbox.root().join(".harness/org.toml"), text.as_bytes());
}

fn spent(run: &str, at: &str) -> String {
    let reserve = json!({"line": "reserve", "id": format!("{run}/1"), "at": at, "dept": "business", "run": run,
        "project": "apollo", "directive": "d-1", "usd": 1.0, "tokens": 90_000, "runs": 1});
    let settle = json!({"line": "settle", "id": format!("{run}/1"), "at": at, "usd": 2.0, "tokens": 70_000, "known": true});
    format!("{reserve}\n{settle}\n")
}

/// What was spent before: in this day, in this week, in this month, and before all of them.
fn history() -> String {
    let times =
        ["2026-10-31T23:59:59Z", "2026-11-02T12:00:00Z", "2026-11-16T12:00:00Z", "2026-11-18T00:00:00Z"];
    times.iter().enumerate().map(|(number, at)| spent(&format!("r-{number}"), at)).collect()
}

/// How many of the spends of [`history`] count in a span.
fn counted(span: &str) -> f64 {
    match span {
        "day" => 1.0,
        "week" => 2.0,
        "month" => 3.0,
        _ => 0.0,
    }
}

fn fresh(sandbox: &Sandbox) {
    crate::sandbox::write(&sandbox.root().join(LOG), history().as_bytes());
    // The book is this test's own; what is known of the other's end goes with it.
    let known = sandbox.home().join(".config/harness/organisations");
    for entry in std::fs::read_dir(known).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "book") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    // The ledger would come back from the records, and with it what the breaker counts.
    let _ = std::fs::remove_file(sandbox.root().join("org-business/.harness/runs.jsonl"));
    let _ = std::fs::remove_dir_all(sandbox.root().join("org-business/.harness/director-runs"));
}

fn limit(unit: &str, span: &str, most: f64) -> String {
    if unit == "usd" {
        format!("usd_per_{span} = {most:.2}")
    } else {
        format!("{unit}_per_{span} = {most:.0}")
    }
}

/// What the next call may take, as its refusal says it.
fn asked(sandbox: &Sandbox, scope: &str, unit: &str, span: &str) -> f64 {
    budget(sandbox, scope, &limit(unit, span, 0.0));
    let (status, stdout, stderr) = step(sandbox, "business").parts();
    assert_eq!(status, 3, "{stderr}");
    let said = format!("{stdout}{stderr}");
    assert!(said.contains(&format!("{unit}_per_{span} of {scope}")), "{said}");
    let (_, after) = said.split_once("this call may take ").unwrap();
    after.split([',', '\n']).next().unwrap().parse().unwrap()
}

fn check(sandbox: &Sandbox, scope: &str, unit: &str, span: &str) {
    fresh(sandbox);
    let each = if unit == "usd" {
        2.0
    } else if unit == "runs" {
        1.0
    } else {
        70_000.0
    };
    let most = counted(span) * each + asked(sandbox, scope, unit, span);
    let calls = sandbox.calls().len();
    let least = if unit == "usd" { 0.01 } else { 1.0 };
    budget(sandbox, scope, &limit(unit, span, most - least));
    step(sandbox, "business").status(3).any_stdout().any_stderr();
    assert_eq!(sandbox.calls().len(), calls, "{scope} {unit} {span}: one less than it takes lets it pass");
    budget(sandbox, scope, &limit(unit, span, most));
    step(&sandbox.clone().reply(IDLE), "business").any_stdout().any_stderr();
    assert_eq!(sandbox.calls().len(), calls + 1, "{scope} {unit} {span}: reaching a limit passes");
}

fn every_key_of(scope: &str) {
    let sandbox = office();
    let sandbox = delivered(sandbox, ABOUT, "provenance: department\nproject: apollo\ndirective: d-1\n");
    for unit in ["usd", "tokens"] {
        ["step", "run", "day", "week", "month"].iter().for_each(|span| check(&sandbox, scope, unit, span));
    }
    ["day", "week", "month"].iter().for_each(|span| check(&sandbox, scope, "runs", span));
}

#[test]
fn every_key_of_the_organisation() {
    every_key_of("organisation");
}

#[test]
fn every_key_of_a_department() {
    every_key_of("department");
}

#[test]
fn every_key_of_a_project() {
    every_key_of("project");
}

#[test]
fn every_key_of_a_directive() {
    every_key_of("directive");
}

/// One row of `budget --json`.
fn row(sandbox: &Sandbox, scope: &str, limit: &str) -> Value {
    let rows = data(sandbox, &["budget"])["limits"].as_array().unwrap().clone();
    rows.into_iter().find(|row| row["scope"] == scope && row["limit"] == limit).unwrap()
}

#[test]
fn what_is_not_set_has_its_default_also_beside_what_is() {
    let sandbox = office();
    let text =
        "schema = 1\n[budget.organisation]\ntokens_per_day = 5\n[budget.department]\nusd_per_week = 2.0\n";
    let sandbox = sandbox.bytes(".harness/org.toml", text.as_bytes());
    let most = |scope: &str, limit: &str| row(&sandbox, scope, limit)["most"].as_f64().unwrap();
    assert_eq!(most("organisation", "usd_per_day"), 10.0);
    assert_eq!(most("organisation", "runs_per_day"), 500.0);
    assert_eq!(most("department rd", "usd_per_day"), 3.0);
    assert_eq!(most("department rd", "usd_per_week"), 2.0);
}

#[test]
fn a_budget_that_is_no_number_is_refused() {
    let sandbox = office();
    for line in [
        "usd_per_day = nan",
        "usd_per_day = inf",
        "usd_per_day = -1.0",
        "runs_per_day = -1",
        "usd_per_year = 1.0",
    ] {
        budget(&sandbox, "department", line);
        let (status, _, stderr) = step(&sandbox, "business").parts();
        assert!(status == 1 && stderr.contains("org.toml"), "{line}: {status} {stderr}");
    }
    assert!(sandbox.calls().is_empty());
}

#[test]
fn a_call_that_was_killed_counts_at_its_worst_until_and_after_recovery() {
    let sandbox = office();
    let running = sandbox.clone().reply("#hang\n").start(&["run-director", "rd", "--role", "worker"]);
    until("the engine is asked", || !sandbox.calls().is_empty());
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    let usd = |key: &str| row(&sandbox, "department rd", "usd_per_day")[key].as_f64().unwrap();
    assert_eq!((usd("spent"), usd("reserved"), usd("left")), (0.0, 1.0, 2.0));
    done(&sandbox, &["recover", "rd"]);
    done(&sandbox, &["recover", "rd"]);
    assert_eq!((usd("spent"), usd("reserved"), usd("left")), (1.0, 0.0, 2.0));
    let settled = sandbox
        .read(LOG)
        .lines()
        .filter(|line| line.contains("settle"))
        .map(str::to_owned)
        .collect::<Vec<_>>();
    assert!(settled.len() == 1 && settled[0].contains("\"known\":false"), "{settled:?}");
}

#[test]
fn a_cost_that_is_not_reported_is_unknown_and_counts_at_the_worst() {
    let sandbox = office();
    let reply = "#usage 100 10 none\nNothing is to be done.\n\n```actions NONCE\n[]\n```\n";
    let run = step(&sandbox.clone().reply(reply), "rd").any_stderr();
    run.stdout("rd: done (1 step, cost unknown, counted as 1.00 USD): the worker has answered\n");
    assert_eq!(row(&sandbox, "department rd", "usd_per_day")["spent"], 1.0);
    assert_eq!(crate::office::last_step(&sandbox, "rd")["cost_usd"], Value::Null);
    let (cheap, calls) = (reply.replace("none", "0"), sandbox.calls().len());
    step(&sandbox.clone().reply(&cheap), "rd").any_stdout().any_stderr();
    assert_eq!(
        (row(&sandbox, "department rd", "usd_per_day")["spent"].clone(), sandbox.calls().len()),
        (json!(2.0), calls + 1)
    );
}

#[test]
fn eighty_percent_is_said_once() {
    let sandbox = office();
    budget(&sandbox, "department", "usd_per_day = 3.0");
    let mut said = Vec::new();
    for _ in 0..5 {
        let reply = format!("#usage 100 10 0.5\n{}", answer(&[note()]));
        let (_, _, stderr) = step(&sandbox.clone().reply(&reply), "rd").parts();
        said.push(stderr.matches("% of usd_per_day of department rd are used").count());
    }
    assert_eq!(said, [0, 0, 0, 1, 0]);
    done(&sandbox, &["resume", "rd"]);
    let (status, stdout, stderr) = step(&sandbox, "rd").parts();
    assert!(status == 3 && stdout.contains("usd_per_day of department rd is 3: 2.50 spent, 0.00 reserved, and this call may take 1.00, until 2026-11-19T00:00:00Z"), "{stdout}{stderr}");
}

#[test]
fn a_damaged_log_is_refused_and_named_and_left_as_it_is() {
    let line = "{\"line\":\"settle\",\"id\":\"x/1\",\"at\":\"2026-11-18T00:00:00Z\",\"usd\":1.0,\"tokens\":1,\"known\":true}\n";
    for bad in [
        format!("garbage\n{line}"),
        format!("{{\"line\":\"reserve\"}}\n{line}"),
        line.replace("1.0", "-9.0"),
        line.replace("2026-11-18", "some day"),
        line.replace("settle", "refund"),
    ] {
        let sandbox = office().bytes(LOG, bad.as_bytes());
        for args in [&["run-director", "rd", "--role", "worker"][..], &["budget"]] {
            let (status, _, stderr) = sandbox.start(args).finish().parts();
            assert!(
                status == 1 && stderr.contains("[ROOT]/.harness/budget.jsonl: a line of it can't be read"),
                "{bad}: {stderr}"
            );
        }
        assert_eq!((sandbox.calls().len(), sandbox.read(LOG)), (0, bad));
    }
    let torn = office().bytes(LOG, format!("{line}{}", &line[..30]).as_bytes());
    act(&torn, "rd", &[note()]);
    assert!(torn.read(LOG).lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[test]
fn a_dispatched_job_is_paid_for_too() {
    let sandbox = office();
    let pipelines = "[pipelines.touch]\ncommand = [\"/usr/bin/touch\", \"touched\"]\nworst_case_usd = 2.5\n";
    let settings = |most: f64| {
        let text = sandbox.read(".harness/org.toml");
        let text = text
            .split("[pipelines.touch]")
            .next()
            .unwrap()
            .replace("usd_per_day = 3.0", &format!("usd_per_day = {most:.1}"));
        crate::sandbox::write(
            &sandbox.root().join(".harness/org.toml"),
            format!("{text}\n{pipelines}").as_bytes(),
        );
    };
    settings(2.0);
    let job = json!({"schema": 1, "id": "j-20261118-004201-aaaaaa", "pipeline": "touch", "args": {}, "task": null,
        "project": null, "run": "r-20261118-004201-aaaaaa", "created": "2026-11-18T00:42:01Z", "provenance": "department"});
    let sandbox = sandbox
        .clone()
        .bytes("org-rd/.harness/jobs/j-20261118-004201-aaaaaa.json", job.to_string().as_bytes());
    let (_, _, stderr) = sandbox.start(&["run-loop", "rd"]).finish().parts();
    assert!(
        stderr.contains("j-20261118-004201-aaaaaa stays queued: usd_per_day of department rd is 2"),
        "{stderr}"
    );
    assert!(!sandbox.exists("org-rd/touched"));
    let text = sandbox.read(".harness/org.toml").replace("usd_per_day = 2.0", "usd_per_day = 3.0");
    crate::sandbox::write(&sandbox.root().join(".harness/org.toml"), text.as_bytes());
    done(&sandbox, &["run-loop", "rd"]);
    assert!(sandbox.exists("org-rd/touched"));
    assert_eq!(row(&sandbox, "department rd", "usd_per_day")["spent"], 2.5);
}

#[test]
fn the_table_has_bars() {
    let sandbox = office();
    budget(&sandbox, "department", "usd_per_day = 2.0");
    step(&sandbox.clone().reply(IDLE), "rd").any_stdout().any_stderr();
    let text = done(&sandbox, &["budget", "rd"]);
    let of_rd = text.split("department rd\n").nth(1).unwrap();
    let row = of_rd.lines().find(|line| line.contains("usd_per_day")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    let expected = ["usd_per_day", "2.00", "█▌░░░░", "25%", "0.50", "0.00", "1.50", "11-19", "00:00"];
    assert_eq!(words, expected, "{text}");
}

#[test]
fn the_table_fits_a_terminal() {
    let sandbox = office();
    budget(&sandbox, "organisation", "usd_per_day = 1000.0\ntokens_per_day = 2000000\nusd_per_step = 2.0");
    let sandbox = sandbox.bytes(LOG, spent("r-9", "2026-11-18T00:00:00Z").as_bytes());
    crate::snapshot::at_widths(&sandbox, "budget", &["budget"]);
}

#[test]
fn an_entry_from_the_future_closes_the_budget_and_is_named() {
    let sandbox = office().bytes(LOG, spent("r-9", "2027-01-01T00:00:00Z").as_bytes());
    let said = "budget.jsonl has an entry from the future: r-9/1 is of 2027-01-01T00:00:00Z";
    let (status, stdout, stderr) = step(&sandbox, "rd").parts();
    assert!(status == 3 && stdout.contains(said), "{status} {stdout}{stderr}");
    assert!(sandbox.calls().is_empty());
    assert!(sandbox.start(&["budget"]).finish().any_stdout().parts().2.contains(said));
    let (status, stdout, _) = sandbox.start(&["health"]).finish().parts();
    assert!(status != 0 && stdout.contains(said), "{stdout}");
    // A clock that was a little ahead: what was spent counts now.
    let ahead = office().bytes(LOG, spent("r-9", "2026-11-19T00:00:00Z").as_bytes());
    assert_eq!(row(&ahead, "department business", "usd_per_day")["spent"], 2.0);
}

#[test]
fn a_second_settlement_gives_nothing_back() {
    let again = json!({"line": "settle", "id": "r-9/1", "at": "2026-11-18T00:00:00Z", "usd": 0.0, "tokens": 0,
        "known": true});
    let log = format!("{}{again}\n", spent("r-9", "2026-11-18T00:00:00Z"));
    let sandbox = office().bytes(LOG, log.as_bytes());
    assert_eq!(row(&sandbox, "department business", "usd_per_day")["spent"], 2.0);
}

#[test]
fn tokens_that_are_not_reported_are_unknown_and_count_at_the_worst() {
    let sandbox = office();
    let free = "worst_case_usd = 0.0\nworst_case_output_tokens = 1000\n[budget.organisation]";
    budget(&sandbox, "department", "tokens_per_day = 1000000");
    let text = sandbox.read(".harness/org.toml").replacen("[budget.organisation]", free, 1);
    crate::sandbox::write(&sandbox.root().join(".harness/org.toml"), text.as_bytes());
    let reply = "#usage 0 0 none\nNothing is to be done.\n\n```actions NONCE\n[]\n```\n";
    step(&sandbox.clone().reply(reply), "rd").any_stdout().any_stderr();
    let used = row(&sandbox, "department rd", "tokens_per_day");
    let tokens = used["spent"].as_f64().unwrap();
    assert!(tokens > 1000.0 && used["unknown"] == used["spent"], "{used}");
    step(&sandbox.clone().reply(IDLE), "rd").any_stdout().any_stderr();
    let used = row(&sandbox, "department rd", "tokens_per_day");
    assert_eq!(
        (used["spent"].as_f64().unwrap(), used["unknown"].as_f64().unwrap()),
        (tokens + 110.0, tokens)
    );
    let table = done(&sandbox, &["budget", "rd"]);
    assert!(table.contains("what is UNKNOWN counts at the declared worst case"), "{table}");
}

#[test]
fn every_limit_of_a_project_and_a_directive_is_shown_with_what_it_cost() {
    let sandbox = office();
    let about =
        done(&sandbox, &["directive", "add", "--title", "Go", "--body", "Go on.", "--budget-usd", "9"]);
    let id = about.trim();
    budget(&sandbox, "directive", "usd_per_run = 4.0\nusd_per_week = 7.0");
    let log = spent("r-9", "2026-11-18T00:00:00Z").replace("d-1", id);
    let sandbox = sandbox.bytes(LOG, log.as_bytes());
    let scope = format!("directive {id}");
    let used = |limit: &str| row(&sandbox, &scope, limit);
    assert_eq!(
        (used("usd_per_week")["spent"].clone(), used("usd_per_week")["left"].clone()),
        (json!(2.0), json!(5.0))
    );
    assert_eq!(used("budget_usd")["left"], 7.0);
    let table = done(&sandbox, &["budget"]);
    let of_it = table.split(&format!("{scope}\n")).nth(1).unwrap_or_default();
    let line = |limit: &str| of_it.lines().find(|line| line.contains(limit)).unwrap_or_default().to_owned();
    assert!(line("budget_usd").ends_with("for good") && line("usd_per_run").ends_with("each run"), "{table}");
    let cost = data(&sandbox, &["budget"])["spent"].clone();
    assert!(
        cost.as_array().unwrap().iter().any(|one| one["scope"] == scope && one["cost_usd"] == 2.0),
        "{cost}"
    );
}

/// A job takes the money of the directive and the project that led to it, whichever the action names.
#[test]
fn a_job_is_paid_by_the_directive_and_project_that_led_to_it() {
    let sandbox = office();
    let about =
        done(&sandbox, &["directive", "add", "--title", "Go", "--body", "Go on.", "--budget-usd", "2"]);
    let id = about.trim().to_owned();
    let pipelines = "[pipelines.touch]\ncommand = [\"/usr/bin/touch\", \"touched\"]\nworst_case_usd = 1.5\nworst_case_tokens = 77\n";
    let text = format!("{}\n{pipelines}", sandbox.read(".harness/org.toml"));
    let sandbox = sandbox.bytes(".harness/org.toml", text.as_bytes());
    let sandbox = crate::office::rule(sandbox, "business", "actions = [\"dispatch\"]", "actions = []");
    let sandbox = delivered(sandbox, ABOUT, &format!("provenance: department\ndirective: {id}\n"));
    let dispatch =
        crate::office::action("dispatch", json!({"pipeline": "touch", "args": {}, "confidence": 90}));
    let answer = crate::office::answer(&[dispatch]);
    let run = |at: &str| {
        let sandbox = sandbox.clone().now(at).reply(&answer);
        sandbox.start(&["run-director", "business", "--role", "worker", "--message", ABOUT]).finish().parts()
    };
    let (status, stdout, stderr) = run("2026-11-18T00:42:01Z");
    assert_eq!(status, 0, "{stdout}{stderr}");
    assert!(sandbox.exists("org-business/touched"), "{stderr}");
    let spent = data(&sandbox, &["budget"])["spent"].clone();
    let of_it = spent
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["scope"] == format!("directive {id}"))
        .unwrap()
        .clone();
    assert_eq!((of_it["unknown_usd"].clone(), of_it["runs"].clone()), (json!(1.5), json!(2)), "{of_it}");
    assert!(sandbox.read(LOG).contains("\"tokens\":77,\"known\":false"));
    std::fs::remove_file(sandbox.root().join("org-business/touched")).unwrap();
    let (_, stdout, stderr) = run("2026-11-18T00:42:02Z");
    assert!(
        format!("{stdout}{stderr}").contains(&format!("budget_usd of directive {id} is 2")),
        "{stdout}{stderr}"
    );
    assert!(!sandbox.exists("org-business/touched"));
}

const RACERS: usize = 64;

/// A log that takes a while to read, so that whoever reads it without holding the lock meets the others.
fn long_log() -> String {
    let line = |number: usize| {
        let reserve = json!({"line": "reserve", "id": format!("x/{number}"), "at": "2026-11-18T00:00:00Z", "dept": "x",
            "run": "x", "project": null, "directive": null, "usd": 0.0, "tokens": 0, "runs": 0});
        format!("{reserve}\n")
    };
    (0..3_000).map(line).collect()
}

#[test]
fn many_processes_that_race_for_the_last_dollar_spend_it_once() {
    let names: Vec<String> = (0..RACERS).map(|number| format!("d{number}")).collect();
    let sandbox = Sandbox::new().apart();
    let init: Vec<&str> = std::iter::once("init").chain(names.iter().map(String::as_str)).collect();
    done(&sandbox, &init);
    budget(&sandbox, "organisation", "usd_per_day = 1.0");
    let sandbox = sandbox.bytes(LOG, long_log().as_bytes());
    let reply = IDLE.replace("0.5", "1.0");
    let sandbox = (0..RACERS).fold(sandbox, |sandbox, _| sandbox.reply(&reply));
    let start = |name: &String| sandbox.start(&["run-director", "--role", "worker", name]);
    let racing: Vec<Running> = names.iter().map(start).collect();
    let ended: Vec<i32> = racing.into_iter().map(|running| running.finish().parts().0).collect();
    let count = |status: i32| ended.iter().filter(|ended| **ended == status).count();
    assert_eq!((count(0), count(3), sandbox.calls().len()), (1, RACERS - 1, 1), "{ended:?}");
    assert_eq!(row(&sandbox, "organisation", "usd_per_day")["left"], 0.0);
}
