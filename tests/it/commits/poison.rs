//! A repository that would execute something at every turn executes nothing.

use super::{DEPT, count, git, run_loop, status, with_git};
use crate::sandbox::{Sandbox, write};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const HOOKS: [&str; 10] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "post-checkout",
    "post-rewrite",
    "fsmonitor-watchman",
];

/// A program that leaves a file behind whenever it is started.
fn trap(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.dir().join("traps").join(name);
    let text = format!("#!/bin/sh\necho sprung >> {}.sprung\ncat\n", path.display());
    write(&path, text.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn sprung(sandbox: &Sandbox) -> Vec<String> {
    let names = fs::read_dir(sandbox.dir().join("traps")).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".sprung"));
    names.sort();
    names
}

fn poison(sandbox: &Sandbox) {
    let own = sandbox.root().join("org-business/.git");
    let hooks = own.join("poisoned-hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in HOOKS {
        let trap = trap(sandbox, hook);
        for folder in [own.join("hooks"), hooks.clone()] {
            fs::create_dir_all(&folder).unwrap();
            fs::copy(&trap, folder.join(hook)).unwrap();
        }
    }
    let t = |name: &str| trap(sandbox, name);
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\thooksPath = {hooks}\n\tfsmonitor = {}\n\teditor = {}\n\
         \tpager = {}\n\tsshCommand = {}\n\taskPass = {}\n\tattributesFile = {attributes}\n\tgitProxy = {}\n\
         [filter \"evil\"]\n\tclean = {}\n\tsmudge = {}\n\tprocess = {}\n\trequired = true\n\
         [diff]\n\texternal = {}\n[diff \"evil\"]\n\ttextconv = {}\n\tcommand = {}\n\
         [merge \"evil\"]\n\tdriver = {}\n\
         [commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {}\n[gpg \"ssh\"]\n\tprogram = {}\n\tdefaultKeyCommand = {}\n\
         [credential]\n\thelper = {}\n[gc]\n\tauto = 1\n\trecentObjectsHook = {}\n\
         [remote \"origin\"]\n\turl = ext::{}\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\
         [extensions]\n\tpartialClone = origin\n\
         [alias]\n\trev-parse = !{}\n\tvar = !{}\n\tupdate-index = !{}\n",
        t("fsmonitor"),
        t("editor"),
        t("pager"),
        t("ssh"),
        t("askpass"),
        t("proxy"),
        t("clean"),
        t("smudge"),
        t("process"),
        t("diff"),
        t("textconv"),
        t("command"),
        t("driver"),
        t("gpg"),
        t("gpg-ssh"),
        t("keys"),
        t("credential"),
        t("recent"),
        t("ext"),
        t("alias-1"),
        t("alias-2"),
        t("alias-3"),
        hooks = hooks.display(),
        attributes = own.join("poisoned-attributes").display(),
    );
    fs::write(own.join("config"), config).unwrap();
    let attributes = "* filter=evil diff=evil merge=evil\n";
    fs::write(own.join("info/attributes"), attributes).unwrap();
    fs::write(own.join("poisoned-attributes"), attributes).unwrap();
    fs::write(sandbox.root().join("org-business/.gitattributes"), attributes).unwrap();
}

/// The user's own program signs, whatever the repository says; here it says yes with a made-up signature.
fn own_gpg(sandbox: &Sandbox) {
    let path = sandbox.dir().join("bin/own-gpg");
    let text = "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED D 1 8 00 1 F' >&2\n\
                echo '-----BEGIN PGP SIGNATURE-----'; echo; echo b3du; echo '-----END PGP SIGNATURE-----'\n";
    write(&path, text.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let config = fs::read_to_string(sandbox.home().join(".gitconfig")).unwrap();
    fs::write(sandbox.home().join(".gitconfig"), format!("{config}[gpg]\n\tprogram = {}\n", path.display()))
        .unwrap();
}

#[test]
fn nothing_that_a_repository_brings_along_is_executed() {
    let sandbox = with_git();
    poison(&sandbox);
    own_gpg(&sandbox);
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert_eq!(sprung(&sandbox), Vec::<String>::new());
    // And still the commit was made, signed by the user's own program.
    let raw = fs::read_to_string(sandbox.root().join("org-business/.git/refs/heads/main")).unwrap();
    assert!(!raw.is_empty());
    fs::write(
        sandbox.root().join("org-business/.git/config"),
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    )
    .unwrap();
    assert_eq!(count(&sandbox, DEPT), 2);
    let commit = git(&sandbox, DEPT, &["cat-file", "commit", "HEAD"]);
    assert!(commit.contains("gpgsig -----BEGIN PGP SIGNATURE-----"), "{commit}");
    assert!(commit.contains("Harness-Run: r-"), "{commit}");
}

#[test]
fn the_traps_work() {
    let sandbox = with_git();
    poison(&sandbox);
    fs::write(sandbox.root().join("org-business/x"), "x").unwrap();
    let mut add = std::process::Command::new("git");
    add.args(["add", "x"]).current_dir(sandbox.root().join("org-business"));
    add.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", sandbox.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    let _ = add.output().unwrap();
    let sprung = sprung(&sandbox);
    assert!(
        sprung.contains(&"process.sprung".to_owned()) && sprung.contains(&"fsmonitor.sprung".to_owned()),
        "{sprung:?}"
    );
}

#[test]
fn a_variable_that_names_another_repository_counts_for_nothing() {
    let sandbox = with_git();
    let other = sandbox.root().join("org-rd/.git");
    let sandbox = sandbox.env("GIT_DIR", &other).env("GIT_INDEX_FILE", other.join("index"));
    let sandbox = run_loop(sandbox).any_stderr().then().without_env("GIT_DIR").without_env("GIT_INDEX_FILE");
    assert_eq!((count(&sandbox, DEPT), count(&sandbox, "rd")), (2, 1));
    assert_eq!(status(&sandbox, DEPT), "");
}

#[test]
fn a_repository_that_signs_without_a_program_of_the_users_leaves_the_commit_for_later() {
    let sandbox = with_git();
    git(&sandbox, DEPT, &["config", "commit.gpgSign", "true"]);
    let user = fs::read_to_string(sandbox.home().join(".gitconfig")).unwrap();
    fs::write(sandbox.home().join(".gitconfig"), format!("{user}[gpg]\n\tprogram = /nowhere/gpg\n")).unwrap();
    let (code, _, stderr) = run_loop(sandbox.clone()).any_stderr().then().run(["commit", DEPT]).parts();
    assert_eq!(code, 1, "{stderr}");
    assert_eq!(git(&sandbox, DEPT, &["log", "--format=%s", "main"]).lines().count(), 1);
    fs::write(sandbox.home().join(".gitconfig"), user).unwrap();
    git(&sandbox, DEPT, &["config", "commit.gpgSign", "false"]);
    let sandbox = sandbox.run(["commit", DEPT]).any_stdout().then();
    assert_eq!((count(&sandbox, DEPT), status(&sandbox, DEPT).as_str()), (2, ""));
}
