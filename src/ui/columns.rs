//! Columns of cards side by side, as a board shows them. What doesn't fit is cut, and counted.

use crate::domain::text::{one_line, width};

/// A column: its heading, and cards of a few lines each.
pub struct Column {
    pub heading: String,
    pub cards: Vec<Vec<String>>,
    /// How many cards there are beside those shown.
    pub more: usize,
}

/// The columns next to each other, as wide as the terminal allows.
pub fn render_columns(columns: &[Column], wide: usize) -> String {
    let gap = 2;
    let count = columns.len().max(1);
    let place = (wide.saturating_sub(gap * (count - 1)) / count).max(16);
    let lines: Vec<Vec<String>> = columns.iter().map(|column| lines_of(column, place)).collect();
    let mut text = String::new();
    for row in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
        let mut line = String::new();
        for column in &lines {
            let cell = column.get(row).map(String::as_str).unwrap_or("");
            line.push_str(cell);
            line.push_str(&" ".repeat(place.saturating_sub(width(cell)) + gap));
        }
        let line = line.trim_end();
        text.push_str(&if row == 0 { super::bold(line) } else { line.to_string() });
        text.push('\n');
    }
    text
}

fn lines_of(column: &Column, place: usize) -> Vec<String> {
    let fit = |line: &str| {
        // The mark of a cut takes a place of its own.
        if width(line) > place { one_line(line, place.saturating_sub(1)) } else { one_line(line, place) }
    };
    let mut lines = vec![fit(&column.heading)];
    for card in &column.cards {
        lines.push(String::new());
        lines.extend(card.iter().map(|line| fit(line)));
    }
    if column.more > 0 {
        lines.push(String::new());
        lines.push(fit(&format!("and {} more", column.more)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_stand_side_by_side_and_fit() {
        let column = |heading: &str, cards: &[&[&str]], more: usize| Column {
            heading: heading.into(),
            cards: cards.iter().map(|card| card.iter().map(ToString::to_string).collect()).collect(),
            more,
        };
        let columns =
            [column("INBOX", &[&["one", "a long line that can't fit in it"]], 3), column("DONE", &[], 0)];
        let text = anstream::adapter::strip_str(&render_columns(&columns, 40)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "INBOX                DONE");
        assert_eq!(lines[2], "one");
        assert!(lines[3].starts_with("a long line") && width(lines[3]) <= 20, "{text}");
        assert_eq!(lines.last(), Some(&"and 3 more"));
    }
}
