//! Telling the human: their own command gets JSON on stdin. Alike ones once in 30 minutes; one that fails harms nothing.

use super::Shop;
use crate::domain::event::Event;
use crate::domain::plan::{Effect, Planned};
use crate::domain::request::RequestKind;
use crate::domain::text::one_line;
use crate::domain::time::render_rfc3339;
use crate::process::child::{self, ChildSpec, Flow, How, Limits};
use crate::process::find::find_program;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// How long a notifier may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Within this time an alike notification is not sent again.
const QUIET_SECONDS: i64 = 30 * 60;

/// What the human is told.
pub struct Notice<'a> {
    /// `approval`, `question`, `escalation`, `trip` or `failure`.
    pub kind: &'a str,
    pub id: &'a str,
    pub text: &'a str,
    /// The command that deals with it.
    pub command: String,
    /// What makes two of them alike.
    pub alike: String,
}

impl Shop<'_> {
    /// Notifies of every request among some effects.
    pub(super) fn notify_of(&self, effects: &[Planned]) {
        for planned in effects {
            let Effect::Create { path, text } = &planned.effect else { continue };
            let Some((folder, file)) = path.split_once('/') else { continue };
            let id = file.trim_end_matches(".md");
            let body = text.rsplit("\n---\n").next().unwrap_or(text);
            let (kind, command) = match RequestKind::ALL.into_iter().find(|kind| kind.folder() == folder) {
                Some(RequestKind::Approval) => ("approval", format!("harness approvals show {id}")),
                Some(RequestKind::Question) => ("question", format!("harness questions answer {id} TEXT")),
                Some(RequestKind::Escalation) => {
                    ("escalation", format!("harness escalations resolve {id} --why TEXT"))
                }
                None => continue,
            };
            let text = one_line(body, 500);
            let alike = format!("{kind} {} {text}", self.department.dept);
            self.notify(&Notice { kind, id, text: &text, command, alike });
        }
    }

    /// Runs the user's notifier. Nothing depends on it: whatever goes wrong is said and forgotten.
    pub fn notify(&self, notice: &Notice<'_>) {
        let Some(notify) = &self.settings.notify else { return };
        match self.org.stamp_notice(&notice.alike, (self.now)(), QUIET_SECONDS) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.tell(&Event::Notice(&format!("no notification: {error}"))),
        }
        if let Err(why) = self.run_notifier(&notify.command, notice) {
            self.tell(&Event::Notice(&format!("the notifier failed: {why}")));
        }
    }

    fn run_notifier(&self, command: &[String], notice: &Notice<'_>) -> Result<(), String> {
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let (name, args) = command.split_first().ok_or("its command is empty")?;
        let program = find_program(OsStr::new(name), OsStr::new(path))
            .ok_or_else(|| format!("`{name}` is not on PATH"))?;
        let document = json!({
            "schema": "harness.notice/1",
            "kind": notice.kind,
            "dept": self.department.dept,
            "id": notice.id,
            "text": self.redactor.mask(notice.text),
            "command": notice.command,
            "at": render_rfc3339((self.now)()),
        });
        let passed = super::client::PASSED.iter().chain(&[
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "DBUS_SESSION_BUS_ADDRESS",
            "XDG_RUNTIME_DIR",
        ]);
        let mut env: Vec<(OsString, OsString)> = passed
            .filter_map(|name| {
                self.variables.get(*name).map(|value| (OsString::from(*name), OsString::from(value)))
            })
            .collect();
        // A mark of its own: what it leaves behind is ended with it, and nothing of the run is.
        env.push(("HARNESS_RUN".into(), format!("{}-notify", self.run_id).into()));
        let spec = ChildSpec {
            program,
            args: args.iter().map(OsString::from).collect(),
            env,
            cwd: self.department.dir.path().to_path_buf(),
            stdin: format!("{document}\n").into_bytes(),
            limits: Limits {
                start: PATIENCE,
                idle: PATIENCE,
                total: PATIENCE,
                after_result: PATIENCE,
                stdout_bytes: 64 * 1024,
                stderr_bytes: 64 * 1024,
            },
        };
        let ended = child::run(&self.guard, &spec, self.interrupt, &mut |_| Flow::Continue)
            .map_err(|error| error.to_string())?;
        match (ended.how, ended.code) {
            (How::Exited, Some(0)) => Ok(()),
            (How::Exited, Some(code)) => Err(format!("it exited with {code}")),
            (how, _) => Err(format!("it was ended: {how:?}")),
        }
    }
}
