//! Setting aside what can't be taken in: `.harness/quarantine/`, each file with its reason beside it.

use super::dir::Dir;
use super::fault::Result;
use super::org::Department;
use crate::domain::text::cut;

/// The longest name in quarantine: the reason's is longer, and both must be names that a disk takes.
const NAME_MAX: usize = 200;

impl Department {
    /// Moves a file that can't be taken in to `.harness/quarantine/`, with its reason beside it.
    pub fn quarantine(&self, folder: &str, file: &str, why: &str) -> Result<()> {
        let Some(from) = self.dir.find(folder)? else { return Ok(()) };
        let is_odd = from.stat(file)?.is_none();
        if is_odd && from.find_odd(file)?.is_none() {
            return Ok(());
        }
        let to = self.dir.make(".harness/quarantine")?;
        let name = free_name(&from, &to, file)?;
        // The reason first: a file without one would be worse than a reason without its file.
        to.replace(&format!("{name}.reason"), format!("{folder}/{file}: {why}\n").as_bytes())?;
        if is_odd {
            from.move_odd(file, &to, &name)?;
        } else {
            from.move_to(file, &to, &name)?;
        }
        to.make_private(&name)
    }
}

/// The name itself, cut where it is too long to have a reason beside it, and with a number where it is taken.
fn free_name(from: &Dir, to: &Dir, file: &str) -> Result<String> {
    let (first, _) = cut(file, NAME_MAX);
    let mut name = first.to_string();
    let mut count = 1;
    // The same bytes under the same name are the file itself: a power loss may have left it in both places.
    while to.stat(&name)?.is_some() && !from.is_same(file, to, &name) {
        count += 1;
        name = format!("{count}-{first}");
    }
    Ok(name)
}
