//! Where prompts come from: the user's overrides in `<root>/.harness/prompts/`, a department's own in
//! `org-<dept>/prompts/` (by the name `dept/<file>`), and the ones compiled in.

use super::dir::Dir;
use super::fault::Result;
use super::org::{Department, Org};
use crate::domain::template::{Source, Sources};

/// The largest prompt file that is read.
const PROMPT_FILE_MAX: u64 = 256 * 1024;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../prompts/", $name)))),*] };
}

/// The prompts compiled into the program.
pub const EMBEDDED: &[(&str, &str)] = embedded![
    "header.md",
    "base/orchestrator.md",
    "base/worker.md",
    "base/validator.md",
    "base/documenter.md",
    "base/summarizer.md",
    "department/orchestrator.md",
    "department/worker.md",
    "department/validator.md",
    "department/documenter.md",
    "department/summarizer.md",
    "department/departments/business/ceo.md",
    "department/departments/business/orchestrator.md",
    "department/departments/business/worker.md",
    "department/departments/management/orchestrator.md",
    "department/departments/management/worker.md",
    "department/departments/marketing/orchestrator.md",
    "department/departments/marketing/worker.md",
    "department/departments/rd/orchestrator.md",
    "department/departments/rd/worker.md",
    "department/departments/technology/orchestrator.md",
    "department/departments/technology/worker.md",
    "agent.md",
    "live-state.md",
    "beat.md",
    "closer/orchestrator.md",
    "closer/worker.md",
    "closer/validator.md",
    "closer/documenter.md",
    "closer/summarizer.md",
];

/// The files of one department's prompts.
pub struct PromptFiles {
    overrides: Option<Dir>,
    own: Option<Dir>,
}

impl PromptFiles {
    pub fn of(org: &Org, department: &Department) -> Result<PromptFiles> {
        Ok(PromptFiles { overrides: org.own.find("prompts")?, own: department.dir.find("prompts")? })
    }
}

impl Sources for PromptFiles {
    fn find(&self, name: &str) -> std::result::Result<Option<Source>, String> {
        let read = |dir: &Option<Dir>, name: &str| -> std::result::Result<Option<Source>, String> {
            let Some(dir) = dir else { return Ok(None) };
            let text = dir.read(name, PROMPT_FILE_MAX).map_err(|error| error.to_string())?;
            Ok(text.map(|text| Source { text: text.text, origin: dir.join(name).display().to_string() }))
        };
        if let Some(file) = name.strip_prefix("dept/") {
            return read(&self.own, file);
        }
        // The first line of every prompt is the tool's own: a client would take some first lines for commands.
        if name != "header.md"
            && let Some(source) = read(&self.overrides, name)?
        {
            return Ok(Some(source));
        }
        let embedded = EMBEDDED.iter().find(|(known, _)| *known == name);
        Ok(embedded.map(|(_, text)| Source { text: (*text).to_string(), origin: "embedded".to_string() }))
    }
}
