//! What `harness top` shows and what its keys do.

use super::app::{App, Result};
use super::{approvals, pause, questions, stop};
use crate::domain::request::RequestKind;
use crate::domain::text::{one_line, visible};
use crate::domain::time::{Time, parse_rfc3339, render_age};
use crate::error::CommandError;
use crate::process::interrupt::Interrupt;
use crate::run::survey::{DeptView, Need, Survey, Surveyor, Tone};
use crate::store::org::Org;
use crate::ui::top::{DeptLine, Focus, Key, Popup, Screen, Tint, View};
use crate::ui::{Answer, Ui};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long a key is waited for at a time, so that a signal is noticed.
const GLANCE: Duration = Duration::from_millis(100);
const OUTPUT: u64 = 32 * 1024;

/// What a window over the rest is for.
enum Asking {
    /// Whether to approve this.
    Approve(String),
    /// Why to reject this.
    Reject(String),
    Answer(String),
    Resolve(String),
    /// Why to pause this department.
    Pause(String),
}

struct Top<'a> {
    app: &'a App<'a>,
    org: Org,
    survey: Survey,
    department: usize,
    need: usize,
    focus: Focus,
    said: String,
    asking: Option<(Asking, Popup)>,
}

pub fn watch(app: &App<'_>, every: Duration) -> Result<Answer> {
    let broken = |error: std::io::Error| CommandError::failed(format!("the terminal: {error}"));
    let interrupt = Interrupt::listen().map_err(broken)?;
    let org = app.org()?;
    let quiet = App { ctx: app.ctx, ui: Ui { quiet: true, ..app.ui }, root: app.root.clone() };
    let survey = survey(&quiet, &org)?;
    let mut top = Top {
        app: &quiet,
        org,
        survey,
        department: 0,
        need: 0,
        focus: Focus::Departments,
        said: String::new(),
        asking: None,
    };
    let mut screen = Screen::open().map_err(broken)?;
    let mut looked = Instant::now();
    loop {
        screen.draw(&top.view()).map_err(broken)?;
        let key = screen.key(GLANCE).map_err(broken)?;
        if interrupt.asked().is_some() || key.is_some_and(|key| top.press(key)) {
            drop(screen);
            return Ok(Answer::new("harness.top/1", json!({}), ""));
        }
        if key.is_some() || looked.elapsed() >= every {
            looked = Instant::now();
            // What can't be read this time may be next time.
            if let Ok(survey) = self::survey(&quiet, &top.org) {
                top.survey = survey;
            }
        }
    }
}

fn survey(app: &App<'_>, org: &Org) -> Result<Survey> {
    let surveyor = Surveyor {
        org,
        key: app.key().ok(),
        now: app.ctx.now(),
        path: app.ctx.variable("PATH").unwrap_or_default(),
    };
    Ok(surveyor.survey(None)?)
}

fn tint(tone: Tone) -> Tint {
    match tone {
        Tone::Good => Tint::Good,
        Tone::Bad => Tint::Bad,
        Tone::Waits => Tint::Waits,
        Tone::Busy => Tint::Busy,
        Tone::Plain => Tint::Plain,
    }
}

impl Top<'_> {
    fn view(&self) -> View {
        let now = self.app.ctx.now();
        let selected = self.selected();
        let (output_title, output) = selected.map(|view| self.output(view)).unwrap_or_default();
        View {
            head: self.head(now),
            open: self.survey.gate.is_open(),
            departments: self.survey.departments.iter().map(|view| line(view, now)).collect(),
            department: self.department,
            output_title,
            output,
            needs: self.survey.needs.iter().map(|need| need_line(need, now)).collect(),
            need: self.need,
            focus: self.focus,
            said: self.said.clone(),
            popup: self.asking.as_ref().map(|(_, popup)| popup.clone()),
        }
    }

    fn head(&self, now: Time) -> String {
        let usd = self.survey.spent.iter().find(|spent| spent.limit.key() == "usd_per_day");
        let today = usd.map(|spent| {
            format!("  today {:.2} of {:.2} USD", spent.used.spent + spent.used.reserved, spent.limit.most)
        });
        let pulse =
            self.survey.pulse.map_or("never".to_string(), |pulse| format!("{} ago", render_age(pulse, now)));
        let running: usize = self.survey.departments.iter().map(|view| view.live.len()).sum();
        format!(
            "harness  gate {}{}  pulse {pulse}  {running} running",
            self.survey.gate.words(),
            today.unwrap_or_default()
        )
    }

    fn selected(&self) -> Option<&DeptView> {
        self.survey.departments.get(self.department)
    }

    /// The output of the department's run, or how its last one ended.
    fn output(&self, view: &DeptView) -> (String, Vec<String>) {
        let dept = &view.dept;
        let text = self.org.department(dept).ok().flatten().map(|department| department.live_tail(OUTPUT));
        let lines = visible(text.unwrap_or_default().trim_end()).lines().map(str::to_string).collect();
        match view.live.first() {
            Some(run) => (format!("{dept}: {} of {}", run.role, run.run), lines),
            None => {
                let last =
                    view.last.first().map(|run| format!("{}: {}", run.outcome, one_line(&run.reason, 200)));
                let mut lines: Vec<String> = lines;
                lines.push(String::new());
                lines.push(last.unwrap_or_else(|| "no run yet".to_string()));
                (format!("{dept}: nothing runs; its last output"), lines)
            }
        }
    }

    /// What a key does; true where it is to end.
    fn press(&mut self, key: Key) -> bool {
        if key == Key::Interrupt {
            return true;
        }
        if let Some((asking, popup)) = self.asking.take() {
            self.press_asking(asking, popup, key);
            return false;
        }
        self.said.clear();
        match key {
            Key::Char('q') => return true,
            Key::Tab => {
                self.focus = if self.focus == Focus::Needs { Focus::Departments } else { Focus::Needs };
            }
            Key::Down | Key::Char('j') => self.step(1),
            Key::Up | Key::Char('k') => self.step(-1),
            Key::Char('s') => self.stop(),
            Key::Char('p') => self.pause(),
            Key::Char('a') | Key::Char('r') | Key::Enter => self.ask(key),
            // Only in a debug build: what a panic leaves of the terminal is tested with it.
            Key::Char('!') if cfg!(debug_assertions) => panic!("asked for by a test"),
            _ => {}
        }
        false
    }

    fn step(&mut self, by: isize) {
        let (place, count) = match self.focus {
            Focus::Departments => (&mut self.department, self.survey.departments.len()),
            Focus::Needs => (&mut self.need, self.survey.needs.len()),
        };
        *place = place.saturating_add_signed(by).min(count.saturating_sub(1));
    }

    fn stop(&mut self) {
        let Some(dept) = self.selected().map(|view| view.dept.to_string()) else { return };
        self.said = told(stop::stop_one(self.app, &dept));
    }

    fn pause(&mut self) {
        let Some(view) = self.selected() else { return };
        let (dept, paused) = (view.dept.to_string(), view.paused);
        if paused {
            self.said = told(pause::resume_one(self.app, &dept));
            return;
        }
        let title = format!("Pause {dept}");
        let text = "Its runs are refused until it is resumed; mail still arrives. Why?".to_string();
        self.asking = Some((Asking::Pause(dept), typed(title, text)));
    }

    /// Opens a window about what is selected among the needs.
    fn ask(&mut self, key: Key) {
        let Some(need) = self.survey.needs.get(self.need).filter(|_| self.focus == Focus::Needs).cloned()
        else {
            self.said = "tab goes to what needs you; then a approves, r rejects, enter looks".to_string();
            return;
        };
        let Some((id, kind)) = need.id.clone().and_then(|id| Some((id.clone(), RequestKind::of_id(&id)?)))
        else {
            self.said = format!("deal with it by: {}", one_line(&need.command, 200));
            return;
        };
        let what = one_line(&need.what, 400);
        self.asking = match (kind, key) {
            (RequestKind::Approval, Key::Char('r')) => Some((
                Asking::Reject(id.clone()),
                typed(format!("Reject {id}"), format!("{what}\n\nWhy not?")),
            )),
            (RequestKind::Approval, _) => {
                let text = approvals::exact(self.app, &id).unwrap_or_else(|error| error.cause.to_string());
                let keys = "y approve   n leave it".to_string();
                let popup = Popup {
                    title: format!("Approve {id}?"),
                    text: visible(&text).into_owned(),
                    input: None,
                    keys,
                };
                Some((Asking::Approve(id), popup))
            }
            (RequestKind::Question, _) => {
                Some((Asking::Answer(id.clone()), typed(format!("Answer {id}"), what)))
            }
            (RequestKind::Escalation, _) => Some((
                Asking::Resolve(id.clone()),
                typed(format!("Resolve {id}"), format!("{what}\n\nWhat did you decide?")),
            )),
        };
    }

    fn press_asking(&mut self, asking: Asking, mut popup: Popup, key: Key) {
        match (&mut popup.input, key) {
            (_, Key::Escape) => return,
            (None, Key::Char('y')) => {
                self.carry_out(&asking, "approved");
                return;
            }
            (None, Key::Char('n' | 'q')) => return,
            (Some(input), Key::Enter) if !input.trim().is_empty() => {
                let text = input.trim().to_string();
                self.carry_out(&asking, &text);
                return;
            }
            (Some(input), Key::Char(c)) => input.push(c),
            (Some(input), Key::Backspace) => drop(input.pop()),
            _ => {}
        }
        self.asking = Some((asking, popup));
    }

    fn carry_out(&mut self, asking: &Asking, text: &str) {
        self.said = told(match asking {
            Asking::Approve(id) => approvals::approve_one(self.app, id, text),
            Asking::Reject(id) => approvals::reject_one(self.app, id, text),
            Asking::Answer(id) => questions::close(self.app, RequestKind::Question, id, text),
            Asking::Resolve(id) => questions::close(self.app, RequestKind::Escalation, id, text),
            Asking::Pause(dept) => pause::pause_one(self.app, dept, text),
        });
    }
}

fn typed(title: String, text: String) -> Popup {
    Popup { title, text, input: Some(String::new()), keys: "enter sends it   esc leaves it".to_string() }
}

/// What a command said, on one line.
fn told(answer: Result<Answer>) -> String {
    match answer {
        Ok(answer) => one_line(&answer.text, 300),
        Err(error) => format!("error: {}", one_line(&error.cause.to_string(), 300)),
    }
}

fn line(view: &DeptView, now: Time) -> DeptLine {
    let (word, tone) = view.state(now);
    let last = view.last.first().map(|run| {
        let age = parse_rfc3339(&run.at).map(|at| format!(" {}", render_age(at, now))).unwrap_or_default();
        format!("{}{age}", run.outcome)
    });
    let [todo, doing, review] = view.board;
    DeptLine {
        name: view.dept.to_string(),
        state: (word, tint(tone)),
        mail: view.open.to_string(),
        board: if todo + doing + review == 0 { "-".to_string() } else { format!("{todo}/{doing}/{review}") },
        last: last.unwrap_or_else(|| "never".to_string()),
        share: view.spent.iter().map(crate::run::survey::Spent::share).fold(0.0, f64::max),
    }
}

fn need_line(need: &Need, now: Time) -> (String, String) {
    let age = need.since.map(|since| render_age(since, now)).unwrap_or_default();
    let dept = if need.dept.is_empty() { String::new() } else { format!("{}: ", need.dept) };
    (age, format!("{dept}{}", one_line(&need.what, 300)))
}
