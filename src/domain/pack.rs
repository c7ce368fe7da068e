//! A month's records in one file: each behind a line that names it and says how long it is, so that the file reads like
//! a book, can be searched, and gives every record back byte for byte.

/// How the line before a record begins.
const OPENS: &str = "<!-- record ";

/// One record within a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    /// Where its text begins, and how many bytes it has.
    pub start: usize,
    pub length: usize,
}

/// A record as it stands in a pack.
pub fn render_packed(name: &str, text: &str) -> String {
    format!("{OPENS}{name} {} -->\n{text}\n", text.len())
}

/// The records of a pack. What follows a line that can't be read is not one.
pub fn parse_pack(pack: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(rest) = pack.get(at..) {
        let Some(line) = rest.lines().next() else { break };
        let Some((name, length)) = parse_line(line) else { break };
        let start = at + line.len() + 1;
        if pack.get(start..start + length).is_none() {
            break;
        }
        places.push(Place { name: name.to_string(), start, length });
        at = start + length + 1;
    }
    places
}

fn parse_line(line: &str) -> Option<(&str, usize)> {
    let inner = line.strip_prefix(OPENS)?.strip_suffix(" -->")?;
    let (name, length) = inner.split_once(' ')?;
    Some((name, length.parse().ok()?))
}

/// The month of a record's name: `20261118T...` is of `2026-11`.
pub fn month_of_record(name: &str) -> Option<String> {
    let digits = name.get(..6).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some(format!("{}-{}", &digits[..4], &digits[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_record_comes_back_whatever_it_holds(texts in proptest::collection::vec(".{0,40}(\n<!-- record x 3 -->\n.{0,9})?", 0..6)) {
            let named: Vec<(String, &String)> =
                texts.iter().enumerate().map(|(index, text)| (format!("2026_{index}.md"), text)).collect();
            let pack: String = named.iter().map(|(name, text)| render_packed(name, text)).collect();
            let back: Vec<(String, &str)> = parse_pack(&pack)
                .into_iter()
                .map(|place| (place.name, &pack[place.start..place.start + place.length]))
                .collect();
            let expected: Vec<(String, &str)> = named.iter().map(|(name, text)| (name.clone(), text.as_str())).collect();
            prop_assert_eq!(back, expected);
        }

        #[test]
        fn any_text_can_be_read(text in ".{0,200}") {
            parse_pack(&text);
        }
    }

    #[test]
    fn a_month_is_read_off_a_name() {
        assert_eq!(month_of_record("20261118T004201Z_loop.md").as_deref(), Some("2026-11"));
        assert_eq!(month_of_record("notes.md"), None);
        assert_eq!(month_of_record("é"), None);
    }
}
