//! What one character does on a terminal: whether a reader sees it, and how many columns it takes.
//!
//! It deliberately knows nothing of neighbours, so joined emoji and flags count as their parts.
//!
//! The standard library's own table says what is printable, so there is no copy of it here to fall behind. It is
//! reached through `escape_debug`, which leaves exactly the printable characters as they are.

const COMBINING_FROM: char = '\u{300}';

/// Where runs of wide characters begin and end, in turn: an odd number of bounds at or below a character means wide.
const WIDE_BOUNDS: [u32; 168] = [
    0x1100, 0x1160, 0x231a, 0x231c, 0x2329, 0x232b, 0x23e9, 0x23ed, 0x23f0, 0x23f1, 0x23f3, 0x23f4, 0x25fd,
    0x25ff, 0x2614, 0x2616, 0x2630, 0x2638, 0x2648, 0x2654, 0x267f, 0x2680, 0x2693, 0x2694, 0x26a1, 0x26a2,
    0x26aa, 0x26ac, 0x26bd, 0x26bf, 0x26c4, 0x26c6, 0x26ce, 0x26cf, 0x26d4, 0x26d5, 0x26ea, 0x26eb, 0x26f2,
    0x26f4, 0x26f5, 0x26f6, 0x26fa, 0x26fb, 0x26fd, 0x26fe, 0x2705, 0x2706, 0x270a, 0x270c, 0x2728, 0x2729,
    0x274c, 0x274d, 0x274e, 0x274f, 0x2753, 0x2756, 0x2757, 0x2758, 0x2795, 0x2798, 0x27b0, 0x27b1, 0x27bf,
    0x27c0, 0x2b1b, 0x2b1d, 0x2b50, 0x2b51, 0x2b55, 0x2b56, 0x2e80, 0x303f, 0x3041, 0x3248, 0x3250, 0x4dc0,
    0x4e00, 0xa4d0, 0xa960, 0xa980, 0xac00, 0xd7a4, 0xf900, 0xfb00, 0xfe10, 0xfe1a, 0xfe30, 0xfe70, 0xff01,
    0xff61, 0xffe0, 0xffe7, 0x16fe0, 0x18e00, 0x1aff0, 0x1b300, 0x1f004, 0x1f005, 0x1f0cf, 0x1f0d0, 0x1f18e,
    0x1f18f, 0x1f191, 0x1f19b, 0x1f200, 0x1f321, 0x1f32d, 0x1f336, 0x1f337, 0x1f37d, 0x1f37e, 0x1f394,
    0x1f3a0, 0x1f3cb, 0x1f3cf, 0x1f3d4, 0x1f3e0, 0x1f3f1, 0x1f3f4, 0x1f3f5, 0x1f3f8, 0x1f43f, 0x1f440,
    0x1f441, 0x1f442, 0x1f4fd, 0x1f4ff, 0x1f53e, 0x1f54b, 0x1f54f, 0x1f550, 0x1f568, 0x1f57a, 0x1f57b,
    0x1f595, 0x1f597, 0x1f5a4, 0x1f5a5, 0x1f5fb, 0x1f650, 0x1f680, 0x1f6c6, 0x1f6cc, 0x1f6cd, 0x1f6d0,
    0x1f6d3, 0x1f6d5, 0x1f6e0, 0x1f6eb, 0x1f6ed, 0x1f6f4, 0x1f6fd, 0x1f7e0, 0x1f7ec, 0x1f7f0, 0x1f7f1,
    0x1f90c, 0x1f93b, 0x1f93c, 0x1f946, 0x1f947, 0x1fa00, 0x1fa70, 0x1fb00, 0x20000, 0x3fffe,
];

/// Whether the character may reach a terminal as it is.
pub(super) fn is_visible(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        // Spaces that look like spaces; the other exotic ones serve only to hide something.
        '\u{a0}' | '\u{202f}' | '\u{3000}' => true,
        // Letters, dashes and quotation marks, arrows: what text is mostly made of, and the table is slow.
        '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{2010}'..='\u{2027}' | '\u{2190}'..='\u{21ff}' => {
            true
        }
        '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => !is_blank(c) && is_printable(c),
    }
}

/// Columns on a terminal: 0 for marks that combine and for what is never shown, 2 for wide characters, else 1.
pub(super) fn columns(c: char) -> usize {
    match c {
        '\u{3000}' => 2,
        '\u{202f}' => 1,
        // Vowels and finals of Hangul join the consonant before them.
        '\u{1160}'..='\u{11ff}' => 0,
        _ if c.is_control() => 0,
        _ if c < COMBINING_FROM => 1,
        // A lone character is escaped when it combines with the one before it, or isn't printable at all.
        _ if c.escape_debug().len() > 1 => 0,
        _ if is_wide(c) => 2,
        _ => 1,
    }
}

/// The two selectors that choose between an emoji's text and colour form.
pub(super) fn is_emoji_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Characters that count as printable and yet show nothing: fillers, joiners, selectors, an empty braille cell.
fn is_blank(c: char) -> bool {
    let filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{1d159}');
    let joiner = matches!(c, '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}');
    let selector = matches!(c, '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e0fff}');
    filler || joiner || selector
}

fn is_printable(c: char) -> bool {
    // Second in its string: a combining mark that comes first would be escaped although it is printable.
    let mut pair = [b'a'; 5];
    let end = 1 + c.encode_utf8(&mut pair[1..]).len();
    std::str::from_utf8(&pair[..end]).is_ok_and(|pair| pair.escape_debug().nth(1) == Some(c))
}

fn is_wide(c: char) -> bool {
    WIDE_BOUNDS.partition_point(|&bound| bound <= u32::from(c)) % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_wide_characters_is_sorted_pairs() {
        assert!(WIDE_BOUNDS.is_sorted_by(|a, b| a < b));
        assert_eq!(WIDE_BOUNDS.len() % 2, 0);
    }

    #[test]
    fn every_character_std_calls_unprintable_is_hidden_but_for_three_spaces() {
        for c in ('\u{7f}'..=char::MAX).filter(|&c| is_visible(c) && !is_printable(c)) {
            assert!(matches!(c, '\u{a0}' | '\u{202f}' | '\u{3000}'), "{c:?}");
        }
    }

    #[test]
    fn nothing_that_shows_nothing_is_visible() {
        let ranges = [
            '\0'..='\u{8}',
            '\u{b}'..='\u{1f}',
            '\u{7f}'..='\u{9f}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{fff0}'..='\u{fffb}',
            '\u{e000}'..='\u{f8ff}',
            '\u{e0000}'..='\u{e0fff}',
            '\u{f0000}'..=char::MAX,
        ];
        for c in ranges.into_iter().flatten() {
            assert!(!is_visible(c), "{c:?}");
        }
        for c in "\u{ad}\u{61c}\u{180e}\u{feff}\u{3164}\u{2800}\u{1d173}".chars() {
            assert!(!is_visible(c), "{c:?}");
        }
    }
}
