//! Lines of time: a lane for each name, and on it what happened when.

use super::{Label, Mark, fit_name, place, room};
use serde::Serialize;

/// Something from one moment to another, in seconds from the strip's start.
#[derive(Clone, Debug)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub class: String,
    pub title: String,
}

/// One name with what happened.
#[derive(Clone, Debug)]
pub struct Lane {
    pub name: String,
    pub spans: Vec<Span>,
}

/// A row as it is drawn.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: Label,
    pub marks: Vec<Mark>,
}

/// The picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Strip {
    pub width: f64,
    pub height: f64,
    pub foot: f64,
    pub rows: Vec<Row>,
    pub hours: Vec<Label>,
}

const WIDTH: f64 = 960.0;
/// The least and the most room that names get. On a narrow screen they are drawn larger by `LARGER`.
const LEFT: (f64, f64) = (80.0, 240.0);
const LARGER: f64 = 1.35;
const RIGHT: f64 = 16.0;
const ROW: f64 = 26.0;
const THICK: f64 = 16.0;
const FOOT: f64 = 22.0;
/// The narrowest mark that is still seen.
const NARROW: f64 = 2.5;

/// Lays lanes out over `seconds`; `ticks` are places in seconds with their words.
pub fn lay_out_strip(lanes: &[Lane], seconds: f64, ticks: &[(f64, String)]) -> Strip {
    let names = lanes.iter().map(|lane| room(&lane.name) * LARGER + 10.0).fold(LEFT.0, f64::max).min(LEFT.1);
    let scale = (WIDTH - names - RIGHT) / seconds.max(1.0);
    let x = |at: f64| names + at.clamp(0.0, seconds) * scale;
    let foot = ROW * lanes.len() as f64;
    let mut strip = Strip { width: WIDTH, height: foot + FOOT, foot, ..Strip::default() };
    for (index, lane) in lanes.iter().enumerate() {
        let y = ROW * index as f64;
        let inside = lane.spans.iter().filter(|span| span.to >= 0.0 && span.from <= seconds);
        let marks = inside.map(|span| Mark {
            x: place(x(span.from)),
            y: place(y + (ROW - THICK) / 2.0),
            w: place((x(span.to) - x(span.from)).max(NARROW)),
            h: THICK,
            class: span.class.clone(),
            title: span.title.clone(),
        });
        let text = fit_name(&lane.name, (names - 10.0) / LARGER);
        let name = Label { x: place(names - 10.0), y: place(y + ROW / 2.0 + 4.0), text };
        strip.rows.push(Row { name, marks: marks.collect() });
    }
    strip.hours = ticks
        .iter()
        .map(|(at, text)| Label { x: place(x(*at)), y: foot + 16.0, text: text.clone() })
        .collect();
    strip
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: f64, to: f64) -> Span {
        Span { from, to, class: "good".into(), title: String::new() }
    }

    #[test]
    fn marks_lie_inside_and_are_never_too_narrow() {
        let lane = Lane {
            name: "rd".into(),
            spans: vec![span(-10.0, 5.0), span(50.0, 50.1), span(-9.0, -1.0), span(200.0, 210.0)],
        };
        let strip = lay_out_strip(&[lane], 100.0, &[(0.0, "00".into())]);
        let marks = &strip.rows[0].marks;
        assert_eq!(marks.len(), 2);
        assert!(marks.iter().all(|mark| mark.x >= LEFT.0 && mark.w >= NARROW && mark.x + mark.w <= WIDTH));
    }
}
