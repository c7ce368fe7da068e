//! Aligned columns that fit the terminal: the last one is cut, never wrapped, and before it those that may be.
//!
//! Text from outside is made visible here. A style is put around a cell after its width is known, so that colour never
//! moves a column.

use crate::domain::text::{one_line, width};
use anstyle::Style;

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    /// Numbers.
    Right,
    /// Left, and cut down to so many columns where the terminal is too narrow for all: words, never ids.
    Least(usize),
}

/// One cell: text, and how it looks where there is colour.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style: Some(style) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), style: None }
    }
}

/// Rows under headings, two spaces apart.
pub fn render_table(headings: &[&str], rows: &[Vec<String>], columns: usize) -> String {
    let headings: Vec<(&str, Align)> = headings.iter().map(|heading| (*heading, Align::Left)).collect();
    let rows: Vec<Vec<Cell>> =
        rows.iter().map(|row| row.iter().map(|cell| Cell::from(cell.as_str())).collect()).collect();
    render_columns(&headings, &rows, columns)
}

/// The same, with numbers to the right and with styles.
pub fn render_columns(headings: &[(&str, Align)], rows: &[Vec<Cell>], columns: usize) -> String {
    let clean = |cell: &Cell| Cell { text: one_line(&cell.text, 500), style: cell.style };
    let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(clean).collect()).collect();
    let mut places: Vec<(usize, Align)> =
        headings.iter().map(|(heading, align)| (width(heading), *align)).collect();
    for row in &rows {
        for ((place, _), cell) in places.iter_mut().zip(row) {
            *place = (*place).max(width(&cell.text));
        }
    }
    cut_to(&mut places, columns);
    if let Some(((last, _), others)) = places.split_last_mut() {
        let used: usize = others.iter().map(|(width, _)| width + 2).sum();
        // A terminal too narrow for the rest still shows the start of the last column.
        *last = (*last).min(columns.saturating_sub(used).max(12));
    }
    let headings: Vec<Cell> = headings.iter().map(|(heading, _)| Cell::from(*heading)).collect();
    let mut text = super::bold(&render_row(&headings, &places)) + "\n";
    for row in &rows {
        text.push_str(&render_row(row, &places));
        text.push('\n');
    }
    text
}

/// The same, with a faint line beneath each row: what says most gets the whole width where there is little of it.
pub fn render_with_notes(
    headings: &[(&str, Align)],
    rows: &[Vec<Cell>],
    notes: &[String],
    columns: usize,
) -> String {
    let table = render_columns(headings, rows, columns);
    let mut lines = table.lines();
    let mut text = lines.next().map(|line| format!("{line}\n")).unwrap_or_default();
    for (line, note) in lines.zip(notes) {
        text.push_str(&format!("{line}\n"));
        if !note.is_empty() {
            text.push_str(&format!("  {}\n", super::faint(&fit(note, columns.max(20) - 2))));
        }
    }
    text
}

/// Takes from the widest column that may be cut, until all fit or none can give any more.
fn cut_to(places: &mut [(usize, Align)], columns: usize) {
    let gaps = places.len().saturating_sub(1) * 2;
    let mut over = (places.iter().map(|(width, _)| width).sum::<usize>() + gaps).saturating_sub(columns);
    while over > 0 {
        let room =
            |(width, align): &&mut (usize, Align)| matches!(align, Align::Least(least) if width > least);
        let Some((width, _)) = places.iter_mut().filter(room).max_by_key(|(width, _)| *width) else { return };
        *width -= 1;
        over -= 1;
    }
}

fn render_row(cells: &[Cell], places: &[(usize, Align)]) -> String {
    let mut line = String::new();
    for (index, (cell, (place, align))) in cells.iter().zip(places).enumerate() {
        let last = index + 1 == places.len();
        let text = fit(&cell.text, *place);
        let gap = " ".repeat(place.saturating_sub(width(&text)));
        let shown = match cell.style {
            Some(style) if !text.is_empty() => format!("{style}{text}{style:#}"),
            _ => text,
        };
        match align {
            Align::Left | Align::Least(_) if last => line.push_str(&shown),
            Align::Left | Align::Least(_) => line.push_str(&format!("{shown}{gap}")),
            Align::Right => line.push_str(&format!("{gap}{shown}")),
        }
        if !last {
            line.push_str("  ");
        }
    }
    line.trim_end().to_string()
}

/// The text in so many columns; a wide character takes two.
fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let mut most = columns;
    let mut cut = one_line(text, most);
    while width(&cut) > columns && most > 0 {
        most -= 1;
        cut = one_line(text, most);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_align_and_the_last_is_cut() {
        let rows = vec![vec!["a".into(), "short".into()], vec!["long-id".into(), "x".repeat(100)]];
        let text = plain(&render_table(&["ID", "SUBJECT"], &rows, 30));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ID       SUBJECT");
        assert_eq!(lines[1], "a        short");
        assert!(lines[2].starts_with("long-id  xxx"));
        assert!(lines.iter().all(|line| width(line) <= 30), "{text}");
    }

    #[test]
    fn numbers_stand_to_the_right_and_colour_moves_nothing() {
        let red = Style::new().bold();
        let headings = [("NAME", Align::Left), ("COUNT", Align::Right), ("END", Align::Left)];
        let rows = vec![
            vec![Cell::from("a"), Cell::from("7"), Cell::styled("x", red)],
            vec![Cell::styled("long name", red), Cell::styled("12345678", red), Cell::from("\u{1b}[31m")],
        ];
        let text = render_columns(&headings, &rows, 80);
        let expected = "NAME          COUNT  END\na                 7  x\nlong name  12345678  \\u{1b}[31m\n";
        assert_eq!(plain(&text), expected);
        assert!(text.contains("\u{1b}[1m12345678\u{1b}[0m"), "{text:?}");
    }

    #[test]
    fn words_give_way_before_the_last_column_does() {
        let headings = [("NAME", Align::Least(6)), ("STATE", Align::Least(5)), ("USED", Align::Left)];
        let row = |name: &str| vec![Cell::from(name), Cell::from("waits for you"), Cell::from("░░░ 100%")];
        let rows = [row("a-department-of-many-words"), row("short")];
        let check = |columns: usize, expected: &str| {
            assert_eq!(plain(&render_columns(&headings, &rows, columns)), expected, "{columns}");
        };
        check(
            32,
            "NAME        STATE       USED\na-departm…  waits for…  ░░░ 100%\nshort       waits for…  ░░░ 100%\n",
        );
        check(10, "NAME    STATE  USED\na-dep…  wait…  ░░░ 100%\nshort   wait…  ░░░ 100%\n");
    }

    #[test]
    fn wide_characters_are_cut_by_columns() {
        let rows = vec![vec!["日本語日本語日本語日本語".to_string()]];
        let text = plain(&render_table(&["X"], &rows, 12));
        assert!(text.lines().all(|line| width(line) <= 12), "{text}");
    }
}
