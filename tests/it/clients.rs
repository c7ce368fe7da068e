//! The real `claude` and the real `codex`, end to end, against a provider on loopback: what they are given, what they
//! report, and how each of their failures ends. Opt-in: `HARNESS_REAL_CLIENTS=1 cargo test --test it clients`.
//!
//! The clients are installed from the package registry into `target/real-clients`. Where that can't be had, or nobody
//! asked, the tests say `not run` and why.

mod server;

use crate::desk::{MARK, SEND, acts, business};
use crate::outcome::{Run, not_run};
use crate::sandbox::Sandbox;
use server::{INPUT_TOKENS, OUTPUT_TOKENS, Reply, Server};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.326", "@openai/codex@0.169.0"];

/// Where the clients are, or why they are not.
fn installed() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER.get_or_init(install).as_deref().map_err(Clone::clone)
}

fn install() -> Result<PathBuf, String> {
    if std::env::var_os("HARNESS_REAL_CLIENTS").is_none_or(|value| value != "1") {
        return Err("HARNESS_REAL_CLIENTS=1 asks for it".to_owned());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/real-clients");
    std::fs::create_dir_all(&folder).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix", "."]).args(PACKAGES).current_dir(&folder);
    match npm.output() {
        Err(error) => Err(format!("npm can't be started: {error}")),
        Ok(output) if !output.status.success() => Err("npm could not install the clients".to_owned()),
        Ok(_) => Ok(folder.join("node_modules/.bin")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    Claude,
    Codex,
}

impl Client {
    const BOTH: [Client; 2] = [Client::Claude, Client::Codex];

    fn settings(self, bin: &Path, url: &str) -> String {
        let bin = bin.display();
        match self {
            Client::Claude => format!(
                "[engines.claude]\npreset = \"claude\"\ncommand = [\"{bin}/claude\"]\n\
                 model = \"claude-sonnet-4-5-20250929\"\ntimeout_seconds = 20\nworst_case_usd = 0.5\n\
                 env = [\"ANTHROPIC_BASE_URL\", \"ANTHROPIC_API_KEY\"]\n"
            ),
            Client::Codex => format!(
                "[engines.codex]\npreset = \"codex\"\ncommand = [\"{bin}/codex\"]\nmodel = \"gpt-5\"\n\
                 timeout_seconds = 20\nworst_case_usd = 0.5\nenv = [\"LOOP_KEY\"]\n\
                 args = [\"-c\", \"model_provider=x\", \"-c\", 'model_providers.x={{name=\"x\",\
                 base_url=\"{url}/v1\",env_key=\"LOOP_KEY\",wire_api=\"responses\",request_max_retries=1,\
                 stream_max_retries=1}}']\n"
            ),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
        }
    }
}

/// One step of the worker of business by a real client.
fn step(client: Client, bin: &Path, replies: Vec<Reply>) -> (Run, Server) {
    let server = Server::start(replies);
    let sandbox = business().settings(&client.settings(bin, &server.url()));
    (run(client, sandbox, &server), server)
}

fn run(client: Client, sandbox: Sandbox, server: &Server) -> Run {
    let sandbox = sandbox.env("ANTHROPIC_BASE_URL", server.url());
    let sandbox = sandbox.env("ANTHROPIC_API_KEY", "loopback").env("LOOP_KEY", "loopback");
    let args = ["run-director", "business", "--role", "worker", "--engine", client.name()];
    sandbox.run(args).any_stdout().any_stderr()
}

/// Calls the test with each client, or says that none is there.
fn with_both(test: &str, check: impl Fn(Client, &Path)) {
    match installed() {
        Ok(bin) => Client::BOTH.iter().for_each(|client| check(*client, bin)),
        Err(why) => not_run(test, &why),
    }
}

#[test]
fn an_answer_is_carried_out_and_its_usage_counted() {
    with_both("clients::an_answer", |client, bin| {
        let (run, server) = step(client, bin, vec![Reply::Text(acts(&[SEND, MARK]))]);
        let run = run.status(0);
        let line = run.last_step();
        assert_eq!(line["outcome"], "ok", "{client:?}");
        assert_eq!(line["input_tokens"], INPUT_TOKENS, "{client:?}");
        assert_eq!(line["output_tokens"], OUTPUT_TOKENS, "{client:?}");
        let cost = line["cost_usd"].as_f64();
        match client {
            // 1,234 and 56 tokens at 3 and 15 USD a million.
            Client::Claude => assert!((cost.unwrap() - 0.004_542).abs() < 1e-9, "{cost:?}"),
            Client::Codex => assert_eq!((cost, &line["counted_usd"]), (None, &0.5.into())),
        }
        let requests = server.requests();
        assert_eq!(requests.len(), 1, "{client:?}: one step is one request");
        let whole = requests[0].to_string();
        assert!(whole.contains("harness: instructions and live state"), "{client:?}");
        let tools = requests[0]["tools"].as_array().map_or(0, Vec::len);
        if client == Client::Claude {
            assert_eq!(tools, 0, "no tools");
            assert!(requests[0]["system"].to_string().contains("harness: instructions"), "the stable part");
        }
        assert_eq!(run.folder("org-rd/inbox").len(), 1);
    });
}

#[test]
fn failures_change_nothing_and_say_why() {
    with_both("clients::failures", |client, bin| {
        let answer = acts(&[SEND, MARK]);
        for reply in [Reply::Status(401, vec![]), Reply::Status(529, vec![]), Reply::Cut(answer), Reply::Hang]
        {
            let (run, _server) = step(client, bin, vec![reply.clone()]);
            let status = run.last_run()["outcome"].clone();
            assert_eq!(status, "failed", "{client:?} {reply:?}");
            assert!(run.folder("org-rd/inbox").is_empty(), "{client:?} {reply:?}");
            let reason = run.last_run()["reason"].to_string();
            assert!(reason.contains(client.name()), "{client:?} {reply:?}: {reason}");
            let _ = run.status(12);
        }
    });
}

/// A subscription's limit, as the provider tells it: used up until this moment, far from the sandbox's fixed time.
const RESET: &str = "1795000000";

fn used_up() -> Reply {
    let headers = [
        ("retry-after", "3600"),
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-reset", RESET),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
    ];
    Reply::Status(429, headers.map(|(name, value)| (name, value.to_owned())).into())
}

#[test]
fn a_subscription_that_is_used_up_is_left_alone_until_its_reset() {
    let bin = match installed() {
        Ok(bin) => bin,
        Err(why) => return not_run("clients::subscription", &why),
    };
    let server = Server::start(vec![used_up()]);
    let settings = Client::Claude.settings(bin, &server.url());
    let settings = settings.replace("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN");
    let sandbox = business().settings(&settings).env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-loopback");
    let first = run(Client::Claude, sandbox, &server).status(12);
    assert_eq!(first.last_run()["outcome"], "failed");
    let states = first.read(".harness/engines.json");
    assert!(states.contains("\"not_before\": \"2026-11-18T11:06:40Z\""), "{states}");
    let asked = server.requests().len();
    let _ = run(Client::Claude, first.then(), &server).status(3);
    assert_eq!(server.requests().len(), asked, "nobody is asked before the reset");
}

/// A key's limit comes without a reset: the step has failed, and the ladder of failed runs decides when to try again.
#[test]
fn a_limit_without_a_reset_fails_the_step() {
    with_both("clients::limit", |client, bin| {
        let (run, _server) = step(client, bin, vec![Reply::Status(429, vec![])]);
        let reason = run.last_run()["reason"].to_string();
        assert!(reason.contains("429"), "{client:?}: {reason}");
        let _ = run.status(12);
    });
}

/// The `llm` command line and a model that comes in a package of its own: a chain of the prompt's words, which answers
/// badly. Where they are, or why they are not.
fn install_llm() -> Result<PathBuf, String> {
    if std::env::var_os("HARNESS_REAL_CLIENTS").is_none_or(|value| value != "1") {
        return Err("HARNESS_REAL_CLIENTS=1 asks for it".to_owned());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/real-clients/llm");
    let run = |program: &Path, args: &[&str]| match Command::new(program).args(args).output() {
        Err(error) => Err(format!("{} can't be started: {error}", program.display())),
        Ok(output) if !output.status.success() => Err(format!("{} could not {}", program.display(), args[0])),
        Ok(_) => Ok(()),
    };
    run(Path::new("python3"), &["-m", "venv", &folder.display().to_string()])?;
    run(&folder.join("bin/pip"), &["install", "--quiet", "llm==0.36", "llm-markov==0.1"])?;
    Ok(folder.join("bin/llm"))
}

#[test]
fn a_model_that_answers_badly_does_no_harm() {
    let llm = match install_llm() {
        Ok(llm) => llm,
        Err(why) => return not_run("clients::llm", &why),
    };
    let settings = format!(
        "[engines.llm]\npreset = \"llm\"\ncommand = [\"{}\"]\nmodel = \"markov\"\nworst_case_usd = 0.25\n",
        llm.display()
    );
    let before = business().settings(&settings);
    let (work, others) = (before.work(), before.tree("org-rd"));
    for args in [
        &["run-loop", "business", "--engine", "llm"][..],
        &["run-director", "business", "--role", "worker", "--engine", "llm"],
    ] {
        let (status, stdout, stderr) = before.start(args).finish().parts();
        // What it says is not refused for its form alone: it could happen to escalate, or to be done.
        assert!([0, 10, 12].contains(&status), "{status} {stdout}{stderr}");
        let step = before.steps().pop().unwrap();
        assert_eq!(
            (&step["engine"], &step["cost_usd"]),
            (&"llm".into(), &serde_json::Value::Null),
            "{stderr}"
        );
        assert_ne!(step["outcome"], "failed", "it has answered: {stdout}{stderr}");
        let counted = step["counted_usd"].as_f64().unwrap();
        assert!(counted >= 0.25, "unknown cost counts at its worst: {counted}");
        if status == 12 {
            assert_eq!((before.work(), before.tree("org-rd")), (work.clone(), others.clone()), "{stderr}");
        }
    }
    before.run(["verify"]).any_stdout();
}
