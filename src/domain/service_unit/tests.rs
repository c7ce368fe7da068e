//! What each target's file says, to the byte where it matters, and what is refused.

use super::*;

fn dept() -> Dept {
    Dept::parse("business").unwrap()
}

fn surroundings(root: &str) -> Surroundings {
    Surroundings {
        program: "/usr/local/bin/harness".into(),
        root: root.into(),
        home: "/home/u".into(),
        user: "u".into(),
        logname: "u".into(),
        path: "/opt/claude/bin:/usr/bin:/bin".into(),
        config_home: None,
    }
}

fn text(target: Target, root: &str, ending: &str) -> String {
    let units = render_units(target, &surroundings(root), &[dept()]).unwrap();
    units.into_iter().find(|unit| unit.name.ends_with(ending)).unwrap().text
}

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found.trim() == line), "no line `{line}` in:\n{text}");
}

#[test]
fn systemd_has_a_service_a_timer_and_a_path_unit() {
    let names: Vec<String> = render_units(Target::Systemd, &surroundings("/srv/org"), &[dept()])
        .unwrap()
        .into_iter()
        .map(|unit| unit.name)
        .collect();
    let id = organisation_id("/srv/org");
    assert_eq!(names, ["service", "timer", "path"].map(|ending| format!("harness-business-{id}.{ending}")));
    let service = text(Target::Systemd, "/srv/org", ".service");
    has(&service, "ExecStart=/usr/local/bin/harness --root /srv/org tick business");
    has(&service, "WorkingDirectory=/srv/org");
    has(&service, "Environment=\"PATH=/opt/claude/bin:/usr/bin:/bin\"");
    for line in ["StartLimitIntervalSec=0", "Type=oneshot", "Nice=10", "Environment=\"HOME=/home/u\""] {
        has(&service, line);
    }
    has(&service, "StandardError=append:/srv/org/.harness/logs/business.log");
    has(&text(Target::Systemd, "/srv/org", ".timer"), "OnUnitActiveSec=30s");
    let path = text(Target::Systemd, "/srv/org", ".path");
    has(&path, "PathChanged=/srv/org/org-business/inbox");
    has(&path, "StartLimitIntervalSec=0");
    has(&path, "TriggerLimitIntervalSec=0");
}

#[test]
fn systemd_expands_nothing_of_a_path() {
    let service = text(Target::Systemd, "/srv/50% \"of\" $HOME\\x", ".service");
    has(&service, r#"ExecStart=:/usr/local/bin/harness --root "/srv/50%% \"of\" $HOME\\x" tick business"#);
    has(&service, r#"WorkingDirectory=/srv/50%% "of" $HOME\x"#);
    has(&text(Target::Systemd, "/srv/a%i b", ".path"), "PathChanged=/srv/a%%i b/org-business/inbox");
}

#[test]
fn launchd_pulses_at_load_by_the_clock_and_by_mail() {
    let plist = text(Target::Launchd, "/srv/org", ".plist");
    for line in ["<key>StartInterval</key>", "<integer>30</integer>", "<key>RunAtLoad</key>", "<true/>"] {
        has(&plist, line);
    }
    has(&plist, "<string>/srv/org/org-business/inbox</string>");
    let plist = text(Target::Launchd, "/srv/<a> & 'b'", ".plist");
    has(&plist, "<string>/srv/&lt;a&gt; &amp; &apos;b&apos;</string>");
}

#[test]
fn cron_pulses_every_minute_and_says_so() {
    let units = render_units(Target::Cron, &surroundings("/srv/org"), &[dept()]).unwrap();
    let text = &units[0].text;
    has(text, "# A pulse every 60 s: cron knows no shorter time.");
    has(
        text,
        "* * * * * cd /srv/org && env HOME=/home/u USER=u LOGNAME=u PATH=/opt/claude/bin:/usr/bin:/bin \
         HARNESS_SERVICE=cron nice -n 10 /usr/local/bin/harness --root /srv/org tick business \
         >>/srv/org/.harness/logs/business.log 2>&1",
    );
    let units = render_units(Target::Cron, &surroundings("/srv/it's 5\\% $x"), &[dept()]).unwrap();
    assert!(units[0].text.contains(r"cd '/srv/it'\''s 5\''\% $x' &&"), "{}", units[0].text);
}

#[test]
fn a_crontab_keeps_what_is_not_ours() {
    let mine = "MAILTO=me\n0 1 * * * /usr/bin/true\n";
    let block = render_units(Target::Cron, &surroundings("/srv/org"), &[dept()]).unwrap().remove(0).text;
    let other = render_units(Target::Cron, &surroundings("/srv/other"), &[dept()]).unwrap().remove(0).text;
    let all = format!("{mine}{block}{other}# end\n");
    assert_eq!(block_of(&all, "/srv/org").as_deref(), Some(block.as_str()));
    assert_eq!(without_block(&all, "/srv/org"), format!("{mine}{other}# end\n"));
    assert_eq!(without_block(mine, "/srv/org"), mine);
    let cut = block.lines().next().unwrap().to_string() + "\n0 1 * * * /usr/bin/mine\n";
    assert_eq!(without_block(&cut, "/srv/org"), cut);
}

#[test]
fn what_no_unit_can_say_is_refused() {
    let check = |root: &str, part: &str| {
        for target in [Target::Systemd, Target::Launchd, Target::Cron] {
            let fault = render_units(target, &surroundings(root), &[dept()]).unwrap_err().to_string();
            assert!(fault.contains(part), "{fault}");
        }
    };
    check("/srv/a\nExecStartPre=/bin/evil", "a line end or another control character");
    check("/srv/a\u{7}", "control character");
    check("/srv/a\u{85}b", "control character");
    check("/srv/a\u{ffff}b", "no XML may hold");
    check("/srv/a\\", "ends in a backslash or a space");
    check("/srv/a ", "ends in a backslash or a space");
    check("srv/a", "is not absolute");
    check("", "it is empty");
    let mut bad = surroundings("/srv");
    bad.path = "/bin:.:/usr/bin".into();
    assert!(
        render_units(Target::Systemd, &bad, &[dept()]).unwrap_err().to_string().contains("a folder of it")
    );
    let long = format!("/{}", "d".repeat(300));
    let fault = render_units(Target::Cron, &surroundings(&long), &[dept()]).unwrap_err();
    assert!(matches!(fault, UnitFault::CronLineTooLong { .. }), "{fault}");
}

#[test]
fn files_are_known_by_their_names() {
    for target in [Target::Systemd, Target::Launchd] {
        for unit in render_units(target, &surroundings("/srv/org"), &[dept()]).unwrap() {
            assert_eq!(department_of(target, "/srv/org", &unit.name), Some(dept()), "{}", unit.name);
            assert_eq!(department_of(target, "/srv/other", &unit.name), None);
        }
    }
    assert_eq!(department_of(Target::Systemd, "/srv/org", "harness-business.service"), None);
    assert_eq!(department_of(Target::Systemd, "/srv/org", "other.timer"), None);
}

#[test]
fn the_folder_of_the_key_is_named_where_it_is_not_the_usual_one() {
    let mut around = surroundings("/srv/org");
    around.config_home = Some("/home/u/cfg".into());
    for target in [Target::Systemd, Target::Launchd, Target::Cron] {
        let text = render_units(target, &around, &[dept()]).unwrap().remove(0).text;
        assert!(text.contains("XDG_CONFIG_HOME") && text.contains("/home/u/cfg"), "{text}");
        let text = render_units(target, &surroundings("/srv/org"), &[dept()]).unwrap().remove(0).text;
        assert!(!text.contains("XDG_CONFIG_HOME"), "{text}");
    }
    around.config_home = Some("cfg".into());
    assert!(render_units(Target::Cron, &around, &[dept()]).is_err());
}
