//! Sentences in lines that fit the terminal, broken between words.

use crate::domain::text::width;

/// The text after a head, in lines of at most `columns`; what goes on stands under the text, not under the head.
/// A word longer than a line stays whole: cutting an id or a command would make it useless.
pub fn render_wrapped(head: &str, text: &str, columns: usize) -> String {
    let indent = width(head);
    let mut lines = vec![head.to_string()];
    let mut used = indent;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(used > indent);
        if used > indent && used + gap + width(word) > columns {
            lines.push(" ".repeat(indent));
            used = indent;
        }
        if let Some(line) = lines.last_mut() {
            let gap = usize::from(used > indent);
            line.push_str(&" ".repeat(gap));
            line.push_str(word);
            used += gap + width(word);
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_hang() {
        let check = |text: &str, expected: &str| assert_eq!(render_wrapped("Ab ", text, 12), expected);
        check("one two", "Ab one two\n");
        check("one two three four", "Ab one two\n   three\n   four\n");
        check("averyverylongword x", "Ab averyverylongword\n   x\n");
        check("", "Ab\n");
        check("日本 日本 日", "Ab 日本 日本\n   日\n");
    }
}
