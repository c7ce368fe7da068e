//! A copy of an organisation to try things in.
//!
//! What belongs to the original alone is left out: repositories, open plans, what is kept for undoing, who runs now. Its
//! settings have no notifier, and a pipeline in it starts nothing but `true`.

use super::fault::{Result, StoreError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// What is left out, by its path within a `.harness` folder or by its name.
const LEFT_OUT: [&str; 8] =
    [".git", "undo", "uncommitted", "not-committed.json", "journal", "active.json", "live.log", "asked"];

/// Copies an organisation into a folder that is there.
pub fn copy_organisation(organisation: &Path, to: &Path) -> Result<()> {
    let entries = walkdir::WalkDir::new(organisation).min_depth(1).into_iter();
    for entry in entries.filter_entry(|entry| is_copied(organisation, entry.path())) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(organisation).to_path_buf();
            let cause = error.into_io_error().unwrap_or_else(|| std::io::Error::other("a loop"));
            StoreError::io(path, "copy", cause)
        })?;
        let Ok(inside) = entry.path().strip_prefix(organisation) else { continue };
        let to = to.join(inside);
        let copied = if entry.file_type().is_dir() {
            std::fs::DirBuilder::new().mode(0o700).create(&to)
        } else if entry.file_type().is_file() {
            std::fs::copy(entry.path(), &to).map(|_| ())
        } else {
            // A link or a pipe is nothing of ours.
            Ok(())
        };
        copied.map_err(|error| StoreError::io(entry.path(), "copy", error))?;
    }
    make_journals(to)?;
    tame(to)
}

/// Folders that were left out and have to be there.
fn make_journals(root: &Path) -> Result<()> {
    let failed = |error: std::io::Error| StoreError::io(root, "list", error);
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let own = entry.map_err(failed)?.path().join(".harness");
        if own.is_dir() {
            let path = own.join("journal");
            std::fs::create_dir_all(&path).map_err(|error| StoreError::io(path, "make the folder", error))?;
        }
    }
    Ok(())
}

/// Takes out of the settings what would reach the world.
fn tame(root: &Path) -> Result<()> {
    change_settings(root, |settings| {
        settings.remove("notify");
        for pipeline in tables(settings, "pipelines") {
            pipeline.insert("command".to_string(), toml::Value::Array(vec!["/bin/true".into()]));
        }
        let mut git = toml::Table::new();
        git.insert("commit".to_string(), toml::Value::Boolean(false));
        settings.insert("git".to_string(), toml::Value::Table(git));
    })
}

/// Lets the rules answer for every engine of a copy that would start a program.
pub fn play_by_rules(root: &Path) -> Result<()> {
    change_settings(root, |settings| {
        for engine in tables(settings, "engines") {
            if !engine.get("preset").and_then(toml::Value::as_str).is_some_and(starts_nothing) {
                engine.insert("preset".to_string(), "rules".into());
            }
        }
    })
}

fn change_settings(root: &Path, change: impl FnOnce(&mut toml::Table)) -> Result<()> {
    let path = root.join(".harness/org.toml");
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
    let failed = |error: &dyn std::fmt::Display| StoreError::format(&path, error.to_string());
    let mut settings: toml::Table = toml::from_str(&text).map_err(|error| failed(&error))?;
    change(&mut settings);
    let text = toml::to_string(&settings).map_err(|error| failed(&error))?;
    std::fs::write(&path, text).map_err(|error| StoreError::io(&path, "write", error))
}

/// The tables within a table of the settings.
fn tables<'a>(settings: &'a mut toml::Table, name: &str) -> Vec<&'a mut toml::Table> {
    let named = settings.get_mut(name).and_then(toml::Value::as_table_mut).into_iter();
    named.flat_map(|table| table.iter_mut()).filter_map(|(_, value)| value.as_table_mut()).collect()
}

/// Whether an engine of this preset answers without starting a program.
pub fn starts_nothing(preset: &str) -> bool {
    matches!(preset, "rules" | "script")
}

fn is_copied(organisation: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(organisation) else { return false };
    let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
    let top = parts.first().is_some_and(|top| *top == ".harness" || top.starts_with("org-"));
    let left_out = match parts[..] {
        [_, ".harness", name] => LEFT_OUT.contains(&name),
        [_, name] => name == ".git",
        _ => false,
    };
    top && !left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_original_is_left_out() {
        let copied = |path: &str| is_copied(Path::new("/o"), &Path::new("/o").join(path));
        for (path, expected) in [
            ("org-rd", true),
            ("org-rd/inbox/m.md", true),
            ("org-rd/.harness/runs.jsonl", true),
            (".harness/org.toml", true),
            ("org-rd/.git", false),
            ("org-rd/.harness/undo", false),
            ("org-rd/.harness/journal", false),
            ("other", false),
        ] {
            assert_eq!(copied(path), expected, "{path}");
        }
    }

    #[test]
    fn a_copy_reaches_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let org = folder.path().join("org");
        std::fs::create_dir_all(org.join("org-rd/.harness")).unwrap();
        std::fs::create_dir_all(org.join(".harness")).unwrap();
        let settings = "schema = 1\n[notify]\ncommand = [\"x\"]\n[pipelines.a]\ncommand = [\"/usr/bin/deploy\", \"{project}\"]\n";
        std::fs::write(org.join(".harness/org.toml"), settings).unwrap();
        let copy = folder.path().join("copy");
        std::fs::create_dir(&copy).unwrap();
        copy_organisation(&org, &copy).unwrap();
        let text = std::fs::read_to_string(copy.join(".harness/org.toml")).unwrap();
        let parsed = crate::domain::settings::parse_settings(&text).unwrap();
        assert!(parsed.notify.is_none() && !parsed.git.commit);
        assert_eq!(parsed.pipelines["a"].command, ["/bin/true"]);
        assert!(copy.join("org-rd/.harness/journal").is_dir());
    }
}
