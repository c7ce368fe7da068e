//! A sealed world for one test: a root, a home and a `bin` of its own, a fixed clock and seed, no other variable.
//!
//! A test reads as one sentence, and each part is carried out when it is said:
//! `Sandbox::new().dept("business").message("business", "Note", "Hi", "...").reply("DONE").run(["run-loop",
//! "business"]).stdout("...")`. Every engine's name in `bin` is the fake one, so that no test can reach a real model.
//! What a run gave, and how it is compared, is in `outcome`.

use crate::fake;
use crate::outcome::{Run, Running};
use crate::pattern::{Places, unindent};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub const NOW: &str = "2026-11-18T00:42:01Z";
const ENGINES: [&str; 6] = ["claude", "codex", "gemini", "opencode", "llm", "ollama"];
/// What a sandbox without the system's folders on its PATH still has.
const TOOLS: [&str; 3] = ["sh", "git", "sleep"];

struct World {
    dir: TempDir,
    program: PathBuf,
    runs: AtomicU32,
    replies: AtomicU32,
    sent: Mutex<Vec<String>>,
}

/// A handle: clones see the same folders.
#[derive(Clone)]
pub struct Sandbox {
    world: Arc<World>,
    env: BTreeMap<String, OsString>,
    stdin: Option<PathBuf>,
    cwd: PathBuf,
    /// Where the seeds of its runs begin.
    seed: u64,
}

/// The program that cargo built for these tests.
pub fn harness() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("harness")
}

impl Sandbox {
    pub fn new() -> Self {
        Self::of(harness())
    }

    /// A sandbox whose `run` starts another program: what the test house is itself tested with.
    pub fn of(program: impl Into<PathBuf>) -> Self {
        let dir = fast_folder();
        for folder in ["root", "home", "bin", "out", "tmp"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let (runs, replies, sent) = (AtomicU32::new(0), AtomicU32::new(0), Mutex::new(Vec::new()));
        let cwd = dir.path().to_owned();
        let world = Arc::new(World { dir, program: program.into(), runs, replies, sent });
        let sandbox = Self { world, env: BTreeMap::new(), stdin: None, cwd, seed: 0 };
        sandbox.fill_bin();
        sandbox.with_environment()
    }

    fn fill_bin(&self) {
        let bin = self.dir().join("bin");
        for engine in ENGINES {
            std::os::unix::fs::symlink(fake::program(), bin.join(engine)).unwrap();
        }
        std::os::unix::fs::symlink(harness(), bin.join("harness")).unwrap();
        let git =
            "[user]\n\tname = Tester\n\temail = tester@example.invalid\n[init]\n\tdefaultBranch = main\n";
        fs::write(self.home().join(".gitconfig"), git).unwrap();
    }

    fn with_environment(self) -> Self {
        let path = format!("{}:/usr/bin:/bin", self.dir().join("bin").display());
        let (root, home, tmp) = (self.root(), self.home(), self.dir().join("tmp"));
        self.env("PATH", path)
            .env("HOME", home)
            .env("HARNESS_ROOT", root)
            .env("TMPDIR", tmp)
            .env("USER", "tester")
            .env("LOGNAME", "tester")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .now(NOW)
    }

    /// Ids that no other test has. A run's processes are found by its id, so two sandboxes whose runs have the same
    /// one would end each other's engines.
    pub fn apart(mut self) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = u64::from(NEXT.fetch_add(1, Ordering::Relaxed));
        self.seed = u64::from(std::process::id()) * 1_000_000_000 + number * 10_000;
        self
    }

    pub fn env(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(key.to_owned(), value.into());
        self
    }

    pub fn without_env(mut self, key: &str) -> Self {
        self.env.remove(key);
        self
    }

    /// The time that the program sees, RFC 3339. It stands still.
    pub fn now(self, time: &str) -> Self {
        self.env("HARNESS_TEST_NOW", time)
    }

    pub fn stdin(mut self, text: &str) -> Self {
        let path = self.dir().join("stdin");
        fs::write(&path, text).unwrap();
        self.stdin = Some(path);
        self
    }

    /// The working directory of the runs that follow, beside the root and the home.
    pub fn cwd(mut self, path: impl Into<PathBuf>) -> Self {
        self.cwd = path.into();
        self
    }

    /// An engine that is not there. The system's folders leave the PATH too: a real one may lie in them.
    pub fn without_engine(self, name: &str) -> Self {
        let bin = self.dir().join("bin");
        fs::remove_file(bin.join(name)).unwrap();
        for tool in TOOLS.iter().filter(|tool| !bin.join(tool).exists()) {
            let found =
                ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(tool)).find(|p| p.exists());
            found.into_iter().for_each(|path| std::os::unix::fs::symlink(path, bin.join(tool)).unwrap());
        }
        self.env("PATH", bin)
    }

    /// The template's five departments.
    pub fn organisation(self) -> Self {
        self.prepare(&["init"]);
        self
    }

    pub fn dept(self, name: &str) -> Self {
        self.prepare(&["init", name]);
        self
    }

    /// A message from the human; [`Sandbox::sent`] tells its id.
    pub fn message(self, dept: &str, kind: &str, subject: &str, body: &str) -> Self {
        let args = ["send", "--to", dept, "--kind", kind, "--subject", subject, "--body", body];
        let id = self.prepare(&args).trim().to_owned();
        self.world.sent.lock().unwrap().push(id);
        self
    }

    /// The id of the message sent by the call of `message` with this ordinal, from 0.
    pub fn sent(&self, ordinal: usize) -> String {
        self.world.sent.lock().unwrap()[ordinal].clone()
    }

    /// The fake engine's next answer; its directives are in `examples/fake-engine/script.rs`.
    pub fn reply(self, text: &str) -> Self {
        let number = self.world.replies.fetch_add(1, Ordering::Relaxed) + 1;
        write(&self.home().join(format!(".fake/replies/{number:02}.txt")), unindent(text).as_bytes());
        self
    }

    pub fn file(self, path: &str, text: &str) -> Self {
        self.bytes(path, unindent(text).as_bytes())
    }

    pub fn bytes(self, path: &str, bytes: &[u8]) -> Self {
        write(&self.root().join(path), bytes);
        self
    }

    pub fn without_file(self, path: &str) -> Self {
        fs::remove_file(self.root().join(path)).unwrap();
        self
    }

    /// Puts a text in the place of the only occurrence of another.
    #[track_caller]
    pub fn edit(self, path: &str, from: &str, to: &str) -> Self {
        let text = self.read(path);
        assert_eq!(text.matches(from).count(), 1, "{path}: {from}");
        self.bytes(path, text.replace(from, to).as_bytes())
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        std::os::unix::fs::symlink(target, self.made(path)).unwrap();
        self
    }

    pub fn fifo(self, path: &str) -> Self {
        assert!(Command::new("mkfifo").arg(self.made(path)).status().unwrap().success());
        self
    }

    /// The path under the root, its folder made.
    fn made(&self, path: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    #[track_caller]
    pub fn run<const N: usize>(self, args: [&str; N]) -> Run {
        self.start(&args).finish()
    }

    /// Starts the program and comes back at once: for stops, kills and runs side by side.
    #[track_caller]
    pub fn start(&self, args: &[&str]) -> Running {
        let (mut command, number) = self.command(args);
        let out = self.dir().join("out").join(format!("{number:03}"));
        command.stdin(match &self.stdin {
            Some(path) => Stdio::from(File::open(path).unwrap()),
            None => Stdio::null(),
        });
        // Files, not pipes: whatever a run leaves behind can't hold the test up.
        command.stdout(File::create(out.with_extension("stdout")).unwrap());
        command.stderr(File::create(out.with_extension("stderr")).unwrap());
        Running::new(self.clone(), command.spawn().unwrap(), out, args)
    }

    /// The program with these arguments in this world, and the number of the run.
    pub fn command(&self, args: &[&str]) -> (Command, u32) {
        let number = self.world.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let mut command = Command::new(&self.world.program);
        let seed = self.seed + u64::from(number);
        // A seed for each run: two runs in the same fixed second must not make the same ids.
        command.args(args).env_clear().env("HARNESS_TEST_SEED", seed.to_string()).envs(&self.env);
        command.current_dir(&self.cwd);
        (command, number)
    }

    #[track_caller]
    fn prepare(&self, args: &[&str]) -> String {
        self.start(args).finish().status(0).any_stderr().take_stdout()
    }

    pub fn dir(&self) -> PathBuf {
        self.world.dir.path().canonicalize().unwrap()
    }

    pub fn root(&self) -> PathBuf {
        self.dir().join("root")
    }

    pub fn home(&self) -> PathBuf {
        self.dir().join("home")
    }

    pub fn places(&self) -> Places {
        let text = |path: PathBuf| path.display().to_string();
        Places(vec![
            (text(self.root()), "[ROOT]"),
            (text(self.home()), "[HOME]"),
            (text(self.dir()), "[DIR]"),
        ])
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        let path = self.root().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Also true for a link whose target is not there.
    pub fn exists(&self, path: &str) -> bool {
        self.root().join(path).symlink_metadata().is_ok()
    }

    /// Everything under a folder of the root, sorted, a line each: `a/`, `a/file`, `a/link -> target`.
    pub fn tree(&self, path: &str) -> String {
        let folder = self.root().join(path);
        let entries = walkdir::WalkDir::new(&folder).min_depth(1).sort_by_file_name().into_iter();
        entries.map(|entry| describe(&folder, &entry.unwrap())).collect()
    }

    /// What the fake engine was given, call by call.
    pub fn calls(&self) -> Vec<fake::Call> {
        fake::calls(&self.home())
    }
}

fn describe(folder: &Path, entry: &walkdir::DirEntry) -> String {
    let name = entry.path().strip_prefix(folder).unwrap().display().to_string();
    match entry.file_type() {
        kind if kind.is_dir() => format!("{name}/\n"),
        kind if kind.is_symlink() => {
            format!("{name} -> {}\n", fs::read_link(entry.path()).unwrap().display())
        }
        _ => format!("{name}\n"),
    }
}

/// In memory where the system has such a folder: `fsync` is what the tests would otherwise wait for.
fn fast_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}
