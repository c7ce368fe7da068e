//! Reading an engine's output as it comes: the adapter's events, the live log, and whoever listens.

use super::{Effects, Result, Shop};
use crate::domain::event::Event;
use crate::domain::text::cut;
use crate::engines::{self, Preset, Reader};
use crate::process::child::{Flow, Output};
use crate::process::lines::{Line, LineBuffer};
use crate::store::runs::LiveLog;

/// The longest line of output that is read.
const LINE_MAX: usize = 12 * 1024 * 1024;
/// How many lines of an engine's stderr reach whoever listens; the rest is counted. A failing one may print thousands.
const LINES_TOLD: u64 = 20;
/// How much of the output is kept for the record of a failure.
const RAW_MAX: usize = 256 * 1024;

/// Reading an engine's output as it comes: the adapter's events, the live log, the terminal.
pub(super) struct Listening {
    reader: Reader,
    stdout: LineBuffer,
    stderr: LineBuffer,
    /// None where nothing is to be written.
    log: Option<LiveLog>,
    raw: Raw,
    partial: String,
    /// How many lines of stderr and warnings there were: the first ones are told, the rest counted.
    lines_told: u64,
}

/// What an engine printed, up to a cap, and how much more there was.
#[derive(Default)]
struct Raw {
    text: String,
    beyond: usize,
}

impl Listening {
    pub(super) fn new(shop: &Shop<'_>, preset: Preset) -> Result<Listening> {
        Ok(Listening {
            reader: Reader::new(preset),
            stdout: LineBuffer::new(LINE_MAX),
            stderr: LineBuffer::new(64 * 1024),
            log: match shop.effects {
                Effects::CarriedOut => Some(shop.department.open_live_log()?),
                Effects::Shown => None,
            },
            raw: Raw::default(),
            partial: String::new(),
            lines_told: 0,
        })
    }

    pub(super) fn hear(&mut self, shop: &Shop<'_>, output: &Output<'_>) -> Flow {
        let mut events = Vec::new();
        let (reader, raw, told) = (&mut self.reader, &mut self.raw, &mut self.lines_told);
        match output {
            Output::Stdout(bytes) => self.stdout.push(bytes, &mut |line| {
                raw.keep(&line);
                events.extend(reader.stdout_line(&line.text));
            }),
            Output::Stderr(bytes) => self.stderr.push(bytes, &mut |line| {
                raw.keep(&line);
                tell_line(shop, told, &line.text);
                events.extend(reader.stderr_line(&line.text));
            }),
            Output::Started { .. } => {}
        }
        let mut flow = Flow::Continue;
        for event in events {
            match event {
                engines::Event::Text(text) => self.show(shop, &text),
                engines::Event::Warning(text) => tell_line(shop, &mut self.lines_told, &text),
                engines::Event::Retry { status, .. } => {
                    let status = status.map(|status| format!(" after {status}")).unwrap_or_default();
                    shop.tell(&Event::Notice(&format!("the engine tries again{status}")));
                }
                engines::Event::Result => flow = Flow::ResultSeen,
            }
        }
        flow
    }

    /// Shows what can be shown: a secret cut in two by the stream would not be recognised.
    fn show(&mut self, shop: &Shop<'_>, text: &str) {
        self.partial.push_str(text);
        let settled = shop.redactor.settled(&self.partial);
        self.show_masked(shop, settled);
    }

    fn show_masked(&mut self, shop: &Shop<'_>, length: usize) {
        let text: String = self.partial.drain(..length).collect();
        let text = shop.redactor.mask(&text);
        for line in text.split_inclusive('\n') {
            if let Some(log) = &mut self.log {
                log.write(line);
            }
            shop.tell(&Event::Chunk(line));
        }
    }

    pub(super) fn finish(mut self, shop: &Shop<'_>) -> (Reader, String) {
        let mut events = Vec::new();
        let (reader, raw, told) = (&mut self.reader, &mut self.raw, &mut self.lines_told);
        self.stdout.finish(&mut |line| {
            raw.keep(&line);
            events.extend(reader.stdout_line(&line.text));
        });
        self.stderr.finish(&mut |line| {
            raw.keep(&line);
            tell_line(shop, told, &line.text);
            reader.stderr_line(&line.text);
        });
        if self.lines_told > LINES_TOLD {
            let more = self.lines_told - LINES_TOLD;
            shop.tell(&Event::Stderr(&format!("[cut: {more} more lines]")));
        }
        for event in events {
            if let engines::Event::Text(text) = event {
                self.show(shop, &text);
            }
        }
        if !self.partial.is_empty() {
            if !self.partial.ends_with('\n') {
                self.partial.push('\n');
            }
            self.show_masked(shop, self.partial.len());
        }
        (self.reader, self.raw.finish())
    }
}

fn tell_line(shop: &Shop<'_>, told: &mut u64, line: &str) {
    *told += 1;
    if *told <= LINES_TOLD {
        shop.tell(&Event::Stderr(line));
    }
}

impl Raw {
    fn keep(&mut self, line: &Line<'_>) {
        let room = RAW_MAX.saturating_sub(self.text.len());
        let (kept, lost) = cut(&line.text, room);
        self.beyond += lost + line.cut;
        if room > 0 {
            self.text.push_str(kept);
            self.text.push('\n');
        }
    }

    fn finish(mut self) -> String {
        if self.beyond > 0 {
            self.text.push_str(&format!("[cut: {} more bytes]\n", self.beyond));
        }
        self.text
    }
}
