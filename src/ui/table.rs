//! Aligned columns that fit the terminal: the last one is cut, never wrapped.

use crate::domain::text::{one_line, width};

/// Rows under headings, two spaces apart.
pub fn render_table(headings: &[&str], rows: &[Vec<String>], columns: usize) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| one_line(cell, 500)).collect()).collect();
    let mut widths: Vec<usize> = headings.iter().map(|heading| width(heading)).collect();
    for row in &rows {
        for (place, cell) in widths.iter_mut().zip(row) {
            *place = (*place).max(width(cell));
        }
    }
    if let Some((last, others)) = widths.split_last_mut() {
        let used: usize = others.iter().map(|width| width + 2).sum();
        // A terminal too narrow for the rest still shows the start of the last column.
        *last = (*last).min(columns.saturating_sub(used).max(12));
    }
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_string()).collect();
    let mut text = super::bold(&render_row(&headings, &widths)) + "\n";
    for row in &rows {
        text.push_str(&render_row(row, &widths));
        text.push('\n');
    }
    text
}

fn render_row(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, place)) in cells.iter().zip(widths).enumerate() {
        let last = index + 1 == widths.len();
        let cell = if width(cell) > *place { one_line(cell, place.saturating_sub(1)) } else { cell.clone() };
        line.push_str(&cell);
        if !last {
            line.push_str(&" ".repeat(place.saturating_sub(width(&cell)) + 2));
        }
    }
    line.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_the_last_is_cut() {
        let rows = vec![vec!["a".into(), "short".into()], vec!["long-id".into(), "x".repeat(100)]];
        let text = anstream::adapter::strip_str(&render_table(&["ID", "SUBJECT"], &rows, 30)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ID       SUBJECT");
        assert_eq!(lines[1], "a        short");
        assert!(lines[2].starts_with("long-id  xxx"));
        assert!(lines.iter().all(|line| width(line) <= 30), "{text}");
    }
}
