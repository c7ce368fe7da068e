//! Command lines, as tables.

use super::super::*;

fn settings(preset: Preset) -> Settings {
    Settings {
        preset,
        model: Some("m-1".to_owned()),
        command: Vec::new(),
        extra_args: Vec::new(),
        tools: Vec::new(),
        timeout_s: 600,
        worst_case_usd: 1.0,
    }
}

const REQUEST: Request = Request { system: "# harness\nstable\n", prompt: "live" };
const WHOLE: &str = "# harness\nstable\nlive";

fn check_line(preset: Preset, args: &[&str], stdin: &str, env: &[(&str, &str)]) {
    let line = command_line(&settings(preset), &REQUEST);
    assert_eq!(line.program, preset.default_program().unwrap_or_default());
    assert_eq!(line.args, args);
    assert_eq!(line.stdin, stdin);
    let found: Vec<(&str, &str)> = line.env.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(found, env);
}

#[test]
fn claude_takes_the_stable_layers_as_its_system_prompt() {
    let args = "-p --output-format stream-json --verbose --include-partial-messages --tools  --system-prompt S \
                --no-session-persistence --setting-sources  --model m-1";
    let args: Vec<&str> = args.split(' ').map(|arg| if arg == "S" { REQUEST.system } else { arg }).collect();
    let env = [
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("API_TIMEOUT_MS", "600000"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
        ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ];
    check_line(Preset::Claude, &args, "live", &env);
}

#[test]
fn the_other_presets_have_their_command_lines() {
    let codex = "exec --json --ephemeral --skip-git-repo-check --ignore-user-config -s read-only -m m-1 \
                 -c project_doc_max_bytes=0 -c features.shell_tool=false -c features.unified_exec=false \
                 -c features.view_image=false -c features.image_generation=false -c features.multi_agent=false \
                 -c features.goals=false -c features.apps=false -c features.plugins=false \
                 -c web_search=\"disabled\" -";
    check_line(Preset::Codex, &codex.split(' ').collect::<Vec<_>>(), WHOLE, &[]);
    let gemini = "-p  -o json --skip-trust -e none --allowed-mcp-server-names=none -m m-1";
    let relaunch = [("GEMINI_CLI_NO_RELAUNCH", "true")];
    check_line(Preset::Gemini, &gemini.split(' ').collect::<Vec<_>>(), "live", &relaunch);
    let system = command_line(&settings(Preset::Gemini), &REQUEST).system_file;
    let text = REQUEST.system.to_owned();
    assert_eq!(system, Some(SystemFile { variable: "GEMINI_SYSTEM_MD", text }));
    let opencode = "run --format json --pure --title harness -m m-1";
    let closed = [
        ("OPENCODE_PERMISSION", r#"{"*":"deny"}"#),
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ];
    check_line(Preset::Opencode, &opencode.split(' ').collect::<Vec<_>>(), WHOLE, &closed);
    check_line(Preset::Llm, &["-m", "m-1", "-n", "-u", "-s", REQUEST.system], "live", &[]);
    check_line(Preset::Ollama, &["run", "--verbose", "--hidethinking", "m-1"], WHOLE, &[]);
    check_line(Preset::Command, &[], WHOLE, &[]);
}

#[test]
fn tools_are_there_only_when_named() {
    let args_and_env = |preset, tools: &[&str]| {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let line = command_line(&Settings { tools, ..settings(preset) }, &REQUEST);
        format!("{:?} {:?}", line.args, line.env)
    };
    let check = |preset, tools: &[&str], text: &str, expected| {
        assert_eq!(args_and_env(preset, tools).contains(text), expected, "{preset} {text}");
    };
    check(Preset::Claude, &["Read"], r#""--tools", "Read", "--allowedTools", "Read""#, true);
    check(Preset::Codex, &["shell"], "features.shell_tool=false", false);
    check(Preset::Codex, &["shell"], "features.goals=false", true);
    check(Preset::Gemini, &["run_shell_command"], "--allowed-tools=run_shell_command", true);
    check(Preset::Opencode, &["read"], r#"{\"*\":\"deny\",\"read\":\"allow\"}"#, true);
    check(Preset::Llm, &["llm_time"], r#""-T", "llm_time""#, true);
}

#[test]
fn a_program_may_be_replaced_and_arguments_added() {
    let check = |preset, command: &[&str], program: &str, first: &str, last: &str| {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        let extra_args = vec!["--extra".to_owned()];
        let line = command_line(&Settings { command, extra_args, ..settings(preset) }, &REQUEST);
        assert_eq!(line.program, program);
        assert_eq!(line.args.first().map(String::as_str), Some(first));
        assert_eq!(line.args.last().map(String::as_str), Some(last));
    };
    check(Preset::Claude, &["/opt/claude"], "/opt/claude", "-p", "--extra");
    check(Preset::Claude, &["npx", "claude"], "npx", "claude", "--extra");
    check(Preset::Codex, &[], "codex", "exec", "-");
    check(Preset::Ollama, &[], "ollama", "run", "m-1");
    check(Preset::Command, &["/bin/answer", "--fast"], "/bin/answer", "--fast", "--extra");
}

#[test]
fn a_system_prompt_that_fits_no_argument_goes_to_stdin() {
    let longest = "s".repeat(SYSTEM_ARGUMENT_LIMIT);
    let too_long = "s".repeat(SYSTEM_ARGUMENT_LIMIT + 1);
    for (system, fits) in [(longest.as_str(), true), (too_long.as_str(), false), ("a\0b", false)] {
        for preset in [Preset::Claude, Preset::Llm] {
            let line = command_line(&settings(preset), &Request { system, prompt: "live" });
            assert_eq!(line.args.iter().any(|arg| arg == system), fits, "{preset}");
            assert_eq!(line.stdin == "live", fits, "{preset}");
            assert_eq!(line.stdin == format!("{system}live"), !fits, "{preset}");
        }
    }
    assert_eq!(Request { system: "", prompt: "live" }.whole(), "live");
}

#[test]
fn presets_have_names() {
    for preset in Preset::ALL {
        assert_eq!(preset.name().parse(), Ok(preset));
    }
    assert_eq!(Preset::Claude.version_arguments(), Some(["--version"].as_slice()));
    assert_eq!(Preset::Command.version_arguments(), None);
    assert!(Preset::Ollama.needs_model() && !Preset::Claude.needs_model());
    assert_eq!(Preset::Gemini.working_folder(), WorkingFolder::Empty);
    let unknown = "Claude".parse::<Preset>().unwrap_err();
    assert!(unknown.to_string().starts_with("`Claude` is not a preset; there are claude, codex"));
}
