//! The front matter of every Markdown file: flat `key: value` lines between `---` lines.
//!
//! ```text
//! file    = "---" NL { line } "---" NL body
//! line    = blank | "#" comment | key ":" [ " " value ]
//! key     = letter { letter | digit | "_" | "-" }
//! value   = '"' escaped text '"' | "[" [ item { "," item } ] "]" | plain text to the end of the line
//! ```
//!
//! What it writes is valid YAML. What it reads is looser, because people type it: a plain value means what it says,
//! colons, `@` and `#` included. Duplicate keys, nesting and more than 16 KiB are refused. Lines it doesn't change
//! are written back as they were read, so that unknown keys, their order and comments survive.

use std::fmt;

/// The largest front matter that is read.
pub const FRONT_MATTER_MAX: usize = 16 * 1024;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
}

impl Value {
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }
}

/// What is wrong with a front matter, and on which line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatterFault {
    pub line: usize,
    pub what: String,
}

impl fmt::Display for FrontMatterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// The line as it stands in the file, without its line end.
    raw: String,
    /// Absent in blank lines and comments.
    entry: Option<(String, Value)>,
}

/// The lines between the `---` marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    lines: Vec<Line>,
}

/// A file's front matter, where it has one, and the rest.
#[derive(Debug, PartialEq)]
pub struct Split<'a> {
    pub front: Option<FrontMatter>,
    pub body: &'a str,
}

/// Splits a file. Text that doesn't begin with a `---` line has no front matter.
pub fn parse_front_matter(text: &str) -> Result<Split<'_>, FrontMatterFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return Ok(Split { front: None, body: text });
    };
    let mut front = FrontMatter::default();
    let mut used = 0;
    for (index, line) in rest.split_inclusive('\n').enumerate() {
        let number = index + 2;
        used += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        if bare == "---" {
            return Ok(Split { front: Some(front), body: &rest[used..] });
        }
        if used > FRONT_MATTER_MAX {
            return fault(number, format!("the front matter is larger than {FRONT_MATTER_MAX} bytes"));
        }
        front.push(number, bare)?;
    }
    fault(1, "the front matter that opens with `---` is never closed".to_string())
}

fn fault<T>(line: usize, what: String) -> Result<T, FrontMatterFault> {
    Err(FrontMatterFault { line, what })
}

impl FrontMatter {
    fn push(&mut self, number: usize, raw: &str) -> Result<(), FrontMatterFault> {
        let entry = parse_line(raw).or_else(|what| fault(number, what))?;
        if let Some((key, _)) = &entry
            && self.get(key).is_some()
        {
            return fault(number, format!("the key `{key}` stands there twice"));
        }
        self.lines.push(Line { raw: raw.to_string(), entry });
        Ok(())
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The text of a key; absent where it is missing or empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_text).filter(|text| !text.is_empty())
    }

    /// The items of a key: a list, or one plain text.
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Some(Value::List(items)) => items.clone(),
            Some(Value::Text(text)) if !text.is_empty() => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.lines.iter().filter_map(|line| line.entry.as_ref().map(|(key, value)| (key.as_str(), value)))
    }

    /// Sets a key where it stands, or adds it at the end.
    pub fn set(&mut self, key: &str, value: Value) {
        self.put(key, render_line(key, &value), value);
    }

    pub fn set_text(&mut self, key: &str, text: impl Into<String>) {
        self.set(key, Value::Text(text.into()));
    }

    pub fn set_number(&mut self, key: &str, number: impl fmt::Display) {
        self.put(key, format!("{key}: {number}"), Value::Text(number.to_string()));
    }

    fn put(&mut self, key: &str, raw: String, value: Value) {
        let line = Line { raw, entry: Some((key.to_string(), value)) };
        let same = |line: &Line| line.entry.as_ref().is_some_and(|(name, _)| name == key);
        match self.lines.iter_mut().find(|line| same(line)) {
            Some(place) => *place = line,
            None => self.lines.push(line),
        }
    }

    pub fn remove(&mut self, key: &str) {
        self.lines.retain(|line| line.entry.as_ref().is_none_or(|(name, _)| name != key));
    }

    /// The whole file again.
    pub fn render(&self, body: &str) -> String {
        let mut text = String::from("---\n");
        for line in &self.lines {
            text.push_str(&line.raw);
            text.push('\n');
        }
        text.push_str("---\n");
        text.push_str(body);
        text
    }
}

fn parse_line(raw: &str) -> Result<Option<(String, Value)>, String> {
    let bare = raw.trim();
    if bare.is_empty() || bare.starts_with('#') {
        return Ok(None);
    }
    let Some((key, rest)) = raw.split_once(':') else {
        return Err("not `key: value`".to_string());
    };
    if !is_key(key) {
        return Err(format!("`{}` is not a key: front matter is flat", super::text::one_line(key, 40)));
    }
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return Err(format!("a space is missing after `{key}:`"));
    }
    Ok(Some((key.to_string(), parse_value(rest.trim())?)))
}

fn is_key(key: &str) -> bool {
    key.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn parse_value(text: &str) -> Result<Value, String> {
    if let Some(rest) = text.strip_prefix('"') {
        let (value, after) = parse_quoted(rest)?;
        return match after.trim() {
            "" => Ok(Value::Text(value)),
            after if after.starts_with('#') => Ok(Value::Text(value)),
            _ => Err("text after the closing quote".to_string()),
        };
    }
    if let Some(rest) = text.strip_prefix('[') {
        // `[sic] a subject` is a plain value that happens to begin with a bracket.
        return if rest.trim_end().ends_with(']') {
            parse_list(rest)
        } else {
            Ok(Value::Text(text.to_string()))
        };
    }
    Ok(Value::Text(text.to_string()))
}

fn parse_list(rest: &str) -> Result<Value, String> {
    let mut items = Vec::new();
    let mut rest = rest.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            return if after.trim().is_empty() {
                Ok(Value::List(items))
            } else {
                Err("text after the closing bracket".into())
            };
        }
        let (item, after) = parse_item(rest)?;
        items.push(item);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with(']') => {}
            None => return Err("a list needs `,` between its items and `]` at its end".to_string()),
        }
    }
}

fn parse_item(rest: &str) -> Result<(String, &str), String> {
    if let Some(quoted) = rest.strip_prefix('"') {
        return parse_quoted(quoted);
    }
    let end = rest.find([',', ']']).ok_or("a list is never closed")?;
    let item = rest[..end].trim();
    if item.is_empty() {
        return Err("an empty item in a list".to_string());
    }
    Ok((item.to_string(), &rest[end..]))
}

fn parse_quoted(rest: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut chars = rest.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => return Ok((value, &rest[index + 1..])),
            '\\' => value.push(parse_escape(&mut chars)?),
            c => value.push(c),
        }
    }
    Err("a quoted text is never closed".to_string())
}

fn parse_escape(chars: &mut std::str::CharIndices<'_>) -> Result<char, String> {
    let code = |chars: &mut std::str::CharIndices<'_>, length: usize| {
        let digits: String = chars.by_ref().take(length).map(|(_, c)| c).collect();
        u32::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| digits.len() == length)
            .and_then(char::from_u32)
            .ok_or_else(|| format!("`\\{digits}` is not a character"))
    };
    match chars.next().map(|(_, c)| c) {
        Some('n') => Ok('\n'),
        Some('t') => Ok('\t'),
        Some('r') => Ok('\r'),
        Some('0') => Ok('\0'),
        Some(c @ ('"' | '\\' | '/')) => Ok(c),
        Some('x') => code(chars, 2),
        Some('u') => code(chars, 4),
        Some('U') => code(chars, 8),
        other => Err(format!("unknown escape `\\{}`", other.map(String::from).unwrap_or_default())),
    }
}

fn render_line(key: &str, value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{key}: {}", render_text(text)),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| render_item(item)).collect();
            format!("{key}: [{}]", items.join(", "))
        }
    }
}

fn render_text(text: &str) -> String {
    if is_plain(text) { text.to_string() } else { render_quoted(text) }
}

fn render_item(item: &str) -> String {
    if is_plain(item) && !item.contains([',', ']', '[', '{', '}']) {
        item.to_string()
    } else {
        render_quoted(item)
    }
}

/// Whether every YAML reader, old or new, takes the bare text as that very text.
fn is_plain(text: &str) -> bool {
    let safe_first = |c: char| c.is_ascii_alphanumeric() || c == '/' || (c.is_alphabetic() && !c.is_ascii());
    let safe = |c: char| c.is_alphanumeric() || " -_./+@(),;!?'=*%$^:".contains(c);
    let colons = text
        .match_indices(':')
        .all(|(at, _)| text[at + 1..].chars().next().is_some_and(|next| !next.is_whitespace()));
    text.starts_with(safe_first)
        && text.chars().all(safe)
        && colons
        && !text.ends_with(' ')
        && !is_number(text)
        && !WORDS.contains(&text.to_lowercase().as_str())
}

/// Words that some reader takes for a truth or for nothing.
const WORDS: [&str; 11] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"];

/// Whether some reader takes it for a number, a date or a time of day. A time stamp of ours is text to all of them.
fn is_number(text: &str) -> bool {
    let bare = text.replace('_', "").to_lowercase();
    bare.parse::<f64>().is_ok()
        || ["0x", "0o", "0b"].iter().any(|prefix| bare.starts_with(prefix))
        || bare.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+".contains(&byte))
}

fn render_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control()
                || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}') =>
            {
                quoted.push_str(&format!("\\U{:08X}", c as u32));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod yaml;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn front(text: &str) -> FrontMatter {
        parse_front_matter(text).unwrap().front.unwrap()
    }

    #[test]
    fn reads_what_people_type() {
        let check = |line: &str, expected: &str| {
            assert_eq!(front(&format!("---\nk: {line}\n---\n")).text("k"), Some(expected), "{line}");
        };
        check("Fix: the thing", "Fix: the thing");
        check("@ceo", "@ceo");
        check("issue #12 is open", "issue #12 is open");
        check("\"a \\\"b\\\" \\u00e9\"  # said so", "a \"b\" é");
        check("[sic] a subject", "[sic] a subject");
        check("it's", "it's");
        check("- dash", "- dash");
    }

    #[test]
    fn reads_lists_and_single_items_alike() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(front(&format!("---\nto: {line}\n---\n")).list("to"), expected, "{line}");
        };
        check("[rd, management]", &["rd", "management"]);
        check("rd", &["rd"]);
        check("[\"a, b\", c]", &["a, b", "c"]);
        check("[]", &[]);
        check("", &[]);
    }

    #[test]
    fn refuses_with_the_line() {
        let check = |text: &str, line: usize, part: &str| {
            let fault = parse_front_matter(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}");
            assert!(fault.what.contains(part), "{}", fault.what);
        };
        check("---\na: 1\na: 2\n---\n", 3, "twice");
        check("---\na: 1\n", 1, "never closed");
        check("---\n  nested: 1\n---\n", 2, "flat");
        check("---\nno colon\n---\n", 2, "not `key: value`");
        check("---\na: \"open\n---\n", 2, "never closed");
        check("---\na: [x, , y]\n---\n", 2, "empty item");
        check("---\na:b\n---\n", 2, "space is missing");
        check(&format!("---\na: {}\n---\n", "x".repeat(FRONT_MATTER_MAX)), 2, "larger than");
    }

    #[test]
    fn text_without_marks_has_none() {
        assert_eq!(parse_front_matter("# hi\n---\n").unwrap().front, None);
        assert_eq!(parse_front_matter("").unwrap().body, "");
        assert_eq!(parse_front_matter("----\nx").unwrap().front, None);
    }

    #[test]
    fn a_rewrite_keeps_what_it_does_not_know() {
        let text = "---\nid: x\n# a person's comment\nodd:   spaced  \nstatus: pending\nlast: [b, a]\n---\nbody\n---\nmore";
        let split = parse_front_matter(text).unwrap();
        let mut front = split.front.unwrap();
        front.set_text("status", "actioned");
        let expected = text.replace("status: pending", "status: actioned");
        assert_eq!(front.render(split.body), expected);
    }

    #[test]
    fn writes_what_yaml_reads_as_the_same_text() {
        let check = |text: &str, line: &str| assert_eq!(render_text(text), line);
        check("plain words", "plain words");
        check("m-20261118-004201-7f3k2q", "m-20261118-004201-7f3k2q");
        check("2026-11-18T00:42:01Z", "2026-11-18T00:42:01Z");
        check("yes", "\"yes\"");
        check("12", "\"12\"");
        check("2026-11-18", "\"2026-11-18\"");
        check("Fix: it", "\"Fix: it\"");
        check("a #b", "\"a #b\"");
        check("", "\"\"");
        check("- x", "\"- x\"");
        check("line\nbreak", "\"line\\nbreak\"");
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>(), items in prop::collection::vec(any::<String>(), 0..4)) {
            let mut written = FrontMatter::default();
            written.set_text("subject", text.clone());
            written.set("to", Value::List(items.clone()));
            if written.render("").len() < FRONT_MATTER_MAX {
                let rendered = written.render("body");
                let split = parse_front_matter(&rendered).unwrap();
                let read = split.front.unwrap();
                prop_assert_eq!(read.get("subject").unwrap().as_text().unwrap(), text.as_str());
                prop_assert_eq!(read.get("to").unwrap(), &Value::List(items));
                prop_assert_eq!(split.body, "body");
            }
        }

        #[test]
        fn any_input_is_read_or_refused(text in "(---\n)?[ -~\n\\[\\]\",:#é]{0,200}(---\n)?") {
            if let Ok(Split { front: Some(front), body }) = parse_front_matter(&text) {
                let again = front.render(body);
                prop_assert_eq!(parse_front_matter(&again).unwrap().front.unwrap(), front);
            }
        }
    }
}
