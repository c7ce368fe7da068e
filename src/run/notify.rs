//! Telling the human: their own command gets JSON on stdin. Alike ones once in 30 minutes; one that fails harms nothing.
//!
//! What is to be told is kept until the department's lock is released, so that a notifier that hangs holds up nobody
//! who waits for the department; and after one that hung, no other is tried in the same run.

use super::Shop;
use crate::domain::event::Event;
use crate::domain::front_matter::parse_front_matter;
use crate::domain::plan::{Effect, Planned};
use crate::domain::request::{RequestKind, headline};
use crate::domain::text::one_line;
use crate::domain::time::render_rfc3339;
use crate::process::child::{self, ChildSpec, Flow, How, Limits};
use crate::process::find::find_program;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// How long a notifier may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Within this time an alike notification is not sent again.
const QUIET_SECONDS: i64 = 30 * 60;

/// What the human is told.
#[derive(Clone, Debug)]
pub struct Notice {
    /// `approval`, `question`, `escalation`, `trip` or `failure`.
    pub kind: &'static str,
    pub id: String,
    pub text: String,
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
            // Two messages may be handed over for one reason: both are told.
            let front = parse_front_matter(text).ok().and_then(|split| split.front);
            let about = front.as_ref().and_then(|front| front.text("about")).unwrap_or_default();
            let text = one_line(body, 500);
            let alike = format!("{kind} {} {about} {text}", self.department.dept);
            let text = in_words(body).unwrap_or(text);
            self.notify(Notice { kind, id: id.to_string(), text, command, alike });
        }
    }

    /// Keeps what the human is to be told until [`Shop::send_notices`].
    pub(super) fn notify(&self, notice: Notice) {
        if self.settings.notify.is_some() {
            self.notices.borrow_mut().push(notice);
        }
    }

    /// Runs the user's notifier for all that is to be told. Nobody's lock is held, and nothing depends on it: whatever
    /// goes wrong is said and forgotten.
    pub fn send_notices(&self) {
        let notices = self.notices.take();
        let Some(notify) = &self.settings.notify else { return };
        for (number, notice) in notices.iter().enumerate() {
            match self.org.stamp_notice(&notice.alike, (self.now)(), QUIET_SECONDS) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    self.tell(&Event::Notice(&format!("no notification: {error}")));
                    continue;
                }
            }
            match self.run_notifier(&notify.command, notice) {
                Ok(()) => {}
                Err(Failed::Hangs(why)) => {
                    let left = match notices.len() - number - 1 {
                        0 => String::new(),
                        left => format!("; {left} more of this run are not sent"),
                    };
                    return self.tell(&Event::Notice(&format!("the notifier failed: {why}{left}")));
                }
                Err(Failed::Other(why)) => self.tell(&Event::Notice(&format!("the notifier failed: {why}"))),
            }
        }
    }

    fn run_notifier(&self, command: &[String], notice: &Notice) -> Result<(), Failed> {
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let (name, args) =
            command.split_first().ok_or_else(|| Failed::Other("its command is empty".into()))?;
        let program = find_program(OsStr::new(name), OsStr::new(path))
            .ok_or_else(|| Failed::Other(format!("`{name}` is not on PATH")))?;
        let document = json!({
            "schema": "harness.notice/1",
            "kind": notice.kind,
            "dept": self.department.dept,
            "id": notice.id,
            "text": self.redactor.mask(&notice.text),
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
            .map_err(|error| Failed::Other(error.to_string()))?;
        match (ended.how, ended.code) {
            (How::Exited, Some(0)) => Ok(()),
            (How::Exited, Some(code)) => Err(Failed::Other(format!("it exited with {code}"))),
            (how, _) => Err(Failed::Hangs(format!("it was ended: {how:?}"))),
        }
    }
}

/// What an approval asks for, and why, without the action as it is written; nothing of what asks for none.
fn in_words(body: &str) -> Option<String> {
    let (reasoning, exact) = body.rsplit_once("\n\n```json\n")?;
    let action = serde_json::from_str(exact.rsplit_once("\n```")?.0).ok()?;
    Some(one_line(&format!("{}: {}", headline(&action), reasoning.trim()), 500))
}

/// Why a notification didn't get through.
enum Failed {
    /// It took its whole time, and would again.
    Hangs(String),
    Other(String),
}

/// What a text is about, without the numbers in it: two failures that differ in a time or a count are alike.
pub(super) fn subject(text: &str) -> String {
    one_line(&text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>(), 200)
}
