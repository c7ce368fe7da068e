//! `harness service`: what it writes, what it asks of the system's tools, and that it leaves nothing.
//!
//! systemctl, loginctl, crontab, launchctl, plutil and systemd-analyze are scripts in the sandbox's `bin`. Each writes
//! down what it was asked into `~/tools.log`, keeps a little state in the home, and fails where a test says so. No test
//! here reaches the real ones but the two that say so, and those only have files checked.

mod pulses;
mod real;
pub mod tools;

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use std::fs;
use tools::{asked, home_files, machine};

fn service(sandbox: &Sandbox, line: &str) -> Run {
    let words: Vec<&str> = ["service"].into_iter().chain(line.split(' ')).collect();
    // What will be done is shown on stderr; a test that cares compares it.
    sandbox.start(&words).finish().any_stderr()
}

fn units(sandbox: &Sandbox) -> Vec<String> {
    let home = home_files(sandbox);
    home.into_iter().filter(|name| name.contains("systemd/user/") || name.contains("LaunchAgents/")).collect()
}

#[test]
fn install_places_starts_and_proves_and_uninstall_leaves_nothing() {
    let sandbox = machine().dept("rd").dept("support");
    let before = (home_files(&sandbox), sandbox.tree(".harness"));
    let run = service(&sandbox, "install --target systemd --yes");
    run.stdout(
        "passed   engine claude: [DIR]/bin/claude: 2.1.326 (Claude Code)
passed   verified: systemd-analyze takes 6 units
passed   placed: 6 units in [HOME]/.config/systemd/user
passed   started: 2 timers wait
passed   survives logout: lingering is on now
Installed. To take it away: harness service uninstall
autoLoop is off in rd, support, so nothing runs there yet. To let one run: harness config set rd autoLoop true
",
    );
    assert_eq!(units(&sandbox).len(), 6);
    let asked = asked(&sandbox);
    assert!(asked.contains("systemctl --user daemon-reload\n"), "{asked}");
    assert!(asked.contains("systemctl --user restart harness-rd-"), "{asked}");
    let enabled = asked.lines().find(|line| line.contains(" enable ")).unwrap();
    assert!(!enabled.contains(".service"), "only timers and paths are enabled: {enabled}");
    assert!(asked.contains("loginctl enable-linger tester\n"), "{asked}");
    assert!(sandbox.read(".harness/audit.jsonl").contains("service install"));
    let log = sandbox.root().join(".harness/logs/rd.log");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);

    service(&sandbox, "uninstall --yes").any_stdout();
    let after = (home_files(&sandbox), sandbox.tree(".harness"));
    assert_eq!(after, before);
    let asked = tools::asked(&sandbox);
    assert!(asked.contains("systemctl --user disable --now harness-rd-"), "{asked}");
    assert!(asked.contains("systemctl --user stop harness-rd-"), "{asked}");
    assert!(asked.contains("loginctl disable-linger tester\n"), "{asked}");
    service(&sandbox, "uninstall --target systemd --yes").stdout("No service of systemd is installed.\n");
}

#[test]
fn nothing_is_installed_without_a_yes() {
    let sandbox = machine().dept("rd");
    let before = (home_files(&sandbox), sandbox.tree(".harness"));
    service(&sandbox, "install --target systemd").status(2).stderr(
        "error: this changes your system, and nobody is here to ask
hint: say `--yes`, or `--dry-run` to see what would be done
",
    );
    let run = service(&sandbox, "install --target systemd --dry-run");
    let text = run.take_stdout();
    assert!(text.ends_with("Nothing was touched.\n") && text.contains("harness-rd-"), "{text}");
    assert_eq!((home_files(&sandbox), sandbox.tree(".harness")), before);
    let asked = asked(&sandbox);
    assert!(!asked.contains("enable"), "{asked}");
}

#[test]
fn inside_a_run_nothing_is_installed() {
    let sandbox = machine().dept("rd").env("HARNESS_RUN", "");
    service(&sandbox, "install --target systemd --yes").status(3).any_stderr();
    service(&sandbox, "uninstall --target systemd --yes").status(3).any_stderr();
    assert_eq!(units(&sandbox), Vec::<String>::new());
}

#[test]
fn lingering_that_is_not_allowed_is_a_step_and_status_says_so() {
    let sandbox = machine().dept("rd");
    tools::set(&sandbox, "linger-refused", "");
    let run = service(&sandbox, "install --target systemd --yes");
    let text = run.take_stdout();
    assert!(
        text.contains(
            "not run  survives logout: it stops at logout until somebody with the right to gives this command: sudo loginctl enable-linger tester\n"
        ),
        "{text}"
    );
    let text = service(&sandbox, "status").take_stdout();
    assert!(text.contains("Logout: stops at logout"), "{text}");
    assert_eq!(service(&sandbox, "status --json").json()["data"]["survives_logout"], false);
    service(&sandbox, "uninstall --yes").any_stdout();
    assert!(!asked(&sandbox).contains("disable-linger"), "what it did not turn on it leaves");
}

#[test]
fn status_tells_installed_running_last_and_next() {
    let sandbox = machine().dept("rd").dept("support");
    let data = |sandbox: &Sandbox| service(sandbox, "status --target systemd --json").json()["data"].clone();
    let first = data(&sandbox);
    assert_eq!((&first["installed"], &first["last_pulse"]), (&false.into(), &serde_json::Value::Null));
    service(&sandbox, "install --target systemd --yes").any_stdout();
    tools::pulse(&sandbox, "2026-11-18T00:41:51Z");
    let now = data(&sandbox);
    assert_eq!(now["departments"][0]["running"], "waiting");
    assert_eq!(
        (&now["last_pulse"], &now["next_pulse"]),
        (&"2026-11-18T00:41:51Z".into(), &"2026-11-18T00:42:21Z".into())
    );
    assert_eq!(now["survives_logout"], true);
    assert_eq!(now["departments"][1]["last_look"], "2026-11-18T00:41:51Z");
    let text = service(&sandbox, "status").take_stdout();
    assert!(text.contains("LOOKED AT") && text.contains(" 10s ago "), "{text}");
    assert!(text.contains("Last pulse: 10s ago"), "{text}");

    let unit = units(&sandbox).into_iter().find(|name| name.ends_with(".service")).unwrap();
    tools::set(&sandbox, "failing", unit.rsplit('/').next().unwrap());
    fs::write(sandbox.root().join(".harness/logs/rd.log"), "error: one\nerror: two\n\n").unwrap();
    let failed = data(&sandbox)["departments"][0].clone();
    assert_eq!(failed["running"], "failed");
    assert_eq!(failed["detail"], "the last pulse failed: exit-code; it said: error: two");
    let path = sandbox.home().join(&unit);
    fs::write(&path, fs::read_to_string(&path).unwrap() + "# edited\n").unwrap();
    assert_eq!(data(&sandbox)["departments"][0]["installed"], "differs");
    let path = unit.replace(".service", ".path");
    tools::unset(&sandbox, &format!("on/{}", path.rsplit('/').next().unwrap()));
    let detail = data(&sandbox)["departments"][0]["detail"].as_str().unwrap().to_string();
    assert!(detail.contains("its path unit is inactive, so mail waits for the timer"), "{detail}");
}

#[test]
fn a_department_that_is_gone_leaves_no_unit() {
    for target in ["systemd", "launchd", "cron"] {
        for verb in ["uninstall", "install"] {
            let sandbox = machine().dept("rd").dept("support");
            service(&sandbox, &format!("install --target {target} --yes")).any_stdout();
            fs::remove_dir_all(sandbox.root().join("org-support")).unwrap();
            service(&sandbox, &format!("{verb} --yes")).any_stdout();
            let left = units(&sandbox).join(" ") + &tools::read(&sandbox, "crontab");
            assert_eq!((left.contains("support"), left.contains("rd")), (false, verb == "install"), "{left}");
        }
    }
}

#[test]
fn what_will_be_done_is_shown_first() {
    let sandbox = machine().dept("rd");
    let (_, _, stderr) = service(&sandbox, "install --target systemd --yes").parts();
    for part in
        ["every 30 s", "[HOME]/.config/systemd/user", "harness-rd-", "enable-linger", "PATH=[DIR]/bin:"]
    {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    let (_, _, stderr) = service(&sandbox, "uninstall --yes").parts();
    assert!(stderr.contains("stop the pulses of 1 departments (rd)"), "{stderr}");
}

#[test]
fn what_the_manager_refuses_is_taken_back() {
    let sandbox = machine().dept("rd");
    let before = home_files(&sandbox);
    tools::set(&sandbox, "systemctl-fails", "Failed to connect to bus");
    let run = service(&sandbox, "install --target systemd --yes --quiet").status(1);
    run.stderr(
        "error: `systemctl --user daemon-reload` failed: it exited with 1: Failed to connect to bus
hint: the user's systemd is not reachable from here: log in as this user (not with su or sudo), or choose `--target cron`
hint: nothing is installed now
",
    );
    tools::unset(&sandbox, "systemctl-fails");
    assert_eq!((home_files(&sandbox), sandbox.exists(".harness/service.json")), (before, false));
}

#[test]
fn units_that_do_not_start_are_no_success() {
    let sandbox = machine().dept("rd");
    tools::set(&sandbox, "restart-does-nothing", "");
    let run = service(&sandbox, "install --target systemd --yes").status(1);
    let (_, _, stderr) = run.parts();
    assert!(stderr.contains("systemd took the units and does not pulse: rd is stopped"), "{stderr}");
    assert_eq!(units(&sandbox), Vec::<String>::new());
}

#[test]
fn units_that_the_verifier_does_not_take_are_not_placed() {
    let sandbox = machine().dept("rd");
    tools::set(&sandbox, "analyze-complains", "");
    let run = service(&sandbox, "install --target systemd --yes").status(1);
    let (_, _, stderr) = run.parts();
    assert!(
        stderr.contains("systemd does not take the units: ") && stderr.contains("Unknown key"),
        "{stderr}"
    );
    assert_eq!(units(&sandbox), Vec::<String>::new());
    assert!(!asked(&sandbox).contains("systemctl"), "{}", asked(&sandbox));
}

#[test]
fn a_verifier_that_is_not_there_is_said() {
    let sandbox = machine().dept("rd").without_engine("codex");
    // The scripts' folder: this sandbox has no `mkdir`.
    tools::set(&sandbox, "on/none", "");
    fs::remove_file(sandbox.dir().join("bin/systemd-analyze")).unwrap();
    let text = service(&sandbox, "install --target systemd --yes").take_stdout();
    assert!(text.contains("not run  verified: there is no `systemd-analyze` here"), "{text}");
}

#[test]
fn the_path_is_the_one_in_which_the_engine_was_started() {
    let sandbox = machine().dept("rd");
    let text = service(&sandbox, "print --target systemd").take_stdout();
    let bin = sandbox.dir().join("bin").display().to_string();
    assert!(text.contains(&format!("Environment=\"PATH={bin}:/usr/local/bin:")), "{text}");
}

#[test]
fn the_proof_is_made_in_a_bare_environment() {
    let sandbox = machine().dept("rd").env("SECRET", "s").env("HARNESS_ROOT_COPY", "x");
    tools::script(
        &sandbox,
        "claude",
        "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sort >\"$HOME/engine-env\"\necho 9.9\n",
    );
    service(&sandbox, "print --target systemd").any_stdout();
    let env = fs::read_to_string(sandbox.home().join("engine-env")).unwrap();
    let names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    assert_eq!(names, ["HOME", "LOGNAME", "PATH", "USER"], "{env}");
}

#[test]
fn an_engine_whose_interpreter_is_elsewhere_gets_the_whole_path() {
    let sandbox = machine().dept("rd");
    let other = sandbox.dir().join("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink("/bin/sh", other.join("interpreter")).unwrap();
    let claude = sandbox.dir().join("bin/claude");
    fs::remove_file(&claude).unwrap();
    tools::executable(&claude, "#!/usr/bin/env interpreter\necho 1.2.3\n");
    let path = format!("{}:{}:/usr/bin:/bin", sandbox.dir().join("bin").display(), other.display());
    let sandbox = sandbox.env("PATH", path);
    let run = service(&sandbox, "print --target systemd --json");
    let data = run.json()["data"].clone();
    assert!(data["path"].as_str().unwrap().contains(&other.display().to_string()), "{data}");
    assert_eq!(data["checks"][0]["result"], "passed", "{data}");
}

#[test]
fn an_engine_that_does_not_start_stops_the_installation() {
    let sandbox = machine().dept("rd");
    tools::script(&sandbox, "claude", "echo 'node: not found' >&2\nexit 127\n");
    let run = service(&sandbox, "install --target systemd --yes").status(1);
    run.stderr(
        "error: nothing was installed: engine claude: [DIR]/bin/claude: it exited with 127: node: not found
hint: make it start in a bare environment, or name another engine in .harness/org.toml
",
    );
    assert_eq!(units(&sandbox), Vec::<String>::new());
    let text = service(&sandbox, "print --target systemd").any_stderr().take_stdout();
    assert!(text.contains("ExecStart="), "{text}");
}

#[test]
fn an_engine_that_is_nowhere_matters_where_it_is_the_only_one() {
    let sandbox = machine().dept("rd").without_engine("claude");
    let data = service(&sandbox, "print --target systemd --json").json()["data"].clone();
    assert_eq!(data["checks"][0]["result"], "not run", "{data}");
    let sandbox = sandbox.edit(".harness/org.toml", r#"["rules", "claude"]"#, r#"["claude"]"#);
    let run = service(&sandbox, "install --target systemd --yes").status(1);
    let (_, _, stderr) = run.parts();
    assert!(stderr.contains("`claude` is not on PATH, and a department has no other engine"), "{stderr}");
}

#[test]
fn launchd_is_linted_loaded_and_taken_out() {
    let sandbox = machine().dept("rd");
    let before = (home_files(&sandbox), sandbox.tree(".harness"));
    let text = service(&sandbox, "install --target launchd --yes").take_stdout();
    assert!(text.contains("passed   verified: plutil takes 1 agents\n"), "{text}");
    let asked = asked(&sandbox);
    assert!(asked.contains("plutil -lint "), "{asked}");
    assert!(asked.contains("launchctl bootstrap gui/"), "{asked}");
    let data = service(&sandbox, "status --json").json()["data"].clone();
    assert_eq!((&data["target"], &data["departments"][0]["running"]), (&"launchd".into(), &"waiting".into()));
    assert_eq!(data["survives_logout"], false);
    let text = service(&sandbox, "status").take_stdout();
    assert!(text.contains("stops at logout, and starts again at the next login"), "{text}");
    service(&sandbox, "uninstall --yes").any_stdout();
    let after: Vec<String> =
        home_files(&sandbox).into_iter().filter(|name| !name.starts_with("Library")).collect();
    assert_eq!((after, sandbox.tree(".harness")), before);
    assert!(tools::asked(&sandbox).contains("launchctl bootout gui/"));
}

#[test]
fn an_agent_that_plutil_refuses_is_not_placed() {
    let sandbox = machine().dept("rd");
    tools::set(&sandbox, "plutil-fails", "");
    service(&sandbox, "install --target launchd --yes").status(1).any_stderr();
    assert_eq!(units(&sandbox), Vec::<String>::new());
}

#[test]
fn cron_gets_lines_between_marks_and_keeps_the_rest() {
    let sandbox = machine().dept("rd").dept("support");
    let mine = "MAILTO=me\n0 1 * * * /usr/bin/true\n";
    tools::set(&sandbox, "crontab", mine);
    let text = service(&sandbox, "install --target cron --yes").take_stdout();
    assert!(text.contains("passed   verified: crontab -l shows them\n"), "{text}");
    let crontab = tools::get(&sandbox, "crontab");
    assert!(crontab.starts_with(mine) && crontab.matches(" tick ").count() == 2, "{crontab}");
    service(&sandbox, "install --yes").any_stdout();
    assert_eq!(tools::get(&sandbox, "crontab"), crontab, "installing twice changes nothing");
    let data = service(&sandbox, "status --json").json()["data"].clone();
    assert_eq!((&data["pulse_s"], &data["survives_logout"]), (&60.into(), &true.into()));
    assert_eq!(data["departments"][1]["installed"], "yes");
    service(&sandbox, "uninstall --yes").any_stdout();
    assert_eq!(tools::get(&sandbox, "crontab"), mine);
}

#[test]
fn a_crontab_of_ours_alone_is_removed_and_one_that_cannot_be_read_is_left() {
    let sandbox = machine().dept("rd");
    service(&sandbox, "install --target cron --yes").any_stdout();
    service(&sandbox, "uninstall --yes").any_stdout();
    assert!(asked(&sandbox).contains("crontab -r\n"));
    tools::set(&sandbox, "crontab-fails", "");
    let run = service(&sandbox, "install --target cron --yes").status(1);
    let (_, _, stderr) = run.parts();
    assert!(stderr.contains("the crontab can't be read"), "{stderr}");
    assert!(!asked(&sandbox).contains("crontab -\ncrontab -\n"), "{}", asked(&sandbox));
}

#[test]
fn one_scheduler_at_a_time() {
    let sandbox = machine().dept("rd");
    service(&sandbox, "install --target systemd --yes").any_stdout();
    service(&sandbox, "install --target cron --yes").status(1).stderr(
        "error: a service of systemd is installed already
hint: take it away first: `harness service uninstall --target systemd`
",
    );
}

#[test]
fn a_full_disk_installs_nothing() {
    let sandbox = machine().dept("rd");
    let full = sandbox.clone().env("HARNESS_TEST_FAULT", "fail-from:1:28");
    let run = service(&full, "install --target systemd --yes").status(1);
    let (_, _, stderr) = run.parts();
    assert!(stderr.contains("No space left on device"), "{stderr}");
    assert_eq!(units(&sandbox), Vec::<String>::new());
    assert!(!sandbox.exists(".harness/service.json"));
}

#[test]
fn a_path_that_no_unit_can_name_is_refused() {
    let sandbox = machine();
    let root = sandbox.dir().join("two\nlines");
    let sandbox = sandbox.env("HARNESS_ROOT", &root);
    sandbox.start(&["init", "rd"]).finish().any_stdout();
    for target in ["systemd", "launchd", "cron"] {
        let run = service(&sandbox, &format!("print --target {target} --json")).status(1);
        let error = run.json()["error"].clone();
        assert_eq!(error["code"], "bad_path", "{error}");
    }
}
