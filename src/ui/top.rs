//! The live view in the terminal: drawing what it is told, and handing over keys. It decides nothing.
//!
//! The terminal is given back when the screen is dropped, and by a panic's hook before its message is shown. All text
//! that comes here was made visible before.

use super::bar::render_gauge;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, List, ListItem, ListState, Paragraph, Row, Table, TableState, Wrap};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::time::Duration;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Up,
    Down,
    Tab,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// How a word is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    Plain,
    Good,
    Bad,
    Waits,
    Busy,
}

/// Which list the keys move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    #[default]
    Departments,
    Needs,
}

/// A department's line.
#[derive(Clone, Debug)]
pub struct DeptLine {
    pub name: String,
    pub state: (String, Tint),
    pub mail: String,
    pub board: String,
    pub last: String,
    /// Of its day's budget.
    pub share: f64,
}

/// A window over the rest: what would happen, or a line to type.
#[derive(Clone, Debug)]
pub struct Popup {
    pub title: String,
    pub text: String,
    /// What was typed so far, where something is to be typed.
    pub input: Option<String>,
    pub keys: String,
}

/// Everything on the screen.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub head: String,
    pub open: bool,
    pub departments: Vec<DeptLine>,
    pub department: usize,
    pub output_title: String,
    pub output: Vec<String>,
    /// Age and words.
    pub needs: Vec<(String, String)>,
    pub need: usize,
    pub focus: Focus,
    /// What the last key came to.
    pub said: String,
    pub popup: Option<Popup>,
}

/// The terminal while it is ours.
pub struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    pub fn open() -> io::Result<Screen> {
        Ok(Screen { terminal: ratatui::try_init()? })
    }

    pub fn draw(&mut self, view: &View) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, view)).map(|_| ())
    }

    /// The next key, or none in that time; an end of the terminal is an error.
    pub fn key(&self, wait: Duration) -> io::Result<Option<Key>> {
        await_terminal(wait)?;
        if !event::poll(Duration::ZERO)? {
            return Ok(None);
        }
        let Event::Key(key) = event::read()? else { return Ok(None) };
        if key.kind == KeyEventKind::Release {
            return Ok(None);
        }
        Ok(match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
            KeyCode::Char(c) => Some(Key::Char(c)),
            KeyCode::Up => Some(Key::Up),
            KeyCode::Down => Some(Key::Down),
            KeyCode::Tab => Some(Key::Tab),
            KeyCode::Enter => Some(Key::Enter),
            KeyCode::Esc => Some(Key::Escape),
            KeyCode::Backspace => Some(Key::Backspace),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A panic's hook has done it already; a second time would write over its message.
        if !std::thread::panicking() {
            // Where the terminal is gone there is nothing to give back, and nobody to tell.
            let _ = ratatui::try_restore();
        }
    }
}

/// Waits until something was typed, the time is over or a signal came. The wait is not crossterm's: once its terminal
/// has hung up, that reads it for ever, and a closed window would leave a core busy for the rest of the night.
fn await_terminal(wait: Duration) -> io::Result<()> {
    let stdin = io::stdin();
    let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec::try_from(wait).map_err(io::Error::other)?;
    match rustix::event::poll(&mut ends, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    if ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(io::Error::new(io::ErrorKind::BrokenPipe, "it is gone"));
    }
    Ok(())
}

fn colour(tint: Tint) -> Style {
    match tint {
        Tint::Plain => Style::new(),
        Tint::Good => Style::new().fg(Color::Green),
        Tint::Bad => Style::new().fg(Color::Red),
        Tint::Waits => Style::new().fg(Color::Yellow),
        Tint::Busy => Style::new().fg(Color::Blue),
    }
}

fn draw(frame: &mut Frame<'_>, view: &View) {
    let needs = u16::try_from(view.needs.len()).unwrap_or(u16::MAX).clamp(1, 7) + 2;
    let [head, middle, bottom, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(6),
        Constraint::Length(needs),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let head_style = if view.open { Style::new().bold() } else { Style::new().bold().fg(Color::Red) };
    frame.render_widget(Line::styled(view.head.clone(), head_style), head);
    let [left, right] = Layout::horizontal([Constraint::Length(62), Constraint::Min(20)]).areas(middle);
    // A narrow terminal shows the departments, and the output beneath them.
    if middle.width < 96 {
        let tall = u16::try_from(view.departments.len())
            .unwrap_or(u16::MAX)
            .saturating_add(3)
            .min(middle.height / 2 + 2);
        let [top, under] = Layout::vertical([Constraint::Length(tall), Constraint::Min(3)]).areas(middle);
        draw_departments(frame, view, top);
        draw_output(frame, view, under);
    } else {
        draw_departments(frame, view, left);
        draw_output(frame, view, right);
    }
    draw_needs(frame, view, bottom);
    let said = if view.said.is_empty() {
        Line::styled(keys(foot.width), Style::new().dim())
    } else {
        Line::from(view.said.clone())
    };
    frame.render_widget(said, foot);
    if let Some(popup) = &view.popup {
        draw_popup(frame, popup);
    }
}

/// The keys, in as many words as there is room for.
fn keys(columns: u16) -> &'static str {
    match columns {
        90.. => "q quit  tab other list  s stop  p pause/resume  a approve  r reject  enter look/answer",
        76.. => "q quit  tab list  s stop  p pause  a approve  r reject  enter look/answer",
        _ => "q quit tab list s stop p pause a approve r reject",
    }
}

fn block(title: &str, focused: bool) -> Block<'static> {
    let style = if focused { Style::new().fg(Color::Cyan) } else { Style::new().dim() };
    Block::bordered().border_style(style).title(format!(" {title} "))
}

fn draw_departments(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let rows = view.departments.iter().map(|dept| {
        Row::new([
            Span::from(dept.name.clone()),
            Span::styled(dept.state.0.clone(), colour(dept.state.1)),
            Span::from(dept.mail.clone()),
            Span::from(dept.board.clone()),
            Span::from(dept.last.clone()),
            Span::from(render_gauge(dept.share, 6)),
        ])
    });
    let widths = [
        Constraint::Min(11),
        Constraint::Length(14),
        Constraint::Length(4),
        Constraint::Length(6),
        Constraint::Length(14),
        Constraint::Length(6),
    ];
    let focused = view.focus == Focus::Departments;
    let table = Table::new(rows, widths)
        .header(Row::new(["DEPARTMENT", "STATE", "MAIL", "BOARD", "LAST RUN", "BUDGET"]).bold())
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block("Departments", focused));
    let mut state = TableState::default().with_selected(Some(view.department));
    frame.render_stateful_widget(table, area, &mut state);
}

fn draw_output(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let from = view.output.len().saturating_sub(room);
    let lines: Vec<Line<'_>> = view.output[from..].iter().map(|line| Line::from(line.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(block(&view.output_title, false)), area);
}

fn draw_needs(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let title = format!("Needs you ({})", view.needs.len());
    let focused = view.focus == Focus::Needs;
    if view.needs.is_empty() {
        let text = Paragraph::new("Nothing needs you.").block(block(&title, focused));
        return frame.render_widget(text, area);
    }
    let items = view.needs.iter().map(|(age, what)| ListItem::new(format!("{age:>4}  {what}")));
    let list = List::new(items)
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block(&title, focused));
    let selected = focused.then_some(view.need);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(selected));
}

fn draw_popup(frame: &mut Frame<'_>, popup: &Popup) {
    let whole = frame.area();
    let area = Rect {
        x: whole.width / 10,
        y: whole.height / 8,
        width: whole.width.saturating_sub(whole.width / 5).max(20).min(whole.width),
        height: whole.height.saturating_sub(whole.height / 4).max(6).min(whole.height),
    };
    let mut lines: Vec<Line<'_>> = popup.text.lines().map(Line::from).collect();
    if let Some(input) = &popup.input {
        lines.push(Line::from(""));
        lines.push(Line::from(vec![Span::from("> ").bold(), Span::from(input.as_str()), Span::from("█")]));
    }
    lines.push(Line::from(""));
    lines.push(Line::styled(popup.keys.as_str(), Style::new().dim()));
    frame.render_widget(Clear, area);
    let text = Paragraph::new(lines).wrap(Wrap { trim: false }).block(block(&popup.title, true));
    frame.render_widget(text, area);
}
