//! Rendering templates that may be hostile, in bounded time, memory and output.
//!
//! The language is the part of minijinja that can't grow without bound:
//!
//! ```text
//! {{ expression }}   {% if %} {% elif %} {% else %} {% endif %}   {% for %} {% endfor %}   {% include "name" %}   {# #}
//! ```
//!
//! Fuel bounds the steps and a capped writer the output, but neither sees a value that doubles before it is written:
//! `{% set a = a ~ a %}`, forty times, is a terabyte. So there is no `set`, `with`, `macro` or `filter` block, none of
//! `* ~ +`, and every filter whose result can be longer than its input has a cap of its own. Undefined names are
//! errors, with file and line.
//!
//! The parser is a third thing that has to be kept in bounds: chains such as `- - - 1`, `a.a.a` or a thousand `elif`
//! become a tree as deep as they are long, and end the process where the stack does. So expressions, `elif`s and lines
//! have a cap before the parser sees them.

use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Steps that one rendering may take.
const FUEL: u64 = 400_000;
/// The longest text that a filter may make.
const FILTER_MAX: usize = 1024 * 1024;
/// The bytes that all filters of one rendering may make together: each counts as one step, however long its text is.
const FILTERS_MAX: usize = 32 * 1024 * 1024;
/// Room for most output, so that it needn't be moved while it grows.
const USUAL_BYTES: usize = 16 * 1024;
/// How deep includes may nest.
const DEPTH: usize = 16;
/// The longest expression or tag, in bytes: a chain in it is at most so deep.
const EXPRESSION_MAX: usize = 1_000;
/// The most `elif`s of one template: each is an `if` inside the one before.
const ELIFS_MAX: usize = 100;
/// The longest line, in bytes: the parser counts columns in sixteen bits.
const LINE_MAX: usize = 60_000;
const TAGS: [&str; 7] = ["if", "elif", "else", "endif", "for", "endfor", "include"];

/// Where a template's text comes from, by name. Names are checked before they get here.
pub trait Sources: Send + Sync {
    fn find(&self, name: &str) -> Result<Option<Source>, String>;
}

/// A template's text and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub text: String,
    /// A path, or `embedded`.
    pub origin: String,
}

/// What is wrong with a template, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFault {
    pub file: String,
    pub line: Option<usize>,
    pub what: String,
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// Renders named templates from one set of sources.
pub struct Renderer {
    environment: Environment<'static>,
    sources: Arc<dyn Sources>,
}

impl Renderer {
    pub fn new(sources: Arc<dyn Sources>) -> Renderer {
        let mut environment = plain_environment();
        let loader = Arc::clone(&sources);
        environment.set_loader(move |name| load(loader.as_ref(), name));
        Renderer { environment, sources }
    }

    /// Renders a template into at most `most` bytes.
    pub fn render(&self, name: &str, values: &Value, most: usize) -> Result<String, TemplateFault> {
        let template = self.environment.get_template(name).map_err(|error| self.fault(name, &error))?;
        let mut output = Capped { bytes: Vec::with_capacity(most.min(USUAL_BYTES)), most };
        let rendered = template.render_captured_to(values.clone(), &mut output);
        rendered.map_err(|error| self.fault(name, &error))?;
        String::from_utf8(output.bytes).map_err(|_| TemplateFault {
            file: name.to_string(),
            line: None,
            what: "its output is not UTF-8".to_string(),
        })
    }

    /// The innermost file and line of an error, by the path a person knows.
    fn fault(&self, name: &str, error: &Error) -> TemplateFault {
        let mut inner = error;
        while let Some(next) =
            std::error::Error::source(inner).and_then(|source| source.downcast_ref::<Error>())
        {
            inner = next;
        }
        let name = inner.name().unwrap_or(name);
        let origin = self.sources.find(name).ok().flatten().map(|source| source.origin);
        let file = match origin.as_deref() {
            Some("embedded") | None => name.to_string(),
            Some(path) => path.to_string(),
        };
        TemplateFault { file, line: inner.line(), what: say(inner) }
    }
}

/// Renders one short template that stands in a value, such as a playbook's field.
pub fn render_text(text: &str, values: &Value, most: usize) -> Result<String, String> {
    check_language(text).map_err(|(line, what)| format!("line {line}: {what}"))?;
    let environment = plain_environment();
    let template = environment.template_from_str(text).map_err(|error| say(&error))?;
    let mut output = Capped { bytes: Vec::new(), most };
    template.render_captured_to(values.clone(), &mut output).map_err(|error| say(&error))?;
    String::from_utf8(output.bytes).map_err(|_| "its output is not UTF-8".to_string())
}

fn plain_environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(DEPTH * 4);
    let budget = Arc::new(AtomicUsize::new(0));
    let with_budget = |filter: fn(&str) -> String| {
        let budget = Arc::clone(&budget);
        move |text: &str| spend(&budget, filter(text))
    };
    environment.add_filter("trim", with_budget(|text| text.trim().to_string()));
    environment.add_filter("lower", with_budget(str::to_lowercase));
    environment.add_filter("upper", with_budget(str::to_uppercase));
    environment.add_filter("length", |value: Value| value.len().unwrap_or(0));
    let spent = Arc::clone(&budget);
    environment.add_filter("replace", move |text: &str, from: &str, to: &str| {
        spend(&spent, replace(text, from, to)?)
    });
    environment
        .add_filter("join", move |items: Value, between: Option<&str>| spend(&budget, join(items, between)?));
    environment
}

fn spend(budget: &AtomicUsize, text: String) -> Result<String, Error> {
    let spent = budget.fetch_add(text.len(), Ordering::Relaxed) + text.len();
    if spent > FILTERS_MAX {
        let what = format!("its filters would make more than {FILTERS_MAX} bytes");
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    }
    Ok(text)
}

fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let growth = text.matches(from).count().saturating_mul(to.len());
    if growth.saturating_add(text.len()) > FILTER_MAX {
        return Err(too_long("replace"));
    }
    Ok(text.replace(from, to))
}

fn join(items: Value, between: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        if index > 0 {
            text.push_str(between.unwrap_or(""));
        }
        match item.as_str() {
            Some(item) => text.push_str(item),
            None if item.is_number() => text.push_str(&item.to_string()),
            None => return Err(Error::new(ErrorKind::InvalidOperation, "join takes a list of texts")),
        }
        if text.len() > FILTER_MAX {
            return Err(too_long("join"));
        }
    }
    Ok(text)
}

fn too_long(filter: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{filter} would make more than {FILTER_MAX} bytes"))
}

fn load(sources: &dyn Sources, name: &str) -> Result<Option<String>, Error> {
    if !is_template_name(name) {
        let what = format!("`{}` is not the name of a prompt file", super::text::one_line(name, 80));
        return Err(Error::new(ErrorKind::TemplateNotFound, what));
    }
    let found = sources.find(name).map_err(|what| Error::new(ErrorKind::InvalidOperation, what))?;
    let Some(source) = found else { return Ok(None) };
    match check_language(&source.text) {
        Ok(()) => Ok(Some(source.text)),
        Err((line, what)) => {
            let what = format!("line {line}: {what}");
            Err(Error::new(ErrorKind::SyntaxError, what))
        }
    }
}

/// A relative name of plain parts, ending in `.md`: never a path out of the folders of prompts.
pub fn is_template_name(name: &str) -> bool {
    let part = |part: &str| {
        part.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    name.len() <= 200 && name.ends_with(".md") && name.split('/').all(part)
}

fn say(error: &Error) -> String {
    let kind = match error.kind() {
        ErrorKind::OutOfFuel => return "it takes too many steps".to_string(),
        ErrorKind::WriteFailure => return "its output is too long".to_string(),
        ErrorKind::UndefinedError => "a name in it is not defined".to_string(),
        kind => kind.to_string(),
    };
    match error.detail() {
        Some(detail) => super::text::one_line(&format!("{kind}: {detail}"), 300),
        None => kind,
    }
}

/// Refuses what the language leaves out, with its line.
fn check_language(text: &str) -> Result<(), (usize, String)> {
    if let Some(at) = text.lines().position(|line| line.len() > LINE_MAX) {
        return Err((at + 1, format!("a line has more than {LINE_MAX} bytes")));
    }
    let mut rest = text;
    let mut elifs = 0;
    let line = |rest: &str| text[..text.len() - rest.len()].matches('\n').count() + 1;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        // Counted only for a fault: at every brace, a file of braces would take the square of its length.
        let here = rest;
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.find("#}").map_or("", |end| &comment[end + 2..]);
        } else if let Some(expression) = rest.strip_prefix('{') {
            rest = check_inside(expression, "}}").map_err(|what| (line(here), what))?;
        } else if let Some(tag) = rest.strip_prefix('%') {
            let word = tag.trim_start_matches(['-', '+', ' ', '\t', '\n', '\r']);
            let word: String = word.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if !TAGS.contains(&word.as_str()) {
                let word = super::text::one_line(&word, 40);
                return Err((line(here), format!("`{{% {word} %}}` is not part of the template language")));
            }
            elifs += usize::from(word == "elif");
            if elifs > ELIFS_MAX {
                return Err((line(here), format!("there are more than {ELIFS_MAX} `elif`")));
            }
            let inside = tag.trim_start_matches(['-', '+']);
            rest = check_inside(inside, "%}").map_err(|what| (line(here), what))?;
        }
    }
    Ok(())
}

/// The rest after the end of an expression; operators that make values longer are refused.
fn check_inside<'a>(inside: &'a str, end: &str) -> Result<&'a str, String> {
    let mut chars = inside.char_indices();
    let too_long = || Err(format!("an expression has more than {EXPRESSION_MAX} bytes"));
    while let Some((at, c)) = chars.next() {
        if at > EXPRESSION_MAX {
            return too_long();
        }
        if inside[at..].starts_with(end) {
            return Ok(&inside[at + end.len()..]);
        }
        match c {
            '"' | '\'' => skip_quoted(&mut chars, c),
            '+' if inside[at + 1..].starts_with(end) => {}
            '*' | '~' | '+' => return Err(format!("`{c}` is not part of the template language")),
            _ => {}
        }
    }
    // An expression that never ends is the parser's to refuse.
    if inside.len() > EXPRESSION_MAX { too_long() } else { Ok("") }
}

fn skip_quoted(chars: &mut std::str::CharIndices<'_>, quote: char) {
    while let Some((_, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return;
        }
    }
}

/// A writer that refuses to grow past its cap.
struct Capped {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::Error::other("the output is too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    struct Map(BTreeMap<&'static str, &'static str>);

    impl Sources for Map {
        fn find(&self, name: &str) -> Result<Option<Source>, String> {
            Ok(self.0.get(name).map(|text| Source { text: text.to_string(), origin: format!("/p/{name}") }))
        }
    }

    fn render(files: &[(&'static str, &'static str)]) -> Result<String, String> {
        let sources = Arc::new(Map(files.iter().copied().collect()));
        let values =
            minijinja::context! { dept => "rd", list => vec!["a", "b"], long => "x".repeat(100_000) };
        Renderer::new(sources).render(files[0].0, &values, 1_000_000).map_err(|fault| fault.to_string())
    }

    fn check(text: &'static str, expected: &str) {
        assert_eq!(render(&[("a.md", text)]).unwrap_or_else(|fault| fault), expected, "{text}");
    }

    #[test]
    fn renders_the_language() {
        check("{{ dept }} {# * #}{% if list %}{{ list | join(\", \") }}{% endif %}", "rd a, b");
        check("{%- for x in list %}{{ x }}{% if not loop.last %};{% endif %}{% endfor -%}", "a;b");
        check("{{ dept | replace('r', '*') }}", "*d");
        assert_eq!(render(&[("a.md", "{% include 'b/c.md' %}"), ("b/c.md", "in")]).unwrap(), "in");
    }

    #[test]
    fn names_file_and_line() {
        check("one\n{{ nobody }}\n", "/p/a.md:2: a name in it is not defined");
        check("one\n{% if %}", "/p/a.md:2: syntax error: unexpected end of block");
    }

    #[test]
    fn refuses_what_can_grow() {
        for text in [
            "{% set a = 1 %}",
            "{% macro m() %}{% endmacro %}",
            "{{ 'x' * 100000000 }}",
            "{{ dept ~ dept }}",
            "{{ dept + dept }}",
            "{% with a = 1 %}{% endwith %}",
            "{% filter upper %}x{% endfilter %}",
            "{%-  set a %}x{% endset %}",
            "{{ '}}' ~ dept }}",
            "{% raw %}{% endraw %}",
        ] {
            let fault = render(&[("a.md", text)]).unwrap_err();
            assert!(fault.contains("not part of the template language"), "{text}: {fault}");
        }
    }

    #[test]
    fn bounds_time_and_output() {
        let loops = "{% for a in long %}{% for b in long %}{% endfor %}{% endfor %}";
        assert!(render(&[("a.md", loops)]).unwrap_err().contains("too many steps"));
        let doubles = "{{ long | replace('x', 'xxxxxxxxxxx') | replace('x', 'xxxxxxxxxxx') }}";
        assert!(render(&[("a.md", doubles)]).unwrap_err().contains("more than"));
        let works =
            "{% for a in long %}{% if long | replace('x', 'yyyyyyyy') == '' %}{% endif %}{% endfor %}";
        assert!(render(&[("a.md", works)]).unwrap_err().contains("filters would make more"));
        let writes =
            "{% for a in list %}{{ long }}{{ long }}{{ long }}{{ long }}{{ long }}{{ long }}{% endfor %}";
        assert!(render(&[("a.md", writes)]).unwrap_err().contains("too long"));
        assert!(render(&[("a.md", "{% include 'a.md' %}{% include 'a.md' %}")]).is_err());
    }

    /// Every chain that the parser follows by calling itself: as long as it may be it is read, and longer it is refused.
    /// Without the cap this test ends in a stack overflow.
    #[test]
    fn bounds_how_deep_the_parser_goes() {
        for (first, link, last) in [
            ("{{ ", "-", "1 }}"),
            ("{{ ", "not ", "1 }}"),
            ("{{ dept", ".a", " }}"),
            ("{{ dept", "|trim", " }}"),
            ("{{ dept", " and dept", " }}"),
            ("{{ 1", "-1", " }}"),
            ("{{ dept", "()", " }}"),
            ("{{ dept", "[0]", " }}"),
            ("{{ dept", "[:]", " }}"),
            ("{{ 1", " if 1 else 1", " }}"),
            ("{{ ", "(", "1 }}"),
            ("{{ ", "[", "1"),
            ("{{ \"", "a", ""),
            ("{% if ", "-", "1 %}{% endif %}"),
        ] {
            let chain = |length: usize| format!("{first}{}{last}", link.repeat(length / link.len()));
            let read = render_text(&chain(EXPRESSION_MAX - 20), &minijinja::context! { dept => "rd" }, 1_000);
            assert!(!read.is_err_and(|what| what.contains("bytes")), "{link}");
            let what =
                render_text(&chain(250_000), &minijinja::context! { dept => "rd" }, 1_000).unwrap_err();
            assert!(what.contains("more than"), "{link}: {what}");
        }
        let elifs = |count: usize| format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}\n".repeat(count));
        assert!(render_text(&elifs(ELIFS_MAX), &Value::UNDEFINED, 1_000).is_ok());
        assert!(render_text(&elifs(20_000), &Value::UNDEFINED, 1_000).unwrap_err().contains("`elif`"));
        assert!(render_text(&format!("{}{{{{ \"", "a".repeat(70_000)), &Value::UNDEFINED, 100_000).is_err());
    }

    #[test]
    fn includes_reach_only_prompts() {
        for name in ["../secret.md", "/etc/passwd", "a/../../b.md", ".hidden.md", "b.txt", "a//b.md", ""] {
            assert!(!is_template_name(name), "{name}");
            let text: &'static str = Box::leak(format!("{{% include '{name}' %}}").into_boxed_str());
            assert!(render(&[("a.md", text)]).is_err(), "{name}");
        }
        assert!(render(&[("a.md", "{% include 'missing.md' %}")]).is_err());
    }

    proptest! {
        #[test]
        fn any_template_ends(text in "[ -~\n]{0,40}(\\{\\{|\\{%)[ -~\n]{0,40}(\\}\\}|%\\})[ -~\n]{0,20}") {
            let _ = render_text(&text, &minijinja::context! { dept => "rd" }, 1_000);
        }
    }
}
