//! An agent of a department's roster, as it stands in `agents/<name>.md`: who may own tasks, and what works for it.
//!
//! The front matter names it, its role and perhaps an engine or a pipeline of `org.toml`; the body says what it is for.

use super::front_matter::{FrontMatter, parse_front_matter};
use super::id::Dept;
use super::message::Provenance;
use super::time::{Time, parse_rfc3339, render_rfc3339};

/// The newest format this program knows.
pub const AGENT_SCHEMA: u64 = 1;
/// The longest name.
const NAME_MAX: usize = 32;
/// Names that stand for somebody else: `lead` and `director` are the department's director.
pub const RESERVED: [&str; 9] =
    ["lead", "director", "user", "human", "harness", "file", "validator", "none", "board"];

/// What works for an agent when it is given a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Works {
    /// Nobody that the tool could start: a person, or a program that looks at the board itself.
    ByItself,
    Engine(String),
    Pipeline(String),
}

/// One agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    pub name: String,
    pub role: String,
    pub purpose: String,
    pub works: Works,
    pub created: Time,
    pub created_by: String,
    pub provenance: Provenance,
    /// When it left, and why.
    pub retired: Option<Time>,
    pub retired_why: Option<String>,
    front: FrontMatter,
}

/// What a new agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAgent {
    pub name: String,
    pub role: String,
    pub purpose: String,
    pub works: Works,
}

/// Whether a text can be an agent's name: one word that can be mentioned as `@name`.
pub fn is_agent_name(text: &str) -> bool {
    (1..=NAME_MAX).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.ends_with('-')
}

/// Whether a name is somebody else's.
pub fn is_reserved(name: &str, dept: &Dept) -> bool {
    RESERVED.contains(&name) || name == dept.as_str()
}

/// Words that stay small in a title.
const SMALL: [&str; 8] = ["of", "and", "the", "for", "in", "to", "a", "at"];

/// Whether a role is in title case: every word begins with a capital letter or a digit, but for small ones inside.
pub fn is_title_case(role: &str) -> bool {
    let capital = |(index, word): (usize, &str)| {
        word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
            || (index > 0 && SMALL.contains(&word))
    };
    (1..=60).contains(&role.chars().count())
        && role.split(' ').enumerate().all(capital)
        && role.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '&' | '/' | '.' | '\''))
}

/// Reads an agent whose file has this name.
pub fn parse_agent(text: &str, name: &str) -> Result<Agent, String> {
    let split = parse_front_matter(text).map_err(|fault| fault.to_string())?;
    let front = split.front.ok_or("it has no front matter")?;
    match front.text("schema").and_then(|schema| schema.parse::<u64>().ok()) {
        Some(AGENT_SCHEMA) => {}
        _ => {
            let found = super::text::one_line(front.text("schema").unwrap_or("missing"), 20);
            return Err(format!("its schema is {found}, and this program knows {AGENT_SCHEMA}"));
        }
    }
    let need = |key: &str| front.text(key).map(str::to_string).ok_or_else(|| format!("`{key}` is missing"));
    let time = |key: &str| match front.text(key) {
        None => Ok(None),
        Some(text) => parse_rfc3339(text).map(Some).ok_or_else(|| format!("`{key}` is no time")),
    };
    if need("name")? != name {
        return Err("`name` is not that of the file".to_string());
    }
    if !is_agent_name(name) {
        return Err("its name is no agent's: use a-z, 0-9 and -, first a letter".to_string());
    }
    let works = match (front.text("engine"), front.text("pipeline")) {
        (None, None) => Works::ByItself,
        (Some(engine), None) => Works::Engine(engine.to_string()),
        (None, Some(pipeline)) => Works::Pipeline(pipeline.to_string()),
        (Some(_), Some(_)) => return Err("it names an engine and a pipeline: one of them".to_string()),
    };
    Ok(Agent {
        name: name.to_string(),
        role: need("role")?,
        purpose: split.body.trim().to_string(),
        works,
        created: time("created")?.ok_or("`created` is missing")?,
        created_by: front.text("created_by").unwrap_or("file").to_string(),
        provenance: front.text("provenance").and_then(Provenance::parse).unwrap_or(Provenance::External),
        retired: time("retired")?,
        retired_why: front.text("retired_why").map(str::to_string),
        front,
    })
}

impl Agent {
    pub fn new(new: &NewAgent, by: &str, provenance: Provenance, now: Time) -> Agent {
        Agent {
            name: new.name.clone(),
            role: new.role.clone(),
            purpose: new.purpose.trim().to_string(),
            works: new.works.clone(),
            created: now,
            created_by: by.to_string(),
            provenance,
            retired: None,
            retired_why: None,
            front: FrontMatter::default(),
        }
    }

    pub fn is_active(&self) -> bool {
        self.retired.is_none()
    }

    /// The whole file.
    pub fn render(&self) -> String {
        let mut front = self.front.clone();
        front.set_number("schema", AGENT_SCHEMA);
        front.set_text("name", &self.name);
        front.set_text("role", &self.role);
        let (engine, pipeline) = match &self.works {
            Works::ByItself => (None, None),
            Works::Engine(name) => (Some(name.clone()), None),
            Works::Pipeline(name) => (None, Some(name.clone())),
        };
        let texts = [
            ("engine", engine),
            ("pipeline", pipeline),
            ("created_by", Some(self.created_by.clone())),
            ("created", Some(render_rfc3339(self.created))),
            ("provenance", Some(self.provenance.name().to_string())),
            ("retired", self.retired.map(render_rfc3339)),
            ("retired_why", self.retired_why.clone()),
        ];
        for (key, value) in texts {
            match value {
                Some(value) => front.set_text(key, value),
                None => front.remove(key),
            }
        }
        front.render(&format!("{}\n", self.purpose))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_roles() {
        for (name, good) in [
            ("ann", true),
            ("copy-writer-2", true),
            ("Ann", false),
            ("2b", false),
            ("a b", false),
            ("a-", false),
            ("", false),
        ] {
            assert_eq!(is_agent_name(name), good, "{name}");
        }
        for (role, good) in [
            ("Copy Writer", true),
            ("Head of Sales", true),
            ("of Sales", false),
            ("QA Engineer", true),
            ("writer", false),
            ("", false),
            ("Two  Spaces", false),
        ] {
            assert_eq!(is_title_case(role), good, "{role}");
        }
    }

    #[test]
    fn an_agent_comes_back() {
        let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
        let new = NewAgent {
            name: "ann".into(),
            role: "Copy Writer".into(),
            purpose: "Writes mails.".into(),
            works: Works::Engine("rules".into()),
        };
        let agent = Agent::new(&new, "user", Provenance::Human, now);
        let text = agent.render();
        assert_eq!(
            text,
            "---\nschema: 1\nname: ann\nrole: Copy Writer\nengine: rules\ncreated_by: user\n\
             created: 2026-11-18T00:42:01Z\nprovenance: human\n---\nWrites mails.\n"
        );
        assert_eq!(parse_agent(&text, "ann").unwrap().render(), text);
        for (from, to, part) in [
            ("schema: 1", "schema: 2", "schema is 2"),
            ("name: ann", "name: bob", "not that of the file"),
            ("role: Copy Writer\n", "", "`role` is missing"),
            ("engine: rules", "engine: rules\npipeline: coding", "one of them"),
            ("created: 2026-11-18T00:42:01Z", "created: then", "no time"),
        ] {
            let fault = parse_agent(&text.replace(from, to), "ann").unwrap_err();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
