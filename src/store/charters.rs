//! A department's charter and what belongs to it, and which of it a human has accepted.

use super::dir::{Dir, EntryKind};
use super::fault::{Result, StoreError};
use super::lock::lock;
use super::org::{Department, Org};
use crate::domain::charter::{Charter, check_prose, parse_charter};
use crate::domain::digest::sha256;
use crate::domain::id::{Dept, is_leftover};
use crate::domain::time::{Time, render_rfc3339};
use crate::domain::verdict::Receiver;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The largest charter, playbook or prompt that is read.
pub const CHARTER_MAX: u64 = 256 * 1024;
/// The most prompts of its own a department may have.
const PROMPTS_MAX: usize = 64;
const ACCEPTED: &str = "accepted.json";

/// What is known of a department that something may be sent to.
enum Receiving {
    Unknown,
    /// Its rules, where they can be read.
    There(Option<Box<Charter>>),
}

impl Receiving {
    fn answer(&self, kind: &str) -> Receiver {
        match self {
            Receiving::Unknown => Receiver::Unknown,
            Receiving::There(Some(rules)) if rules.receives(kind) => Receiver::Receives,
            Receiving::There(_) => Receiver::DoesNotReceive,
        }
    }
}

/// The rules and the prose.
#[derive(Clone, Debug)]
pub struct LoadedCharter {
    pub rules: Charter,
    pub prose: String,
    /// Of the rules' text, for plans and records.
    pub hash: String,
}

/// The files of a department that count once they are accepted, by name.
pub type Pinned = BTreeMap<String, String>;

/// What a human accepted of one department.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Acceptance {
    pub at: String,
    pub by: String,
    /// SHA-256 by file name.
    pub files: BTreeMap<String, String>,
}

/// What a human accepted of every department: read once by whoever looks at many.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Accepted {
    schema: u64,
    #[serde(default)]
    departments: BTreeMap<String, Acceptance>,
}

/// How a department stands to what was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Accepted,
    Never,
    /// These files differ, are new, or are gone.
    Changed(Vec<String>),
}

impl Department {
    /// The charter; a missing or unusable one is an error, and everything is refused.
    pub fn charter(&self) -> Result<LoadedCharter> {
        let need = |name: &str| {
            let text = self.dir.read(name, CHARTER_MAX)?;
            text.ok_or_else(|| {
                StoreError::format(self.dir.join(name), "it is missing, and without it everything is refused")
            })
        };
        let (rules_text, prose) = (need("charter.toml")?.text, need("charter.md")?.text);
        let rules = parse_charter(&rules_text, &self.dept)
            .map_err(|fault| StoreError::format(self.dir.join("charter.toml"), fault))?;
        check_prose(&prose).map_err(|fault| StoreError::format(self.dir.join("charter.md"), fault))?;
        Ok(LoadedCharter { rules, prose, hash: sha256(rules_text.as_bytes()) })
    }

    /// Everything that must be accepted, as it stands now.
    pub fn pinned(&self) -> Result<Pinned> {
        let mut pinned = Pinned::new();
        for name in ["charter.toml", "charter.md", "playbook.toml"] {
            if let Some(text) = self.dir.read(name, CHARTER_MAX)? {
                pinned.insert(name.to_string(), text.text);
            }
        }
        let Some(prompts) = self.dir.find("prompts")? else { return Ok(pinned) };
        let mut entries = prompts.list()?;
        // An editor's copy is no part of any prompt: no template can include it.
        entries.retain(|entry| !is_leftover(&entry.name));
        if entries.len() > PROMPTS_MAX {
            let what = format!("it holds {} files, and the most is {PROMPTS_MAX}", entries.len());
            return Err(StoreError::format(prompts.path(), what));
        }
        for entry in entries {
            if entry.kind != EntryKind::File {
                return Err(StoreError::format(prompts.join(&entry.name), "only plain files belong there"));
            }
            if let Some(text) = prompts.read(&entry.name, CHARTER_MAX)? {
                pinned.insert(format!("prompts/{}", entry.name), text.text);
            }
        }
        Ok(pinned)
    }
}

/// No more than that of a file whose shape isn't known.
#[derive(Deserialize)]
struct Schema {
    schema: u64,
}

impl Accepted {
    /// Whether what a department says now is what was accepted.
    pub fn standing(&self, department: &Department) -> Result<Standing> {
        let Some(acceptance) = self.departments.get(department.dept.as_str()) else {
            return Ok(Standing::Never);
        };
        let now = department.pinned()?;
        let hashes: BTreeMap<String, String> =
            now.iter().map(|(name, text)| (name.clone(), sha256(text.as_bytes()))).collect();
        let names: std::collections::BTreeSet<&String> =
            hashes.keys().chain(acceptance.files.keys()).collect();
        let changed: Vec<String> = names
            .into_iter()
            .filter(|name| hashes.get(*name) != acceptance.files.get(*name))
            .cloned()
            .collect();
        Ok(if changed.is_empty() { Standing::Accepted } else { Standing::Changed(changed) })
    }
}

impl Org {
    pub fn accepted(&self) -> Result<Accepted> {
        let Some(text) = self.own.read(ACCEPTED, 16 * 1024 * 1024)? else {
            return Ok(Accepted { schema: 1, departments: BTreeMap::new() });
        };
        let wrong = |what: &dyn std::fmt::Display| StoreError::format(self.own.join(ACCEPTED), what);
        let schema = |schema: u64| wrong(&format!("its schema is {schema}, and this program knows 1"));
        match serde_json::from_str::<Accepted>(&text.text) {
            Ok(accepted) if accepted.schema == 1 => Ok(accepted),
            Ok(accepted) => Err(schema(accepted.schema)),
            // A newer one may have another shape.
            Err(error) => Err(match serde_json::from_str::<Schema>(&text.text) {
                Ok(known) if known.schema != 1 => schema(known.schema),
                _ => wrong(&error),
            }),
        }
    }

    /// Whether what a department says now is what was accepted.
    pub fn standing(&self, department: &Department) -> Result<Standing> {
        self.accepted()?.standing(department)
    }

    /// A digest of what was accepted of each department.
    pub fn accepted_digests(&self) -> Result<BTreeMap<String, String>> {
        let digest_of = |acceptance: &Acceptance| {
            let texts = acceptance.files.iter().flat_map(|(name, hash)| [name.as_str(), hash.as_str()]);
            crate::domain::wake::digest(texts)
        };
        let departments = self.accepted()?.departments;
        Ok(departments.iter().map(|(name, acceptance)| (name.clone(), digest_of(acceptance))).collect())
    }

    /// Whether a department is there and receives a kind, by its charter as it is.
    pub fn receiver(&self, name: &str, kind: &str) -> Receiver {
        self.receiving(name).answer(kind)
    }

    /// The same for all actions of an answer: each department's charter is read once.
    pub fn receivers(&self) -> impl Fn(&str, &str) -> Receiver {
        let known: RefCell<BTreeMap<String, Receiving>> = RefCell::default();
        move |name, kind| {
            let mut known = known.borrow_mut();
            if let Some(receiving) = known.get(name) {
                return receiving.answer(kind);
            }
            known.entry(name.to_string()).or_insert(self.receiving(name)).answer(kind)
        }
    }

    fn receiving(&self, name: &str) -> Receiving {
        let department = Dept::parse(name).ok().and_then(|dept| self.department(&dept).ok().flatten());
        match department.map(|department| department.charter()) {
            None => Receiving::Unknown,
            Some(charter) => Receiving::There(charter.ok().map(|charter| Box::new(charter.rules))),
        }
    }

    /// The texts that were accepted, for showing what changed since.
    pub fn accepted_texts(&self, department: &Department) -> Result<Pinned> {
        let accepted = self.accepted()?;
        let mut texts = Pinned::new();
        let Some(acceptance) = accepted.departments.get(department.dept.as_str()) else { return Ok(texts) };
        for (name, hash) in &acceptance.files {
            let text = self.own.read(&format!("accepted/{hash}"), CHARTER_MAX)?;
            texts.insert(name.clone(), text.map(|text| text.text).unwrap_or_default());
        }
        Ok(texts)
    }

    /// Pins what a human has seen. The texts are kept, by hash, so that a later change can be shown.
    pub fn accept(&self, department: &Department, seen: &Pinned, at: Time) -> Result<()> {
        let blobs = self.own.make("accepted")?;
        let mut files = BTreeMap::new();
        for (name, text) in seen {
            let hash = sha256(text.as_bytes());
            blobs.create(&hash, text.as_bytes())?;
            files.insert(name.clone(), hash);
        }
        let _held = lock(&self.own, "lock")?;
        let mut accepted = self.accepted()?;
        let acceptance = Acceptance { at: render_rfc3339(at), by: "user".to_string(), files };
        accepted.departments.insert(department.dept.to_string(), acceptance);
        write_json(&self.own, ACCEPTED, &accepted)
    }
}

/// Replaces a file of machine state.
pub fn write_json(dir: &Dir, name: &str, value: &impl Serialize) -> Result<()> {
    let json =
        serde_json::to_string_pretty(value).map_err(|error| StoreError::format(dir.join(name), error))?;
    dir.replace(name, format!("{json}\n").as_bytes())
}
