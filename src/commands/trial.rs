//! What the commands that only try something have in common: a scratch copy, a clock set by hand, nobody reached.

use super::app::{App, Result};
use crate::ctx::Ctx;
use crate::domain::gate::{Gate, GateState};
use crate::domain::time::Time;
use crate::store::copy::copy_organisation;
use crate::store::disk::Disk;
use crate::store::org::Org;
use crate::store::scratch::Scratch;
use crate::ui::Ui;

/// A scratch organisation, and surroundings to work in it.
pub struct Trial {
    pub scratch: Scratch,
    pub ctx: Ctx,
    pub ui: Ui,
}

impl Trial {
    /// A copy of the organisation, its gate open and its departments accepted as their files are now.
    pub fn of(app: &App<'_>, now: Time, seed: u64) -> Result<Trial> {
        // The key is made before anything needs it: a scratch copy uses the user's own.
        app.key()?;
        let scratch = Scratch::make(&app.ctx.temporary(), "trial", &app.ctx.random::<8>())?;
        copy_organisation(&app.root, scratch.path())?;
        // What will be thrown away needs no sync.
        let ctx = app.ctx.virtual_at(now, seed, Disk::without_sync());
        let trial = Trial { scratch, ctx, ui: Ui { quiet: true, ..app.ui } };
        let org = trial.org()?;
        org.write_gate(&Gate::new(GateState::Enabled, "a trial", "user", now))?;
        for dept in org.departments()?.departments {
            if let Some(department) = org.department(&dept)?
                && let Ok(pinned) = department.pinned()
            {
                org.accept(&department, &pinned, now)?;
            }
        }
        Ok(trial)
    }

    /// The same, on a disk that remembers what it has read: from now on nothing may write there by another way.
    pub fn remembering(self, app: &App<'_>, now: Time, seed: u64) -> Trial {
        Trial { ctx: app.ctx.virtual_at(now, seed, Disk::scratch()), ..self }
    }

    /// A command's surroundings in it.
    pub fn app(&self) -> App<'_> {
        App { ctx: &self.ctx, ui: self.ui, root: self.scratch.path().to_path_buf() }
    }

    pub fn org(&self) -> Result<Org> {
        self.app().org()
    }
}
