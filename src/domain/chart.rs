//! The geometry of charts: numbers in, marks with places and words out. What draws them is a template's business.
//!
//! A mark is one thing one sees: a piece of a bar, a run on a line of time, an arrow. Every mark says in words what it
//! stands for. Nothing here knows colours; a mark names its class.

mod flow;
mod time;

use serde::Serialize;

pub use flow::{Edge, Flow, lay_out_flow};
pub use time::{Lane, Span, Strip, lay_out_strip};

/// A rectangle with its meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
    /// How it looks, such as `s0` for the first series.
    pub class: String,
    pub title: String,
}

/// A word at a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Label {
    pub x: f64,
    pub y: f64,
    pub text: String,
}

/// One series of values, one for each place on the axis.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub class: String,
    pub values: Vec<f64>,
}

/// Columns over a line of days.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Columns {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub marks: Vec<Mark>,
    pub days: Vec<Label>,
    /// Lines across, with their numbers.
    pub ticks: Vec<Label>,
    /// A limit, where there is one in sight.
    pub cap: Option<Label>,
}

/// How a number of a chart is written.
pub type Written<'a> = &'a dyn Fn(f64) -> String;

/// What columns are made of.
pub struct ColumnsOf<'a> {
    pub days: &'a [String],
    pub series: &'a [Series],
    pub cap: Option<(f64, &'a str)>,
    pub number: Written<'a>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 6.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 22.0;
/// More labels than this run into each other; with the month in them, half as many.
const LABELS: usize = 15;
/// As many days as have labels without their month.
const MONTH: usize = 31;

/// Two digits after the point are enough for a place, and keep pages small.
pub(super) fn place(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// How wide a name is at most, in the fonts that browsers show it in. An `m` is half as wide again as most.
pub(super) fn room(name: &str) -> f64 {
    let wide = |c: char| {
        let columns = super::text::width(c.encode_utf8(&mut [0; 4])) as f64;
        match c {
            'm' | 'w' | 'M' | 'W' | '…' => 11.0,
            c if c.is_uppercase() => 8.2,
            _ => 7.0 * columns.max(1.0),
        }
    };
    name.chars().map(wide).sum()
}

/// The name, cut with a mark where it takes more room than that.
pub(super) fn fit_name(name: &str, most: f64) -> String {
    let mut chars = name.chars().count();
    let mut cut = name.to_string();
    while room(&cut) > most && chars > 1 {
        chars -= 1;
        cut = super::text::one_line(name, chars);
    }
    cut
}

/// The smallest round number that is at least this, whose half is one too.
pub fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let magnitude = libm::pow(10.0, libm::log10(value).floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 4.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * magnitude >= value * (1.0 - 1e-9)).unwrap_or(10.0);
    step * magnitude
}

/// Columns of stacked pieces, one column a day.
pub fn lay_out_columns(of: &ColumnsOf<'_>) -> Columns {
    let total = |day: usize| -> f64 { of.series.iter().filter_map(|series| series.values.get(day)).sum() };
    let highest = (0..of.days.len()).map(total).fold(0.0, f64::max);
    // A limit far above everything would press the columns flat; then it is left out.
    let cap = of.cap.filter(|(cap, _)| *cap <= highest * 2.5);
    let top = round_up(highest.max(cap.map_or(0.0, |(cap, _)| cap)));
    let ground = HEIGHT - BOTTOM;
    let y = |value: f64| ground - value / top * (ground - TOP);
    let slot = (WIDTH - LEFT - RIGHT) / of.days.len().max(1) as f64;
    let gap = (slot * 0.2).min(6.0);
    let mut chart =
        Columns { width: WIDTH, height: HEIGHT, left: LEFT, right: WIDTH - RIGHT, ..Columns::default() };
    for (index, day) in of.days.iter().enumerate() {
        let x = LEFT + slot * index as f64 + gap / 2.0;
        let mut base = 0.0;
        for series in of.series {
            let value = series.values.get(index).copied().unwrap_or(0.0);
            if value <= 0.0 {
                continue;
            }
            chart.marks.push(Mark {
                x: place(x),
                y: place(y(base + value)),
                w: place(slot - gap),
                h: place(y(base) - y(base + value)),
                class: series.class.clone(),
                title: format!("{day}, {}: {}", series.name, (of.number)(value)),
            });
            base += value;
        }
        let labels = if of.days.len() <= MONTH { LABELS } else { LABELS / 2 };
        let every = of.days.len().div_ceil(labels).max(1);
        if index % every == 0 {
            let text = day
                .get(8..)
                .filter(|_| of.days.len() <= MONTH)
                .unwrap_or_else(|| day.get(5..).unwrap_or(day));
            chart.days.push(Label {
                x: place(x + (slot - gap) / 2.0),
                y: HEIGHT - 6.0,
                text: text.to_string(),
            });
        }
    }
    chart.ticks = (0..=2)
        .map(|part| top * f64::from(part) / 2.0)
        .map(|value| Label { x: LEFT - 6.0, y: place(y(value)), text: (of.number)(value) })
        .collect();
    chart.cap = cap.map(|(cap, name)| Label { x: WIDTH - RIGHT, y: place(y(cap)), text: name.to_string() });
    chart
}

/// One row of bars: a name, its pieces, and what stands at its end.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    pub name: String,
    pub y: f64,
    pub marks: Vec<Mark>,
    pub end: Label,
}

/// Rows of bars.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bars {
    pub width: f64,
    pub height: f64,
    pub name_x: f64,
    pub bars: Vec<Bar>,
}

/// A row to be drawn: its name and its pieces, each with class, name and value.
pub struct BarOf {
    pub name: String,
    pub pieces: Vec<(String, String, f64)>,
}

const BARS_WIDTH: f64 = 360.0;
/// The least and the most room that names get.
const NAME: (f64, f64) = (64.0, 180.0);
const END: f64 = 44.0;
const ROW: f64 = 22.0;
const THICK: f64 = 13.0;

/// Rows of stacked pieces, all to one scale.
pub fn lay_out_bars(rows: &[BarOf], number: Written<'_>) -> Bars {
    let total = |row: &BarOf| row.pieces.iter().fold(0.0, |sum, (_, _, value)| sum + value);
    let longest = rows.iter().map(total).fold(0.0, f64::max);
    let names = rows.iter().map(|row| room(&row.name) + 8.0).fold(NAME.0, f64::max).min(NAME.1);
    let scale = if longest > 0.0 { (BARS_WIDTH - names - END) / longest } else { 0.0 };
    let mut bars =
        Bars { width: BARS_WIDTH, height: ROW * rows.len() as f64, name_x: names - 8.0, bars: Vec::new() };
    for (index, row) in rows.iter().enumerate() {
        let y = ROW * index as f64;
        let (mut x, mut marks) = (names, Vec::new());
        for (class, name, value) in row.pieces.iter().filter(|(_, _, value)| *value > 0.0) {
            // What is there is seen, however small.
            let w = (value * scale).max(1.5);
            let title = format!("{}, {name}: {}", row.name, number(*value));
            marks.push(Mark {
                x: place(x),
                y: place(y + 4.0),
                w: place(w),
                h: THICK,
                class: class.clone(),
                title,
            });
            x += w;
        }
        let end = Label { x: place(x + 6.0), y: place(y + 14.5), text: number(total(row)) };
        let name = fit_name(&row.name, names - 8.0);
        bars.bars.push(Bar { name, y: place(y + 14.5), marks, end });
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> String {
        format!("{value}")
    }

    fn series(name: &str, values: &[f64]) -> Series {
        Series { name: name.into(), class: "s0".into(), values: values.to_vec() }
    }

    #[test]
    fn a_column_is_as_high_as_its_pieces() {
        let days = ["2026-11-17".to_string(), "2026-11-18".to_string()];
        let all = [series("a", &[1.0, 0.0]), series("b", &[3.0, 2.0])];
        let chart = lay_out_columns(&ColumnsOf { days: &days, series: &all, cap: None, number: &number });
        assert_eq!(chart.marks.len(), 3, "nothing is no mark");
        assert_eq!(chart.marks[1].title, "2026-11-17, b: 3");
        // The second piece stands on the first.
        assert_eq!(chart.marks[1].y + chart.marks[1].h, chart.marks[0].y);
        assert!((chart.marks[1].h - 3.0 * chart.marks[0].h).abs() < 0.05);
        assert_eq!(chart.ticks.last().map(|tick| tick.text.as_str()), Some("4"));
    }

    #[test]
    fn a_limit_is_shown_where_it_is_near() {
        let days = ["2026-11-18".to_string()];
        let all = [series("a", &[4.0])];
        let at = |cap: f64| {
            lay_out_columns(&ColumnsOf {
                days: &days,
                series: &all,
                cap: Some((cap, "cap")),
                number: &number,
            })
            .cap
        };
        assert!(at(5.0).is_some() && at(100.0).is_none());
    }

    #[test]
    fn names_get_the_room_they_need_and_are_cut_beyond() {
        let row = |name: &str| BarOf { name: name.into(), pieces: vec![("s0".into(), "count".into(), 3.0)] };
        let chart = lay_out_bars(&[row("NEXT_WORKER_CEO_MODE"), row("DONE")], &number);
        assert_eq!(chart.bars[0].name, "NEXT_WORKER_CEO_MODE");
        assert!(chart.name_x >= room("NEXT_WORKER_CEO_MODE"), "{}", chart.name_x);
        let chart = lay_out_bars(&[row(&"a-name-".repeat(9))], &number);
        let bar = &chart.bars[0];
        assert!(bar.name.ends_with('…') && room(&bar.name) <= chart.name_x, "{}", bar.name);
        assert!(bar.marks[0].x > chart.name_x && bar.marks[0].w > 60.0);
        assert!(bar.marks[0].title.starts_with(&"a-name-".repeat(9)), "the whole name is still told");
    }

    #[test]
    fn nothing_to_show_is_no_mistake() {
        let chart = lay_out_columns(&ColumnsOf { days: &[], series: &[], cap: None, number: &number });
        assert!(chart.marks.is_empty());
        assert!(lay_out_bars(&[], &number).bars.is_empty());
        let bars = lay_out_bars(&[BarOf { name: "a".into(), pieces: Vec::new() }], &number);
        assert_eq!((bars.bars[0].marks.len(), bars.bars[0].end.text.as_str()), (0, "0"));
    }

    #[test]
    fn round_numbers_are_round() {
        for (value, round) in
            [(0.0, 1.0), (0.03, 0.04), (1.0, 1.0), (7.2, 8.0), (11.0, 12.0), (15.0, 16.0), (4_200.0, 6_000.0)]
        {
            assert!((round_up(value) - round).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
