//! The system's tools, as scripts that write down what they were asked.

use crate::sandbox::{Sandbox, write};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

const NOTE: &str = "state=$HOME/.tools; mkdir -p \"$state/on\"; echo \"${0##*/} $*\" >>\"$state/log\"\n";

const SYSTEMCTL: &str = r#"
if [ -f "$state/systemctl-fails" ]; then cat "$state/systemctl-fails" >&2; exit 1; fi
shift; verb=$1; shift
case $verb in
restart) [ -f "$state/restart-does-nothing" ] || for unit; do : >"$state/on/$unit"; done ;;
disable) shift; for unit; do rm -f "$state/on/$unit"; done ;;
show)
  shift
  for unit; do
    load=not-found; active=inactive; result=success
    [ -f "$HOME/.config/systemd/user/$unit" ] && load=loaded
    [ -f "$state/on/$unit" ] && active=active
    if [ "$(cat "$state/failing" 2>/dev/null)" = "$unit" ]; then active=failed; result=exit-code; fi
    printf 'Id=%s\nLoadState=%s\nActiveState=%s\nResult=%s\n\n' "$unit" $load $active $result
  done ;;
esac
"#;

const LOGINCTL: &str = r#"
case $1 in
show-user) echo "Linger=$(cat "$state/linger" 2>/dev/null || echo no)" ;;
enable-linger) [ -f "$state/linger-refused" ] && { echo 'Access denied' >&2; exit 1; }; echo yes >"$state/linger" ;;
disable-linger) rm -f "$state/linger" ;;
esac
"#;

const ANALYZE: &str = r#"
if [ -f "$state/analyze-complains" ]; then
  for last; do :; done
  echo "$last:6: Unknown key 'X' in section [Path], ignoring." >&2
fi
exit 0
"#;

const CRONTAB: &str = r#"
[ -f "$state/crontab-fails" ] && { echo 'cannot open your crontab' >&2; exit 1; }
case $1 in
-l) [ -f "$state/crontab" ] || { echo 'no crontab for tester' >&2; exit 1; }; cat "$state/crontab" ;;
-r) rm "$state/crontab" ;;
-) cat >"$state/crontab" ;;
esac
"#;

const LAUNCHCTL: &str = r#"
case $1 in
bootstrap) name=${3##*/}; : >"$state/on/${name%.plist}" ;;
bootout) name=${2##*/}; [ -f "$state/on/$name" ] || { echo 'No such process' >&2; exit 3; }; rm "$state/on/$name" ;;
print)
  name=${2##*/}; [ -f "$state/on/$name" ] || { echo 'Could not find service' >&2; exit 113; }
  printf 'gui/1/x = {\n\tstate = not running\n\tlast exit code = 0\n}\n' ;;
esac
"#;

const PLUTIL: &str =
    "[ -f \"$state/plutil-fails\" ] && { echo 'Unexpected character' >&2; exit 1; }\necho OK\n";

/// A sandbox with all of them.
pub fn machine() -> Sandbox {
    let sandbox = Sandbox::new().apart();
    for (name, text) in [
        ("systemctl", SYSTEMCTL),
        ("loginctl", LOGINCTL),
        ("systemd-analyze", ANALYZE),
        ("crontab", CRONTAB),
        ("launchctl", LAUNCHCTL),
        ("plutil", PLUTIL),
    ] {
        executable(&sandbox.dir().join("bin").join(name), &format!("#!/bin/sh\n{NOTE}{text}"));
    }
    sandbox
}

/// Puts a script in the place of a program of the sandbox's `bin`.
pub fn script(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.dir().join("bin").join(name);
    fs::remove_file(&path).unwrap();
    executable(&path, &format!("#!/bin/sh\n{text}"));
}

pub fn executable(path: &Path, text: &str) {
    write(path, text.as_bytes());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub fn set(sandbox: &Sandbox, name: &str, text: &str) {
    write(&sandbox.home().join(".tools").join(name), text.as_bytes());
}

pub fn unset(sandbox: &Sandbox, name: &str) {
    fs::remove_file(sandbox.home().join(".tools").join(name)).unwrap();
}

pub fn get(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.home().join(".tools").join(name)).unwrap()
}

/// The same, or nothing where there is none.
pub fn read(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.home().join(".tools").join(name)).unwrap_or_default()
}

/// What the tools were asked so far, a line each.
pub fn asked(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join(".tools/log")).unwrap_or_default()
}

/// Everything in the home but what the tools keep, sorted.
pub fn home_files(sandbox: &Sandbox) -> Vec<String> {
    let home = sandbox.home();
    let entries = walkdir::WalkDir::new(&home).min_depth(1).sort_by_file_name().into_iter();
    let names = entries.map(|entry| entry.unwrap().path().strip_prefix(&home).unwrap().display().to_string());
    names.filter(|name| !name.starts_with(".tools") && !name.starts_with(".fake")).collect()
}

/// A pulse at this time.
pub fn pulse(sandbox: &Sandbox, at: &str) {
    let time = chrono::DateTime::parse_from_rfc3339(at).unwrap().timestamp();
    let path = sandbox.root().join(".harness/alive");
    write(&path, b"");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(time).unwrap());
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}
