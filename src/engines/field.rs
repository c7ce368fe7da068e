//! Reads single fields of a client's JSON, and text of its error output, without trusting either.
//!
//! Clients add, drop and retype fields between versions: a field that is missing or of another type
//! reads as absent, and a line that isn't a JSON object as no line at all.

use serde_json::Value;

/// The longest message kept for people, in characters.
const MESSAGE_LIMIT: usize = 200;

/// The object on a line, if there is one.
pub fn parse_object(line: &str) -> Option<Value> {
    if !line.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// The text at a JSON pointer.
pub fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// The number at a JSON pointer, where it is finite and not negative.
pub fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

/// The count at a JSON pointer. Clients write some counts with a fraction: it is cut off.
pub fn count(value: &Value, pointer: &str) -> Option<u64> {
    let found = value.pointer(pointer)?;
    found.as_u64().or_else(|| number(value, pointer).map(|number| number as u64))
}

/// The HTTP status of a failure at a JSON pointer. Some clients put an exit code into the same
/// field: what is no error status is no status.
pub fn status(value: &Value, pointer: &str) -> Option<u16> {
    let found = u16::try_from(count(value, pointer)?).ok()?;
    (400..=599).contains(&found).then_some(found)
}

/// The status in a client's own error line, where `prefix` and three digits open it.
///
/// A leniency for clients that report a failure's status nowhere else. The place is fixed and only
/// the number counts: whatever words follow, the server's among them, decide nothing.
pub fn status_after(line: &str, prefix: &str) -> Option<u16> {
    let rest = line.strip_prefix(prefix)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let found = rest[..end].parse().ok()?;
    (400..=599).contains(&found).then_some(found)
}

/// A text as one short line without control characters.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        for c in (length > 0).then_some(' ').into_iter().chain(word.chars()) {
            if length == MESSAGE_LIMIT {
                line.push('…');
                return line;
            }
            line.push(c);
            length += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_of_another_type_is_absent() {
        let value = json!({"a": "7", "b": -1, "c": 7.9, "d": [1], "e": 18446744073709551615u64});
        for (pointer, expected) in
            [("/a", None), ("/b", None), ("/c", Some(7)), ("/d", None), ("/e", Some(u64::MAX)), ("/f", None)]
        {
            assert_eq!(count(&value, pointer), expected, "{pointer}");
        }
    }

    #[test]
    fn a_status_is_an_error_status() {
        let check =
            |line: &str, expected| assert_eq!(status_after(line, "last status: "), expected, "{line}");
        check("last status: 429 Too Many Requests", Some(429));
        check("last status: 200 OK", None);
        check("last status: 42900", None);
        check("last status: ", None);
        check("the last status: 429", None);
        assert_eq!(status(&json!({"code": 1}), "/code"), None);
        assert_eq!(status(&json!({"code": 529}), "/code"), Some(529));
    }

    #[test]
    fn a_message_is_one_short_line() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected);
        check("  a\n\tb\u{1b}c  ", "a b c");
        check("", "");
        check(&"x".repeat(200), &"x".repeat(200));
        check(&"x".repeat(201), &format!("{}…", "x".repeat(200)));
    }
}
