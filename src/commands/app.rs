//! What every command starts from: the organisation, a department by name, the key, the audit.

use crate::ctx::Ctx;
use crate::domain::audit::Deed;
use crate::domain::id::{Dept, nearest};
use crate::domain::service_unit::SERVICE_VARIABLE;
use crate::error::{CommandError, Kind};
use crate::store::identity::Seal;
use crate::store::key::{Key, find_key, load_or_create};
use crate::store::org::{Department, Org};
use crate::ui::Ui;
use std::path::PathBuf;

/// A command's surroundings.
pub struct App<'a> {
    pub ctx: &'a Ctx,
    pub ui: Ui,
    pub root: PathBuf,
}

/// What every command returns.
pub type Result<T> = std::result::Result<T, CommandError>;

impl App<'_> {
    /// The organisation; a new user is told how to make one.
    pub fn org(&self) -> Result<Org> {
        let found = Org::find(&self.root, &self.ctx.disk())?.map(|org| self.sealed(org));
        found.ok_or_else(|| {
            let root = self.root.display();
            CommandError::failed(format!("there is no organisation in {root}"))
                .code("no_organisation")
                .hint(format!("make one: `harness init --root {root}`"))
                .hint("or name another root: `--root DIR`, or HARNESS_ROOT in the environment")
        })
    }

    /// A department by its name, with a guess where it is misspelt.
    pub fn department(&self, org: &Org, name: &str) -> Result<Department> {
        let error = match Dept::parse(name) {
            Err(fault) if name.contains(',') => {
                let error = CommandError::new(Kind::Usage, fault).code("bad_department");
                return Err(error.hint("name each department by itself: `--to rd --to business`"));
            }
            Err(fault) => CommandError::new(Kind::Usage, fault).code("bad_department"),
            Ok(dept) => match org.department(&dept)? {
                Some(department) => return Ok(department),
                None => {
                    CommandError::failed(format!("there is no department `{name}`")).code("no_department")
                }
            },
        };
        let known = org.departments()?.departments;
        let names: Vec<&str> = known.iter().map(Dept::as_str).collect();
        let wanted = Dept::suggest(name).map_or_else(|| name.to_string(), |near| near.to_string());
        Err(match nearest(&wanted, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => error.hint("make it: `harness init` makes the template's five"),
            None => error.hint(format!("there are: {}", names.join(", "))),
        })
    }

    /// The user's key, made on first use; but never by a service: one that finds none looks in the wrong place, and what
    /// it signed with another key nobody else could read.
    pub fn key(&self) -> Result<Key> {
        let folder = self.ctx.config_folder().ok_or_else(|| {
            CommandError::failed("HOME is not set, so there is no place for the key")
                .hint("set HOME, or XDG_CONFIG_HOME to an absolute path")
        })?;
        if self.ctx.variable(SERVICE_VARIABLE).is_some() {
            return find_key(&folder, &self.ctx.disk())?.ok_or_else(|| {
                CommandError::failed(format!("the service finds no key in {}", folder.display())).hint(
                    "install it again from the shell in which you use harness: `harness service install`",
                )
            });
        }
        Ok(load_or_create(&folder, &self.ctx.disk(), || self.ctx.random())?)
    }

    /// The key that there is, with its folder. What is only tried leaves no trace beside it.
    pub fn seal(&self) -> Option<Seal> {
        let folder = self.ctx.config_folder().filter(|_| !self.ctx.is_virtual())?;
        let key = find_key(&folder, &self.ctx.disk()).ok().flatten()?;
        Some(Seal { key, folder, disk: self.ctx.disk() })
    }

    /// Leaves nothing beside the key of an organisation that was made to be thrown away.
    pub fn forget(&self, root: &std::path::Path) -> Result<()> {
        Ok(self.seal().map_or(Ok(()), |seal| seal.forget(root))?)
    }

    fn sealed(&self, org: Org) -> Org {
        if self.ctx.is_virtual() { org.unsealed() } else { org.sealed(self.seal()) }
    }

    /// Writes down what a human command is about to change, signed wherever a key can be had. A line without a signature
    /// behind one that has it would break the chain for ever: then the command does nothing.
    pub fn audit(&self, org: &Org, command: &str, what: &str) -> Result<()> {
        if org.is_sealed() {
            return Ok(org.write_audit(&Deed { at: self.ctx.now(), by: "user", command, what })?);
        }
        let org = match self.key() {
            Ok(_) => self.sealed(org.clone()),
            Err(error) if org.is_audit_signed()? => return Err(error),
            Err(_) => org.clone(),
        };
        Ok(org.write_audit(&Deed { at: self.ctx.now(), by: "user", command, what })?)
    }

    /// Whether this was started by an engine or a pipeline: its environment says so, or an ancestor's does.
    pub fn inside_run(&self) -> bool {
        self.ctx.inside_run() || crate::process::stop::ancestor_run().is_some()
    }

    /// Commands that speak for the human are not for engines and what they start.
    pub fn require_human(&self, command: &str) -> Result<()> {
        if !self.inside_run() {
            return Ok(());
        }
        Err(CommandError::refused(format!(
            "`harness {command}` speaks for the human, and this is inside a run"
        ))
        .code("inside_run")
        .hint("from inside a run, reading commands and `harness send` work"))
    }
}
