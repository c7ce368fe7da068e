//! Finding the program that a name means.
//!
//! It looks only in the absolute folders of the PATH it is given. An empty or relative entry would mean the
//! working directory, which is a department's folder and may have come from anywhere: such entries are
//! passed over, as is a relative name with a slash.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The absolute path of the executable that `name` means in `path`.
pub fn find_program(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_bytes().contains(&b'/') {
        let given = PathBuf::from(name);
        return (given.is_absolute() && is_executable(&given)).then_some(given);
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// A folder with `bin/tool` (executable), `lib/tool` (not) and `dir/tool/` (a folder).
    fn folders() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (folder, mode) in [("bin", 0o755), ("lib", 0o644)] {
            fs::create_dir(root.path().join(folder)).unwrap();
            let file = root.path().join(folder).join("tool");
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir_all(root.path().join("dir/tool")).unwrap();
        root
    }

    fn check(root: &Path, name: &str, path: &str, expected: Option<&str>) {
        let at = |text: &str| text.replace('@', root.to_str().unwrap());
        let found = find_program(OsStr::new(&at(name)), OsStr::new(&at(path)));
        assert_eq!(found, expected.map(|expected| PathBuf::from(at(expected))), "{name} in {path}");
    }

    #[test]
    fn finds_programs() {
        let root = folders();
        let check = |name, path, expected| check(root.path(), name, path, expected);
        check("tool", "@/none:@/dir:@/lib:@/bin", Some("@/bin/tool"));
        check("tool", "@/dir:@/lib", None);
        check("tool", "", None);
        check("", "@/bin", None);
        check("@/bin/tool", "", Some("@/bin/tool"));
        check("@/lib/tool", "@/bin", None);
        check("bin/tool", "@", None);
        check("../bin/tool", "@/lib", None);
    }

    #[test]
    fn relative_folders_are_passed_over() {
        let root = folders();
        check(root.path(), "Cargo.toml", ".:", None);
        check(root.path(), "sh", ".:./bin::/bin", Some("/bin/sh"));
    }
}
