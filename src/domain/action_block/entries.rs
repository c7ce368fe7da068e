//! The JSON of an actions block: its entries, each with the line it begins on.
//!
//! It deliberately keeps no key twice and no nesting without end, and doesn't know what an action is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::fault::{BlockFaultKind, Faults};
use super::{MAX_DEPTH, MAX_ENTRIES, RawAction};

/// The entries of `body`, whose first line is `first_line` of the answer.
pub(super) fn parse_entries(body: &str, first_line: usize, faults: &mut Faults) -> Vec<RawAction> {
    let mut walk = Walk::default();
    let mut json = serde_json::Deserializer::from_str(body);
    let parsed = Node { depth: 1, walk: &mut walk }
        .deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value));
    match parsed {
        Err(error) => {
            let (line, column) = position(body, &error);
            faults.push(first_line + line - 1, walk.stopped.unwrap_or_else(|| not_json(column, &error)));
            Vec::new()
        }
        Ok(Value::Array(values)) => collect(values, &entry_lines(body, first_line), walk.duplicates, faults),
        Ok(other) => {
            faults.push(first_line, BlockFaultKind::NotArray { found: name(&other) });
            Vec::new()
        }
    }
}

/// A key that a JSON object gives twice, anywhere in it.
pub fn find_duplicate(object: &str) -> Option<String> {
    let mut walk = Walk::default();
    let mut json = serde_json::Deserializer::from_str(object);
    let _value = Node { depth: 1, walk: &mut walk }.deserialize(&mut json);
    walk.duplicates.into_iter().next().map(|(_, key)| key)
}

fn collect(
    values: Vec<Value>,
    lines: &[usize],
    duplicates: Vec<(usize, String)>,
    faults: &mut Faults,
) -> Vec<RawAction> {
    let line_of = |index: usize| lines.get(index).copied().unwrap_or_default();
    for (index, key) in duplicates {
        faults.push(line_of(index), BlockFaultKind::DuplicateKey { index, key });
    }
    let mut actions = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let line = line_of(index);
        match value {
            Value::Object(value) => actions.push(RawAction { index, line, value }),
            other => faults.push(line, BlockFaultKind::NotObject { index, found: name(&other) }),
        }
    }
    actions
}

fn not_json(column: usize, error: &serde_json::Error) -> BlockFaultKind {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    BlockFaultKind::NotJson { column, message: message.to_owned() }
}

/// Line and column of an error, both from 1, the column in characters. What happens at a line break is reported as
/// column 0 of the next line, but belongs to the end of the line before.
fn position(body: &str, error: &serde_json::Error) -> (usize, usize) {
    let line_of = |number: usize| body.split('\n').nth(number - 1).unwrap_or_default();
    match (error.line().max(1), error.column()) {
        (number @ 2.., 0) => (number - 1, line_of(number - 1).chars().count() + 1),
        (number, column) => {
            let line = line_of(number);
            (number, line[..line.floor_char_boundary(column)].chars().count().max(1))
        }
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The line that each entry of a valid JSON array begins on.
fn entry_lines(body: &str, first_line: usize) -> Vec<usize> {
    let mut lines = Vec::new();
    let mut line = first_line;
    let mut depth = 0_usize;
    let mut is_between = false;
    let mut bytes = body.bytes();
    while let Some(byte) = bytes.next() {
        if is_between && !byte.is_ascii_whitespace() && byte != b']' {
            lines.push(line);
            is_between = false;
        }
        match byte {
            b'\n' => line += 1,
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_between |= depth == 1 && matches!(byte, b'[' | b',');
    }
    lines
}

/// Moves past the end of a string whose opening quote has been read. Valid JSON has no line break in it.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

/// What the walk through the JSON came across.
#[derive(Default)]
struct Walk {
    entry: usize,
    duplicates: Vec<(usize, String)>,
    stopped: Option<BlockFaultKind>,
}

/// A value at a depth, read with an eye on what `serde_json::Value` would let pass: keys given twice keep the last
/// one, so that a check could see another value than the one meant.
struct Node<'w> {
    depth: usize,
    walk: &'w mut Walk,
}

impl Node<'_> {
    fn inner(&mut self) -> Node<'_> {
        Node { depth: self.depth + 1, walk: self.walk }
    }

    fn stop<E: serde::de::Error>(&mut self, kind: BlockFaultKind) -> E {
        self.walk.stopped = Some(kind);
        E::custom("stopped")
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.depth > MAX_DEPTH { Err(self.stop(BlockFaultKind::TooDeep)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut values = Vec::new();
        while let Some(value) = access.next_element_seed(self.inner())? {
            values.push(value);
            if self.depth == 1 {
                self.walk.entry = values.len();
                if values.len() > MAX_ENTRIES {
                    return Err(self.stop(BlockFaultKind::TooLarge));
                }
            }
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut fields = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value_seed(self.inner())?;
            if fields.contains_key(&key) && self.walk.duplicates.len() <= MAX_ENTRIES {
                self.walk.duplicates.push((self.walk.entry, key.clone()));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_know_their_lines() {
        let body = "\n [ {\"a\": \"[,\\\"\"}\n\n,\n {\"b\":\n [1,\n2]}, {}\n]\n";
        assert_eq!(entry_lines(body, 10), [11, 14, 16]);
        assert_eq!(entry_lines("[]", 1), [0_usize; 0]);
    }

    #[test]
    fn numbers_and_text_come_through_unchanged() {
        let body = r#"[{"a": [1, -2, 2.5, true, null, "x\u00e9\n", 18446744073709551615]}]"#;
        let mut faults = Faults::default();
        let actions = parse_entries(body, 1, &mut faults);
        let expected: Value = serde_json::from_str(body).unwrap();
        assert_eq!(Value::Object(actions[0].value.clone()), expected[0]);
        assert!(faults.is_empty());
    }
}
