//! `tamis install`, `tamis uninstall` and `tamis doctor`, as processes. The files themselves are tested in
//! `crates/agents`.

use super::*;

/// Runs a command whose home is the folder `home`.
fn at_home(folder: &Folder, args: &[&str]) -> Ran {
    std::fs::create_dir_all(folder.path("home")).unwrap();
    std::fs::create_dir_all(folder.path("work")).unwrap();
    let mut command = folder.any();
    for name in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
        "OPENCODE_CONFIG",
        "TAMIS_STATE_DIR",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
        "CLAUDE_CODE_SHELL_PREFIX",
    ] {
        command.env_remove(name);
    }
    command.env("HOME", folder.path("home")).current_dir(folder.path("work")).args(args);
    Ran::new(&command.output().unwrap())
}

fn names_in(folder: &Folder) -> Vec<String> {
    let mut open = vec![folder.path("home"), folder.path("work")];
    let mut names = Vec::new();
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            names.push(path.strip_prefix(folder.path("")).unwrap().display().to_string());
            open.extend(path.is_dir().then_some(path));
        }
    }
    names.sort();
    names
}

#[test]
fn an_installation_is_printed_made_and_removed() {
    let folder = Folder::new();
    for agent in ["claude-code", "codex", "opencode", "gemini", "cursor"] {
        let dry = at_home(&folder, &["install", agent, "--trust-path", "--dry-run"]);
        assert_eq!(dry.code, 0, "{}", dry.err);
        assert!(dry.out.starts_with("--- /dev/null\n+++ ~/."), "{}", dry.out);
        assert!(names_in(&folder).is_empty());
        let ran = at_home(&folder, &["install", agent, "--trust-path"]);
        assert_eq!((ran.code, &ran.out, &ran.err), (0, &dry.out, &dry.err));
        let offers = if agent == "claude-code" { "\"denyWrite\": [\n" } else { "" };
        assert!(ran.err.contains(offers), "{}", ran.err);
        let installed = names_in(&folder);
        assert!(installed.len() > 4, "{installed:?}");
        let again = at_home(&folder, &["install", agent, "--trust-path", "--user"]);
        assert_eq!((again.code, again.out.as_str()), (0, ""));
        assert!(again.err.contains(&format!("tamis: {agent}: nothing to change\n")));
        assert_eq!(names_in(&folder), installed);
        let dry = at_home(&folder, &["uninstall", agent, "--dry-run"]);
        assert!(
            dry.out.starts_with("--- ~/.") && dry.out.contains("+++ /dev/null\n"),
            "{}",
            dry.out
        );
        assert_eq!(names_in(&folder), installed);
        let ran = at_home(&folder, &["uninstall", agent]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, dry.out.as_str(), ""));
        assert!(names_in(&folder).is_empty(), "{:?}", names_in(&folder));
        let ran = at_home(&folder, &["uninstall", agent]);
        let said = format!("tamis: {agent}: nothing to remove\n");
        assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, "", said));
    }
}

#[test]
fn a_refusal_has_the_lines_to_add() {
    let folder = Folder::new();
    folder.tamis(&["help"], b"");
    std::fs::create_dir_all(folder.path("home/.claude")).unwrap();
    folder.write("home/.claude/settings.json", "{ // comment\n}");
    let ran = at_home(&folder, &["install", "claude-code", "--trust-path"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("tamis: ~/.claude/settings.json: has comments"), "{}", ran.err);
    assert!(
        ran.out.starts_with("{\n  \"env\": {\n    \"CLAUDE_CODE_SHELL_PREFIX\": \"/"),
        "{}",
        ran.out
    );
    assert_eq!(names_in(&folder), ["home/.claude", "home/.claude/settings.json"]);
    assert_eq!(folder.read("home/.claude/settings.json"), "{ // comment\n}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let folder = Folder::new();
    for (args, words) in [
        (&["install"][..], "<AGENT>"),
        (&["install", "claude"], "claude-code"),
        (&["install", "codex", "--closed"], "--mcp"),
        (&["install", "codex", "--user", "--project"], "--project"),
        (&["uninstall", "codex", "--closed"], "--closed"),
        (&["doctor", "codex"], "codex"),
    ] {
        let ran = at_home(&folder, args);
        ran.refused(2, &[words]);
    }
}

#[test]
fn doctor_reports_what_is_missing() {
    let folder = Folder::new();
    at_home(&folder, &["install", "claude-code", "--trust-path"]);
    at_home(&folder, &["install", "codex", "--trust-path"]);
    let examine = || {
        let ran = at_home(&folder, &["doctor"]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
        ran.out
    };
    let line = |out: &str, words: &str| {
        let found = out.lines().find(|line| line.contains(words)).map(str::to_owned);
        found.unwrap_or_else(|| panic!("{words}: {out}"))
    };
    let out = examine();
    assert!(line(&out, "the hook is not approved").starts_with("broken  codex: "));
    assert_eq!(
        line(&out, "commands start through"),
        "ok      claude-code: ~/.claude/settings.json: commands start through ~/.claude/tamis-shell"
    );
    assert!(line(&out, "opencode: not installed").starts_with("note "));
    assert!(line(&out, "store: ~/.local/state/tamis/store").starts_with("ok "));
    // Nothing was written.
    assert!(!folder.path("home/.local/state/tamis/store").exists());
    assert!(!out.contains("tamis-shell is not"), "{out}");
    // The script was changed, does not parse, is another program.
    let script = folder.read("home/.claude/tamis-shell");
    let first = |text: &str| text.lines().take(2).collect::<Vec<_>>().join("\n");
    for (text, level, words) in [
        (
            format!("{script}# mine\n"),
            "note    claude-code: ",
            "is not the script of this version, or was changed",
        ),
        (
            format!("{script}if\n"),
            "broken  claude-code: ",
            "does not parse (`/bin/sh -n`), so every command fails",
        ),
        (format!("{}\ncase x in\n", first(&script)), "broken  claude-code: ", "does not parse"),
        (
            "#!/bin/sh\nexec /opt/other \"$@\"\n".to_owned(),
            "broken  claude-code: ",
            "is not a script of tamis any more",
        ),
    ] {
        folder.write("home/.claude/tamis-shell", text);
        let found = line(&examine(), words);
        assert!(found.starts_with(&format!("{level}~/.claude/tamis-shell ")), "{found}");
    }
    folder.write("home/.claude/tamis-shell", script);
    // Hooks and servers that name tamis in another form. `touch` would run, if they were run.
    let report = || at_home(&folder, &["doctor"]).out;
    let hooks = folder.read("home/.codex/hooks.json");
    let ran = folder.path("home/ran");
    let touch = format!("touch {}; tamis hook codex", ran.display());
    let hook = |command: &str| {
        let command = serde_json::json!({"type": "command", "command": command});
        serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "x", "hooks": [command]}]}})
            .to_string()
    };
    for (command, level, words) in [
        (touch.as_str(), "note    codex: ", "in another form than an installation writes"),
        ("tamis hook codex; if", "broken  codex: ", "a hook names tamis, and does not parse"),
        ("[ x ] && 'tamis hook codex", "broken  codex: ", "a hook names tamis, and does not parse"),
    ] {
        folder.write("home/.codex/hooks.json", hook(command));
        let found = line(&report(), words);
        assert!(found.starts_with(&format!("{level}~/.codex/hooks.json: ")), "{found}");
    }
    // Not a program of ours, and no text of the user is shown.
    for command in
        ["/opt/other hook", "/home/tamis/bin/lint.sh", "cd /srv/tamis-api; if", "tamisx; ("]
    {
        folder.write("home/.codex/hooks.json", hook(command));
        assert!(!report().contains("a hook names tamis"), "{command}");
    }
    folder.write("home/.codex/hooks.json", hook("API_KEY=tide4xkq81 tamis hook codex"));
    assert!(!report().contains("tide4xkq81"));
    folder.write("home/.codex/hooks.json", hooks);
    let script = "exec \"$0\" mcp --config user -- \"$@\" |";
    let servers = serde_json::json!({"mcpServers": {"x": {"command": "sh", "args": ["-c", script, "/opt/tamis-gateway", "npx"]}}});
    folder.write("home/.claude.json", servers.to_string());
    let found = line(&report(), "an MCP server names tamis, and does not parse");
    assert!(found.starts_with("broken  claude-code: ~/.claude.json: "), "{found}");
    let python = serde_json::json!({"mcpServers": {"x": {"command": "python3", "args": ["-c", "from tamis import serve\nserve(a=[1])"]}}});
    folder.write("home/.claude.json", python.to_string());
    assert!(!report().contains("an MCP server names tamis"));
    std::fs::remove_file(folder.path("home/.claude.json")).unwrap();
    assert!(!ran.exists());
    std::fs::remove_file(folder.path("home/.claude/tamis-shell")).unwrap();
    // An approval, as Codex writes it.
    let file = folder.path("home/.codex/hooks.json").canonicalize().unwrap();
    let state = format!(
        "[hooks.state.\"{}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:0\"\n",
        file.display()
    );
    folder.write("home/.codex/config.toml", state);
    std::fs::create_dir_all(folder.path("home/.config/tamis")).unwrap();
    folder.write("home/.config/tamis/tamis.yaml", "version: 1\nnonsense: 2\n");
    let out = examine();
    let settings = line(&out, "which is missing");
    let begin = "broken  claude-code: ~/.claude/settings.json: CLAUDE_CODE_SHELL_PREFIX names";
    assert!(settings.starts_with(begin), "{settings}");
    assert!(settings.ends_with("run tamis install claude-code, or remove the variable"));
    assert!(line(&out, "the hook was approved").starts_with("ok      codex: "));
    assert!(line(&out, "nonsense").starts_with("broken  configuration: "));
}

#[test]
fn agents_are_listed() {
    let folder = Folder::new();
    for command in ["install", "uninstall"] {
        let ran = at_home(&folder, &[command, "--list"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.starts_with("claude-code     commands and MCP servers\n"), "{}", ran.out);
        assert!(ran.out.contains("\nvscode          MCP servers\n"), "{}", ran.out);
        let ran = at_home(&folder, &[command]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("AGENT"), "{}", ran.err);
    }
    assert!(names_in(&folder).is_empty());
}

#[test]
fn a_check_says_what_is_stored_if_it_is_not_all() {
    let folder = Folder::new();
    let text = "version: 1\nfilters:\n  a: {select: [id], root: object}\n  b: {select: [id], root: object, on_error: closed}\n  \
                c: {select: [id], root: object, retrieve: none}\n";
    std::fs::write(folder.path("tools.yaml"), text).unwrap();
    let ran = Ran::new(&folder.any().arg("check").arg(folder.path("tools.yaml")).output().unwrap());
    let lines: Vec<&str> = ran.out.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "  a: saves: select",
            "  b: protects: select, on_error; retrieve: cut",
            "  c: saves: select; retrieve: none"
        ]
    );
}
