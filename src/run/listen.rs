//! Reading an engine's output as it comes: the adapter's events, the live log, and whoever listens.

use super::{Effects, Result, Shop};
use crate::domain::event::Event;
use crate::engines::{self, Preset, Reader};
use crate::process::child::{Flow, Output};
use crate::process::lines::LineBuffer;
use crate::store::runs::LiveLog;

/// The longest line of output that is read.
const LINE_MAX: usize = 12 * 1024 * 1024;

/// Reading an engine's output as it comes: the adapter's events, the live log, the terminal.
pub(super) struct Listening {
    reader: Reader,
    stdout: LineBuffer,
    stderr: LineBuffer,
    /// None where nothing is to be written.
    log: Option<LiveLog>,
    raw: String,
    partial: String,
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
            raw: String::new(),
            partial: String::new(),
        })
    }

    pub(super) fn hear(&mut self, shop: &Shop<'_>, output: &Output<'_>) -> Flow {
        let mut events = Vec::new();
        let (reader, raw) = (&mut self.reader, &mut self.raw);
        match output {
            Output::Stdout(bytes) => self.stdout.push(bytes, &mut |line| {
                keep(raw, &line.text);
                events.extend(reader.stdout_line(&line.text));
            }),
            Output::Stderr(bytes) => self.stderr.push(bytes, &mut |line| {
                keep(raw, &line.text);
                shop.tell(&Event::Stderr(&shop.redactor.mask(&line.text)));
                events.extend(reader.stderr_line(&line.text));
            }),
            Output::Started { .. } => {}
        }
        let mut flow = Flow::Continue;
        for event in events {
            match event {
                engines::Event::Text(text) => self.show(shop, &text),
                engines::Event::Warning(text) => shop.tell(&Event::Stderr(&shop.redactor.mask(&text))),
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
        let (reader, raw) = (&mut self.reader, &mut self.raw);
        self.stdout.finish(&mut |line| {
            keep(raw, &line.text);
            events.extend(reader.stdout_line(&line.text));
        });
        self.stderr.finish(&mut |line| {
            keep(raw, &line.text);
            reader.stderr_line(&line.text);
        });
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
        (self.reader, self.raw)
    }
}

/// The raw output is kept for the record of a failure, up to a cap.
fn keep(raw: &mut String, line: &str) {
    const MOST: usize = 256 * 1024;
    if raw.len() < MOST {
        raw.push_str(crate::domain::text::cut(line, MOST - raw.len()).0);
        raw.push('\n');
    }
}
