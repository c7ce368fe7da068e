//! Small bars of text: a share of something at a glance, beside its number and never in its place.

/// The parts of a block, in eighths.
const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// A bar of at most `columns`, to an eighth of a column. What is more than nothing is never shown as nothing.
pub fn render_bar(share: f64, columns: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mut eighths = (share * columns as f64 * 8.0).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(PARTS[eighths % 8]);
    }
    bar
}

/// A bar with its empty part, always `columns` wide: how much of a limit is used. Only one that is used up looks full.
pub fn render_gauge(share: f64, columns: usize) -> String {
    let share = if share.is_finite() { share } else { 1.0 };
    let most = (columns as f64 - 0.125) / columns as f64;
    let bar = render_bar(if share < 1.0 { share.min(most) } else { 1.0 }, columns);
    let rest = columns.saturating_sub(bar.chars().count());
    format!("{bar}{}", "░".repeat(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_to_an_eighth_and_never_hide_something() {
        let check = |share: f64, bar: &str| assert_eq!(render_bar(share, 4), bar, "{share}");
        check(0.0, "");
        check(0.001, "▏");
        check(0.5, "██");
        check(0.53125, "██▏");
        check(1.0, "████");
        check(7.0, "████");
        check(f64::NAN, "");
    }

    #[test]
    fn only_what_is_used_up_looks_full() {
        let check = |share: f64, gauge: &str| assert_eq!(render_gauge(share, 5), gauge, "{share}");
        check(0.0, "░░░░░");
        check(0.001, "▏░░░░");
        check(0.5, "██▌░░");
        check(0.999, "████▉");
        check(1.0, "█████");
        check(f64::INFINITY, "█████");
    }
}
