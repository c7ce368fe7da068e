//! Assembling a prompt from its layers: what stays the same first, what changes last.
//!
//! The stable part ends inside `live-state.md`, after the notes. What is before it is byte-identical from step to step
//! and goes to the engine's system prompt where it has one. Every word a model reads is in `prompts/` or in the
//! department's own files.

use super::digest::sha256;
use super::live_state::{LiveState, Moment, STABLE_ENDS, opening_line, template_values};
use super::role::{Mode, Role, has_ceo_mode};
use super::template::{Renderer, Sources, TemplateFault};
use super::text::{escape_opening, visible};
use memchr::memmem;
use minijinja::Value;
use std::fmt;
use std::sync::Arc;

/// The longest prompt that is made.
pub const PROMPT_MAX: usize = 2 * 1024 * 1024;
/// Room for most prompts, so that they needn't be moved while they grow.
const USUAL_BYTES: usize = 32 * 1024;
/// A rough figure for people: bytes in a token.
const BYTES_PER_TOKEN: usize = 4;

/// Whose prompt, for what.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    pub dept: &'a str,
    pub role: Role,
    pub mode: Mode,
}

/// One layer, as `--explain` tells it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Layer {
    pub layer: u8,
    pub name: String,
    /// A path, `embedded`, or nothing where it is missing.
    pub origin: String,
    /// `found`, `missing` or `empty`.
    pub state: String,
    pub bytes: usize,
    pub tokens: usize,
    /// Whether all of it is in the stable prefix.
    pub stable: bool,
    pub stable_bytes: usize,
}

/// A whole prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// How much of the text, from its start, is stable.
    pub stable_bytes: usize,
    pub layers: Vec<Layer>,
}

impl Prompt {
    pub fn stable(&self) -> &str {
        &self.text[..self.stable_bytes]
    }

    pub fn tail(&self) -> &str {
        &self.text[self.stable_bytes..]
    }

    pub fn prefix_sha256(&self) -> String {
        sha256(self.stable().as_bytes())
    }
}

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptFault {
    Template(TemplateFault),
    Source {
        name: String,
        what: String,
    },
    NoBase(String),
    /// A closer that doesn't show how the block opens: no answer to it could be taken.
    NoOpening(String),
    Mode,
    StableEnds,
    TooLong(usize),
}

impl fmt::Display for PromptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromptFault::Template(fault) => write!(f, "{fault}"),
            PromptFault::Source { name, what } => write!(f, "{name}: {what}"),
            PromptFault::NoBase(file) => write!(f, "{file} is missing or empty, and every prompt needs it"),
            PromptFault::NoOpening(file) => {
                write!(
                    f,
                    "{file} does not show `{{{{ opening }}}}`, the line that opens the block of actions"
                )
            }
            PromptFault::Mode => f.write_str("ceo mode is for the worker of `business` alone"),
            PromptFault::StableEnds => f.write_str("live-state.md has `{{ stable_ends }}` more than once"),
            PromptFault::TooLong(bytes) => {
                write!(f, "the prompt has {bytes} bytes; the most is {PROMPT_MAX}")
            }
        }
    }
}

/// What is shown beside the instructions, and when.
pub struct Context<'a> {
    pub live: &'a LiveState,
    pub moment: &'a Moment,
}

/// Puts the layers together. Without a context, the instructions alone.
pub fn assemble_prompt(
    sources: Arc<dyn Sources>,
    selection: &Selection<'_>,
    context: Option<&Context<'_>>,
) -> Result<Prompt, PromptFault> {
    if selection.mode == Mode::Ceo && !has_ceo_mode(selection.dept, selection.role) {
        return Err(PromptFault::Mode);
    }
    let mut assembly = Assembly::new(sources, selection.role);
    let Selection { dept, role, mode } = selection;
    let plain = minijinja::context! { dept => *dept, role => role.name(), mode => mode.name() };
    assembly.add(0, "header.md", &plain)?;
    assembly.add(1, &format!("base/{role}.md"), &plain)?;
    if assembly.layers.last().is_none_or(|layer| layer.state != "found") {
        return Err(PromptFault::NoBase(assembly.last_file()));
    }
    assembly.add(2, &format!("department/{role}.md"), &plain)?;
    match mode {
        Mode::Ceo => assembly.add(5, "department/departments/business/ceo.md", &plain)?,
        Mode::Normal => assembly.add(3, &format!("department/departments/{dept}/{role}.md"), &plain)?,
    }
    assembly.add(4, &format!("dept/{role}.md"), &plain)?;
    if let Some(own) = assembly.layers.last_mut() {
        // Where it is looked for, so that one can put it there.
        own.name = format!("org-{dept}/prompts/{role}.md");
    }
    assembly.stable_bytes = assembly.text.len();
    if let Some(context) = context {
        let values = template_values(dept, *role, mode.name(), context.live, context.moment);
        assembly.add_live_state(&values)?;
        let closer = format!("closer/{role}.md");
        let before = assembly.text.len();
        assembly.add(7, &closer, &values)?;
        if role.acts() && !assembly.text[before..].contains(&opening_line(&context.moment.nonce)) {
            return Err(PromptFault::NoOpening(assembly.last_file()));
        }
    }
    assembly.finish()
}

/// What the prompt of an agent's engine shows; texts from outside are fenced.
pub struct AgentPrompt<'a> {
    pub dept: &'a str,
    pub name: &'a str,
    pub role: &'a str,
    pub purpose: String,
    pub task_id: &'a str,
    pub task: String,
    pub now: String,
}

/// The prompt by which an agent's engine gets a task: `agent.md`.
pub fn assemble_agent_prompt(
    sources: Arc<dyn Sources>,
    facts: &AgentPrompt<'_>,
) -> Result<Prompt, PromptFault> {
    // An agent answers in plain text: it reads of no ACTIONS block.
    let mut assembly = Assembly::new(sources, Role::Orchestrator);
    let values = minijinja::context! {
        dept => facts.dept,
        agent => minijinja::context! { name => facts.name, role => facts.role },
        purpose => facts.purpose.as_str(),
        task_id => facts.task_id,
        task => facts.task.as_str(),
        now => facts.now.as_str(),
    };
    assembly.add(0, "header.md", &values)?;
    assembly.stable_bytes = assembly.text.len();
    assembly.add(7, "agent.md", &values)?;
    assembly.finish()
}

struct Assembly {
    role: Role,
    renderer: Renderer,
    sources: Arc<dyn Sources>,
    text: String,
    stable_bytes: usize,
    layers: Vec<Layer>,
}

impl Assembly {
    fn new(sources: Arc<dyn Sources>, role: Role) -> Assembly {
        let renderer = Renderer::new(Arc::clone(&sources));
        let text = String::with_capacity(USUAL_BYTES);
        Assembly { role, renderer, sources, text, stable_bytes: 0, layers: Vec::new() }
    }

    fn render(&self, name: &str, values: &Value) -> Result<Option<(String, String)>, PromptFault> {
        let found =
            self.sources.find(name).map_err(|what| PromptFault::Source { name: name.to_string(), what })?;
        let Some(source) = found else { return Ok(None) };
        let text = self.renderer.render(name, values, PROMPT_MAX).map_err(PromptFault::Template)?;
        Ok(Some((text, source.origin)))
    }

    fn add(&mut self, layer: u8, name: &str, values: &Value) -> Result<(), PromptFault> {
        let rendered = self.render(name, values)?;
        let (text, origin) = rendered.map_or((None, String::new()), |(text, origin)| (Some(text), origin));
        let state = match text.as_deref().map(str::trim) {
            None => "missing",
            Some("") => "empty",
            Some(_) => "found",
        };
        let before = self.text.len();
        if let Some(text) = text.filter(|_| state == "found") {
            self.push(text.trim());
        }
        let bytes = self.text.len() - before;
        let stable_bytes = if layer < 6 { bytes } else { 0 };
        self.note(Layer {
            layer,
            name: name.to_string(),
            origin,
            state: state.to_string(),
            bytes,
            tokens: bytes / BYTES_PER_TOKEN,
            stable: layer < 6,
            stable_bytes,
        });
        Ok(())
    }

    fn push(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        // Nothing in a prompt is invisible, and a role that decides reads of no ACTIONS block.
        let text = if self.role.acts() { visible(text) } else { escape_opening(text) };
        self.text.push_str(&text);
        self.text.push('\n');
    }

    /// Where the last layer stands: its path, or its name where it is built in or missing.
    fn last_file(&self) -> String {
        let last = self.layers.last();
        let file = last.map(|layer| match layer.origin.as_str() {
            "" | "embedded" => layer.name.clone(),
            path => path.to_string(),
        });
        file.unwrap_or_default()
    }

    fn note(&mut self, layer: Layer) {
        self.layers.push(layer);
    }

    fn add_live_state(&mut self, values: &Value) -> Result<(), PromptFault> {
        let name = "live-state.md";
        let Some((rendered, origin)) = self.render(name, values)? else {
            return Err(PromptFault::NoBase(name.to_string()));
        };
        let before = self.text.len();
        let rendered = rendered.trim();
        let mut ends = memmem::find_iter(rendered.as_bytes(), STABLE_ENDS);
        match (ends.next(), ends.next()) {
            (None, _) => self.push(rendered),
            (Some(end), None) => {
                self.push(rendered[..end].trim_end());
                self.stable_bytes = self.text.len();
                self.push(rendered[end + STABLE_ENDS.len()..].trim());
            }
            _ => return Err(PromptFault::StableEnds),
        }
        let bytes = self.text.len() - before;
        let stable_bytes = self.stable_bytes.saturating_sub(before);
        self.note(Layer {
            layer: 6,
            name: name.to_string(),
            origin,
            state: "found".to_string(),
            bytes,
            tokens: bytes / BYTES_PER_TOKEN,
            stable: bytes == stable_bytes,
            stable_bytes,
        });
        Ok(())
    }

    fn finish(self) -> Result<Prompt, PromptFault> {
        match self.text.len() {
            bytes if bytes > PROMPT_MAX => Err(PromptFault::TooLong(bytes)),
            _ => Ok(Prompt { text: self.text, stable_bytes: self.stable_bytes, layers: self.layers }),
        }
    }
}
