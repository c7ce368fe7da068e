//! Tells the code, the comments and the literals of a Rust file apart, well enough for rules about text.
//!
//! It knows line and nested block comments, strings with escapes, raw and byte strings, characters, and lifetimes.
//! It does not know macros or grammar. Every view keeps the line breaks, so that line numbers hold in all of them.

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Code,
    Comment,
    Literal,
}

/// The file with everything but one kind blanked out.
pub fn only(text: &str, wanted: Kind) -> String {
    let mut view = String::with_capacity(text.len());
    for (kind, part) in parts(text) {
        match kind == wanted {
            true => view.push_str(part),
            false => view.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
    }
    view
}

/// The contents of the file's string literals, their quotes left out and their escapes as written.
pub fn strings(text: &str) -> Vec<&str> {
    let literals =
        parts(text).into_iter().filter(|(kind, part)| *kind == Kind::Literal && !part.starts_with('\''));
    literals
        .filter_map(|(_, part)| Some(part.split_once('"')?.1.trim_end_matches('#').trim_end_matches('"')))
        .collect()
}

pub fn parts(text: &str) -> Vec<(Kind, &str)> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let in_word = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let Some((kind, length)) = opening(&text[at..], in_word) else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        parts.push((Kind::Code, &text[from..at]));
        parts.push((kind, &text[at..at + length]));
        at += length;
        from = at;
    }
    parts.push((Kind::Code, &text[from..]));
    parts
}

/// The comment or literal that begins here, and its length.
fn opening(rest: &str, in_word: bool) -> Option<(Kind, usize)> {
    if rest.starts_with("//") {
        return Some((Kind::Comment, rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return Some((Kind::Comment, block_comment(rest)));
    }
    if rest.starts_with('\'') {
        return character(rest).map(|length| (Kind::Literal, length));
    }
    // A prefix counts at the start of a word alone: the r of `for"` is none.
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
            && (prefix.is_empty() || !in_word)
    })?;
    let body = &rest[prefix.len()..];
    let length = if prefix.ends_with('r') {
        raw_string(body)
    } else if body.starts_with('"') {
        string(body)
    } else {
        return None;
    };
    Some((Kind::Literal, prefix.len() + length))
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        let here = &rest[at..];
        at += match here {
            _ if here.starts_with("/*") => {
                depth += 1;
                2
            }
            _ if here.starts_with("*/") => {
                depth -= 1;
                2
            }
            _ => here.chars().next().map_or(1, char::len_utf8),
        };
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> usize {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let close = format!("\"{}", "#".repeat(hashes));
    let body = hashes + 1;
    rest.get(body..).and_then(|text| text.find(&close)).map_or(rest.len(), |at| body + at + close.len())
}

/// `'x'` and `'\n'` are characters; `'a` without a closing quote is a lifetime, and code.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (at, _) = chars.nth(1).into_iter().chain(chars).find(|(_, c)| *c == '\'')?;
        return Some(at + 1);
    }
    let (at, second) = chars.next()?;
    (second == '\'' && first != '\'').then_some(at + 1)
}

/// A function with a body: its name, its first line and how many lines it takes.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Measured from `fn` to the brace that closes the body.
pub fn functions(text: &str) -> Vec<Function> {
    let code = only(text, Kind::Code);
    code.match_indices("fn ").filter_map(|(at, _)| function(&code, at)).collect()
}

fn function(code: &str, at: usize) -> Option<Function> {
    let in_word = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if in_word || name.is_empty() {
        return None;
    }
    let length = body_end(&code[at..])?;
    let line = code[..at].matches('\n').count() + 1;
    Some(Function { name, line, lines: code[at..at + length].matches('\n').count() + 1 })
}

/// Where the body's last brace is. A `;` outside brackets before any body ends a declaration that has none.
fn body_end(code: &str) -> Option<usize> {
    let (mut brackets, mut braces) = (0i32, 0i32);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        if c == '}' && braces == 0 && brackets == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, code: &str) {
        let view = only(text, Kind::Code);
        assert_eq!(view.split_whitespace().collect::<Vec<_>>().join(" "), code, "{text}");
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check(r#"a("b // c \" d") e"#, "a( ) e");
        check(r##"a r#"b " c"# d"##, "a d");
        check(r#"a b"b" c"c" br"d" r"\" e"#, "a e");
        check(r"a '{' '\'' '\u{7b}' '\\' 'é' b", "a b");
        check("fn a<'b>(c: &'b str) {}", "fn a<'b>(c: &'b str) {}");
        check(r#"'a: for"x""#, "'a: for");
        check("a /* never closed", "a");
        check("a \"never closed", "a");
        check("r#type + b'{' + b'\\''", "r#type + b + b");
    }

    #[test]
    fn strings_are_read_out() {
        assert_eq!(strings(r###"a("x/y.md", r#"z"#, '"', "") // "no""###), ["x/y.md", "z", ""]);
    }

    #[test]
    fn functions_are_measured() {
        let text = "fn a() {\n  \"}\"; // }\n  '}'\n}\ntrait T { fn b(&self, x: [u8; 2]);\n fn c() {} }\n\
                    type F = fn(u8);\nfn d<T>(x: T) -> [u8; 3]\nwhere T: Copy {\n  if x { y }\n}\n";
        let found: Vec<_> = functions(text).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("a".into(), 1, 4), ("c".into(), 6, 1), ("d".into(), 8, 4)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]
        #[test]
        fn parts_make_up_the_text(text in "[a-zé\"'#/*\\\\{}\n rb;]{0,60}") {
            let whole: String = parts(&text).into_iter().map(|(_, part)| part).collect();
            prop_assert_eq!(&whole, &text);
            prop_assert_eq!(only(&text, Kind::Code).matches('\n').count(), text.matches('\n').count());
            let _ = (functions(&text), strings(&text));
        }
    }
}
