//! `tamis hook`: as agents start it, and the script of the shell prefix with and without tamis.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use tamis_agents::hook::opencode::plugin;
use tamis_agents::hook::shell::prefix_script;
use tamis_mcp::config::ConfigFiles;

use super::*;

/// Returns the script that Claude Code makes of a command.
fn wrapped(folder: &Folder, command: &str) -> String {
    let quoted = format!("'{}'", command.replace('\'', "'\"'\"'"));
    let input = if command.contains("<<") { "" } else { " < /dev/null" };
    format!(
        "source {} 2>/dev/null || true && {{ \\builtin shopt -u extglob || \\builtin setopt NO_EXTENDED_GLOB; }} \
         >/dev/null 2>&1 || true && eval {quoted}{input} && pwd -P >| {}",
        folder.path("snapshot-bash-1-a.sh").display(),
        folder.path("cwd").display(),
    )
}

/// Runs a command line of ours with both streams in one file, as Claude Code does. Returns the status and the output.
fn into_one_file(folder: &Folder, command: &mut Command) -> (std::process::ExitStatus, String) {
    let file = File::create(folder.path("out")).unwrap();
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let status = command.status().unwrap();
    (status, folder.read("out"))
}

/// Waits for something that comes soon on an idle machine.
#[track_caller]
fn wait_for(is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn shell(folder: &Folder, argument: &str) -> Command {
    let mut command = folder.any();
    command.args(["hook", "shell", "--config", "user", argument]);
    command.env("HOME", folder.0.path()).env_remove("XDG_CONFIG_HOME").env("SHELL", "/bin/bash");
    command
}

#[test]
fn commands_of_claude_code_end_as_without_tamis() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = Folder::new();
    for (command, code, output) in [
        ("echo out; echo err >&2; echo out", 0, "out\nerr\nout\n"),
        ("echo a; exit 3", 3, "a\n"),
        ("cat <<'E'\nit's $HOME\nE", 0, "it's $HOME\n"),
        ("printf 'no line end'", 0, "no line end"),
        ("true", 0, ""),
        ("echo $0 $#", 0, "bash 0\n"),
        ("cat", 0, ""),
        ("no-such-command 2>/dev/null", 127, ""),
        ("printf '{\"a\": 1}'", 0, "{\"a\": 1}"),
    ] {
        let mut command_line = shell(&folder, &wrapped(&folder, command));
        let (status, out) = into_one_file(&folder, &mut command_line);
        let out = out.replace("/bin/bash", "bash").replace("/usr/bin/bash", "bash");
        assert_eq!((status.code(), out.as_str()), (Some(code), output), "{command}");
    }
    let (_, _) = into_one_file(&folder, &mut shell(&folder, &wrapped(&folder, "cd /usr && true")));
    assert_eq!(folder.read("cwd"), "/usr\n");
    let (status, _) = into_one_file(&folder, &mut shell(&folder, &wrapped(&folder, "kill -9 $$")));
    assert_eq!(status.signal(), Some(9));
}

#[test]
fn outputs_of_claude_code_are_filtered_and_kept() {
    let folder = Folder::new();
    folder.write("build.txt", "   Compiling a v1.0.0\n".repeat(40) + "error: broken\n");
    std::fs::create_dir(folder.path("bin")).unwrap();
    let cargo = format!("#!/bin/sh\ncat {}\nexit 101\n", folder.path("build.txt").display());
    folder.write("bin/cargo", cargo);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("bin/cargo"), mode).unwrap();
    let argument = wrapped(&folder, "cd / && cargo build 2>&1");
    let (status, out) = into_one_file(&folder, &mut shell(&folder, &argument));
    assert_eq!(status.code(), Some(101));
    assert!(out.starts_with("error: broken\n[tamis cargo-build: "), "{out}");
    let handle = &out[out.find("tm_").unwrap()..][..29];
    let ran = folder.tamis(&["recall", handle, "--limit", "all"], b"");
    assert_eq!((ran.code, ran.out), (0, folder.read("build.txt")));

    let (status, out) =
        into_one_file(&folder, &mut shell(&folder, &wrapped(&folder, "seq 300000")));
    assert_eq!(status.code(), Some(0));
    // Claude Code shows 30,000 characters.
    assert!(out.len() < 30_000 && out.starts_with("1\n2\n"), "{} bytes", out.len());
    assert!(out.contains("\n300000\n[tamis: ") && out.contains("tamis recall tm_"), "{out}");
    let log = folder.read(".state/calls.jsonl");
    assert!(log.lines().any(|line| line.contains("\"tool\":\"cargo\"")), "{log}");
    assert!(!log.contains("300000"), "{log}");
}

#[test]
fn streams_that_are_read_apart_stay_apart() {
    let folder = Folder::new();
    let argument = wrapped(&folder, "seq 30000; echo err >&2; exit 4");
    let ran = Ran::new(&folder.feed(&mut shell(&folder, &argument), b""));
    assert_eq!((ran.code, ran.err.as_str()), (4, "err\n"));
    assert_eq!(ran.out.lines().count(), 30_000);
}

#[test]
fn hooks_and_servers_are_started_as_they_are() {
    let folder = Folder::new();
    for (argument, input, code, out) in [
        ("cat", "a\nb", 0, "a\nb"),
        ("seq 30000 | tail -1; exit 5", "", 5, "30000\n"),
        ("eval 'cat'", "x", 0, "x"),
        ("echo $0", "", 0, "/bin/sh\n"),
    ] {
        let ran = Ran::new(&folder.feed(&mut shell(&folder, argument), input.as_bytes()));
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (code, out, ""), "{argument}");
    }
    // The process becomes the server, so that signals and the id are the server's.
    let mut command = shell(&folder, "echo $$");
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{id}\n"));
}

#[test]
fn a_server_that_a_command_starts_goes_on() {
    let folder = Folder::new();
    let done = folder.path("done");
    let command =
        format!("(sleep 5; echo late; echo later; touch {}) & echo started", done.display());
    let (status, out) = into_one_file(&folder, &mut shell(&folder, &wrapped(&folder, &command)));
    assert!(!done.exists());
    assert_eq!((status.code(), out.as_str()), (Some(0), "started\n"));
    assert_eq!(folder.read("out"), "started\n");
    wait_for(|| done.exists());
    wait_for(|| folder.read("out") == "started\nlate\nlater\n");
}

#[test]
fn output_in_the_background_arrives_while_the_command_runs() {
    let folder = Folder::new();
    let argument = wrapped(&folder, "echo first; sleep 15; echo second");
    let file = File::create(folder.path("out")).unwrap();
    let mut command = shell(&folder, &argument);
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let mut child = command.spawn().unwrap();
    wait_for(|| folder.read("out") == "first\n");
    child.wait().unwrap();
    assert_eq!(folder.read("out"), "first\nsecond\n");
}

#[test]
fn a_command_that_is_stopped_ends_with_what_it_printed() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = Folder::new();
    let argument = wrapped(&folder, "echo begun; exec sleep 60");
    let file = File::create(folder.path("out")).unwrap();
    let mut command = shell(&folder, &argument);
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let mut child = command.spawn().unwrap();
    // The output of the command is released after a second of silence.
    wait_for(|| folder.read("out") == "begun\n");
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.signal(), folder.read("out").as_str()), (Some(15), "begun\n"));
}

#[test]
fn without_a_place_for_full_outputs_nothing_is_cut() {
    let folder = Folder::new();
    folder.write("file", "");
    for (name, value) in [("TAMIS_STATE_DIR", folder.path("file/x")), ("HOME", PathBuf::new())] {
        let mut command = shell(&folder, &wrapped(&folder, "seq 30000"));
        command.env_remove("TAMIS_STATE_DIR").env("XDG_STATE_HOME", folder.path("file/x"));
        command.env(name, value).env("TMPDIR", folder.path("file"));
        let (status, out) = into_one_file(&folder, &mut command);
        assert_eq!((status.code(), out.lines().count()), (Some(0), 30_000), "{name}");
        // A folder for temporary files is the second choice.
        let mut command = shell(&folder, &wrapped(&folder, "seq 30000"));
        command.env("TAMIS_STATE_DIR", folder.path("file/x")).env("TMPDIR", folder.0.path());
        let (_, out) = into_one_file(&folder, &mut command);
        let last = out.lines().last().unwrap();
        assert!(
            out.len() < 30_000 && last.contains("full output: ") && last.contains("/run-"),
            "{last}"
        );
    }
}

#[test]
fn bad_configurations_change_nothing() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path(".config/tamis")).unwrap();
    folder.write(".config/tamis/tamis.yaml", "version: [");
    let (status, out) =
        into_one_file(&folder, &mut shell(&folder, &wrapped(&folder, "echo a; exit 3")));
    assert_eq!((status.code(), out.as_str()), (Some(3), "a\n"));
}

/// `off` ends what saves. `lossless` resolves escape sequences and removes nothing. Without a store, no file is written.
#[test]
fn profiles_of_commands() {
    let tests: String = (0..300).map(|n| format!("test a{n} ... ok\n")).collect();
    for (config, variable, is_filtered, is_resolved) in [
        ("profile: standard", "", true, true),
        ("profile: off", "", false, false),
        ("profile: standard", "off", false, false),
        ("profile: lossless", "", false, true),
        ("store: off", "", false, true),
    ] {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path(".config/tamis")).unwrap();
        let yaml = format!("version: 1\n{config}\nfilters: {{}}\n");
        folder.write(".config/tamis/tamis.yaml", yaml);
        folder.write("transcript", format!("\u{1b}[32mrunning 300 tests\u{1b}[0m\n{tests}test result: ok. 300 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"));
        folder
            .write("cargo", format!("#!/bin/sh\ncat '{}'\n", folder.path("transcript").display()));
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path("cargo"), all).unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.path("").display());
        let script = wrapped(&folder, "cargo test");
        let mut command = shell(&folder, &script);
        command.env("TAMIS", variable).env("TMPDIR", folder.path("tmp")).env("PATH", path);
        let (status, out) = into_one_file(&folder, &mut command);
        assert_eq!(status.code(), Some(0));
        let of = format!("{config} TAMIS={variable}");
        assert_eq!(!out.contains("test a150 ... ok"), is_filtered, "{of}: {out}");
        if config != "store: off" {
            assert_eq!(!out.contains('\u{1b}'), is_resolved, "{of}");
        } else {
            assert!(!folder.path("tmp").exists() && !folder.path(".state/store").exists());
        }
        let mut command = shell(&folder, &wrapped(&folder, "seq 30000"));
        command.env("TAMIS", variable).env("TMPDIR", folder.path("tmp"));
        let (_, out) = into_one_file(&folder, &mut command);
        assert_eq!(out.lines().count() < 30_000, is_filtered, "{of}");
    }
}

#[test]
fn the_prefix_script_works_with_and_without_tamis() {
    let folder = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_tamis"));
    folder.write("tamis-shell", prefix_script(ConfigFiles::User, program));
    folder.write("without", prefix_script(ConfigFiles::User, Path::new("/nonexistent/tamis")));
    std::fs::create_dir(folder.path("work")).unwrap();
    let with = |shell: &str, script: &str, argument: &str| {
        let mut command = Command::new(shell);
        command.arg(folder.path(script)).arg(argument).current_dir(folder.path("work"));
        command.env_remove("TMPDIR").env("PATH", "/usr/bin:/bin");
        command.env("HOME", folder.0.path()).env("TAMIS_STATE_DIR", folder.path(".state"));
        command
            .env("SHELL", "/bin/bash")
            .env_remove("CLAUDE_CODE_SHELL")
            .env_remove("XDG_CONFIG_HOME");
        into_one_file(&folder, &mut command)
    };
    let shells = ["/bin/dash", "/bin/bash", "/bin/sh"].map(Path::new);
    for shell in shells.into_iter().filter(|path| path.exists()) {
        let shell = shell.to_str().unwrap();
        for (argument, code, output) in [
            (wrapped(&folder, "echo \"it's\" $BASH_VERSION | cut -c1-4; exit 6"), 6, "it's\n"),
            (wrapped(&folder, "[[ a == a ]] && echo bash"), 0, "bash\n"),
            // A script that is not understood is one for the same shell.
            (
                format!("x=`true`; {}", wrapped(&folder, "a=(b c); echo {1..2} ${a[1]}")),
                0,
                "1 2 c\n",
            ),
            (
                format!(
                    "export A=\"${{A:+$A }}'b'\" && {}",
                    wrapped(&folder, "set -o pipefail; cat <(echo $A)")
                ),
                0,
                "'b'\n",
            ),
            ("echo hook; exit 7".to_owned(), 7, "hook\n"),
            ("printf '%s' 'a b'".to_owned(), 0, "a b"),
        ] {
            for script in ["without", "tamis-shell"] {
                let (status, out) = with(shell, script, &argument);
                assert_eq!(
                    (status.code(), out.as_str()),
                    (Some(code), output),
                    "{shell} {script}: {argument}"
                );
            }
        }
        let long = wrapped(&folder, "seq 30000");
        assert_eq!(with(shell, "without", &long).1.lines().count(), 30_000);
        assert!(with(shell, "tamis-shell", &long).1.len() < 30_000);
    }
}

#[test]
fn events_are_answered() {
    let folder = Folder::new();
    let lines: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let event = serde_json::json!({"tool": "bash", "args": {"command": "seq"}, "output": lines, "metadata": {"exit": 0}});
    for args in [&["hook", "opencode"][..], &["hook", "opencode", "--config", "project"]] {
        let ran = folder.tamis(args, event.to_string().as_bytes());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(answer["output"].as_str().unwrap().contains("tamis recall tm_"), "{}", ran.out);
    }
    for (hook, out) in
        [("claude-code", ""), ("codex", ""), ("gemini", ""), ("opencode", ""), ("cursor", "{}\n")]
    {
        for input in ["", "{", "null", "[]", "\u{feff}{}"] {
            folder.tamis(&["hook", hook], input.as_bytes()).done(out);
            folder.tamis(&["hook", hook, "--config", "user"], input.as_bytes()).done(out);
        }
    }
    folder.tamis(&["hook", "nobody"], b"").refused(2, &["nobody", "expected shell, claude-code"]);
    folder.tamis(&["hook", "shell"], b"").refused(2, &["script"]);
    folder.tamis(&["hook", "codex", "x"], b"").refused(2, &["standard input"]);
}

/// The plugin, in Node if it is there: opencode runs it in Bun.
#[test]
fn the_plugin_never_throws() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("skipped: there is no node");
        return;
    }
    let folder = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_tamis"));
    let write = |program: &Path| folder.write("tamis.mjs", plugin(ConfigFiles::User, program));
    folder.write(
        "test.mjs",
        r#"import { Tamis } from "./tamis.mjs"
const after = (await Tamis({}))["tool.execute.after"]
const lines = Array.from({ length: 20000 }, (_, n) => n).join("\n")
const bash = { tool: "bash", args: { command: "seq" } }
const results = []
for (const [input, output] of [
  [bash, { output: lines, metadata: { exit: 0 } }],
  [bash, { output: "short", metadata: {} }],
  [{ tool: "read", args: {} }, { output: lines, metadata: {} }],
  [{ tool: "x_y", args: {} }, { content: [{ type: "text", text: "[1,  2]" }] }],
  [{ tool: "x_y" }, { content: [{ type: "text", text: "{}" }], structuredContent: { a: [] } }],
  [undefined, undefined], [bash, null], [bash, { output: 7 }], [{}, { content: 7 }],
]) {
  await after(input, output)
  results.push(output)
}
process.stdout.write(JSON.stringify(results))
"#,
    );
    let run = |program: &Path| {
        write(program);
        let mut command = Command::new("node");
        command.arg("test.mjs").current_dir(folder.0.path()).env("HOME", folder.0.path());
        command.env("TAMIS_STATE_DIR", folder.path(".state")).env_remove("TMPDIR");
        let ran = Ran::new(&folder.feed(&mut command, b""));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        serde_json::from_str::<Value>(&ran.out).unwrap()
    };
    let with = run(program);
    assert!(with[0]["output"].as_str().unwrap().contains("/tamis recall tm_"));
    assert_eq!(with[1]["output"], "short");
    assert_eq!(with[3]["content"][0]["text"], "[1,2]");
    // Missing, or where a sandboxed command can write.
    folder.write("planted", "#!/bin/sh\necho '{}'\n");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path("planted"), all).unwrap();
    let planted = folder.path("planted").canonicalize().unwrap();
    assert_eq!(run(&planted), run(Path::new("/nonexistent/tamis")));
    let without = run(Path::new("/nonexistent/tamis"));
    assert_eq!(without[3]["content"][0]["text"], "[1,  2]");
    assert!(without[0]["output"].as_str().unwrap().ends_with("\n19999"));
}
