//! Programs that a command in a sandbox, or another user, could replace are not installed.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use tamis_agents::agent::Agent;
use tamis_agents::install::{InstallOptions, install};

use super::{Home, MCP, PROJECT, USER};

/// Returns why the installation of a program is refused.
fn refusal(home: &Home, agent: Agent, program: PathBuf) -> Option<String> {
    let mut places = home.places();
    places.temporary = vec![home.path("tmp")];
    places.program = program;
    let before = home.everything();
    let options = InstallOptions::default();
    let refused = install(agent, options, &places).err().map(|error| error.message().to_owned());
    if refused.is_some() {
        assert_eq!(home.everything(), before);
        let trusted =
            install(agent, InstallOptions { trust_path: true, ..options }, &places).unwrap();
        assert!(trusted.notes().iter().any(|note| note.contains("may start another program")));
    }
    refused
}

#[test]
fn places_where_a_sandboxed_command_can_write() {
    let home = Home::new();
    home.write("env/pyvenv.cfg", "home = /usr/bin\n");
    home.write(".claude/settings.json", r#"{"sandbox": {"filesystem": {"allowWrite": ["~/allowed"]}}, "permissions": {"additionalDirectories": ["/nowhere", "../added"]}}"#);
    home.write(
        ".codex/config.toml",
        "[sandbox_workspace_write]\nwritable_roots = [\"ROOT/roots\"]\n"
            .replace("ROOT", home.path("").to_str().unwrap()),
    );
    let claude = Agent::ClaudeCode;
    for (agent, file, expected) in [
        (claude, "bin/tamis", None),
        (claude, "project/.venv/bin/tamis", Some("below the working directory")),
        (claude, "tmp/tamis", Some("temporary files")),
        (claude, "env/bin/tamis", Some("virtual environment")),
        (claude, "x/node_modules/.bin/tamis", Some("npm")),
        (claude, ".npm/_npx/1/tamis", Some("npm")),
        (claude, ".cache/uv/a/tamis", Some("cache")),
        (claude, "allowed/tamis", Some("lets commands write")),
        (claude, "added/tamis", Some("lets commands write")),
        (claude, "roots/tamis", None),
        (Agent::Codex, "roots/a/tamis", Some("lets commands write")),
        (Agent::Codex, "allowed/tamis", None),
    ] {
        home.write(file, "");
        let found = refusal(&home, agent, home.path(file));
        match expected {
            None => assert_eq!(found, None, "{file}"),
            Some(part) => {
                assert!(found.as_ref().is_some_and(|text| text.contains(part)), "{file}: {found:?}")
            }
        }
    }
}

#[test]
fn links_and_modes() {
    let home = Home::new();
    home.write("project/bin/tamis", "");
    let link = |name: &str, target: &str| {
        std::os::unix::fs::symlink(home.path(target), home.path(name)).unwrap();
        home.path(name)
    };
    // The target of a link is examined, and its folder.
    let to_project = link("linked", "project/bin/tamis");
    assert!(refusal(&home, Agent::Codex, to_project).unwrap().contains("working directory"));
    let from_project = link("project/linked", "bin/tamis");
    assert!(refusal(&home, Agent::Codex, from_project).unwrap().contains("working directory"));
    let folder = link("folder", "project/bin");
    assert!(refusal(&home, Agent::Codex, folder.join("tamis")).is_some());
    let good = link("good", "bin/tamis");
    assert_eq!(refusal(&home, Agent::Codex, good), None);
    let missing = link("dangling", "nowhere");
    assert!(refusal(&home, Agent::Codex, missing).is_some());
    // The folder of the script, too.
    home.write(".claude/settings.json", "{}");
    let set_claude = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(home.path(".claude"), mode).unwrap();
    };
    set_claude(0o777);
    let found = refusal(&home, Agent::ClaudeCode, home.path("bin/tamis"));
    assert!(found.is_some_and(|text| text.contains("writable for all")));
    set_claude(0o755);
    for (mode, is_refused) in [(0o755, false), (0o777, true), (0o1777, false), (0o757, true)] {
        home.write("mode/tamis", "");
        let set = |path: &str, mode| {
            std::fs::set_permissions(home.path(path), std::fs::Permissions::from_mode(mode))
                .unwrap();
        };
        set("mode", mode);
        let found = refusal(&home, Agent::Gemini, home.path("mode/tamis"));
        assert_eq!(found.is_some(), is_refused, "{mode:o}: {found:?}");
        set("mode", 0o755);
        set("mode/tamis", mode & 0o777);
        let found = refusal(&home, Agent::Gemini, home.path("mode/tamis"));
        assert_eq!(found.is_some(), mode & 0o002 != 0, "{mode:o}: {found:?}");
        set("mode/tamis", 0o755);
    }
}

/// A folder that a sandboxed command can write to stands first in `PATH`. Nothing in it is started, whether the program is
/// where it was installed, is missing, or lies below the working directory or the folder for temporary files.
#[test]
fn nothing_is_looked_up_by_its_name() {
    let planted = "#!/bin/sh\necho planted >> \"$MARK\"\n";
    for (options, agent, file, pointer) in [
        (USER, Agent::ClaudeCode, "", ""),
        (PROJECT, Agent::ClaudeCode, "", ""),
        (USER, Agent::Codex, ".codex/hooks.json", "/hooks/PreToolUse/0/hooks/0/command"),
        (PROJECT, Agent::Codex, "project/.codex/hooks.json", "/hooks/PreToolUse/0/hooks/0/command"),
        (
            USER,
            Agent::Gemini,
            ".gemini/extensions/tamis/hooks/hooks.json",
            "/hooks/AfterTool/0/hooks/0/command",
        ),
        (USER, Agent::Cursor, ".cursor/hooks.json", "/hooks/postToolUse/0/command"),
    ] {
        let home = Home::new();
        home.install(agent, options);
        let own = "#!/bin/sh\necho own >> \"$MARK\"\n";
        let write = |file: &str, text: &str| {
            home.write(file, text);
            std::fs::set_permissions(home.path(file), PermissionsExt::from_mode(0o755)).unwrap();
        };
        for name in ["tamis", "tamis-gateway"] {
            write(&format!("project/.venv/bin/{name}"), planted);
        }
        let command = || match agent {
            Agent::ClaudeCode => {
                let name = if options == USER { "tamis-shell" } else { "tamis-shell-project" };
                let mut command = Command::new(home.path(".claude").join(name));
                command.arg("true");
                command
            }
            _ => {
                let hooks: serde_json::Value = serde_json::from_str(&home.read(file)).unwrap();
                let line = hooks.pointer(pointer).unwrap().as_str().unwrap().to_owned();
                let mut command = Command::new("/bin/sh");
                command.args(["-c", &line]);
                command
            }
        };
        let folders = [home.path("project/.venv/bin"), "/usr/bin".into(), "/bin".into()];
        let path = std::env::join_paths(folders).unwrap();
        let started = |working: &str, temporary: &str| {
            let working = home.path(working).canonicalize().unwrap();
            _ = std::fs::remove_file(home.path("mark"));
            let ran = command()
                .current_dir(&working)
                .env("PWD", &working)
                .env("TMPDIR", home.path(temporary))
                .env("PATH", &path)
                .env("MARK", home.path("mark"))
                .output()
                .unwrap();
            assert!(ran.status.success(), "{agent}: {ran:?}");
            std::fs::read_to_string(home.path("mark")).unwrap_or_default()
        };
        write("bin/tamis", own);
        assert_eq!(started("project", "tmp"), "own\n", "{agent}");
        assert_eq!(started("bin", "tmp"), "", "{agent}");
        assert_eq!(started(".", "tmp"), "", "{agent}");
        assert_eq!(started("project", "bin"), "", "{agent}");
        assert_eq!(started("project", "bin/"), "", "{agent}");
        std::fs::remove_file(home.path("bin/tamis")).unwrap();
        assert_eq!(started("project", "tmp"), "", "{agent}");
    }
    let home = Home::new();
    home.install(Agent::Opencode, USER);
    let plugin = home.read(".config/opencode/plugins/tamis.js");
    let program = serde_json::Value::from(home.path("bin/tamis").to_str().unwrap()).to_string();
    assert!(plugin.contains(&format!("const PROGRAM = {program}\n")), "{plugin}");
}

/// Entries of earlier versions, which start a name, are renewed and removed.
#[test]
fn older_entries_are_renewed() {
    let older =
        "command -v tamis >/dev/null 2>&1 && tamis hook codex --config user 2>/dev/null || exit 0";
    let hooks = serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "^Bash$", "hooks": [{"type": "command", "command": older, "timeout": 20}]}]}});
    let script = "command -v tamis-gateway >/dev/null && exec tamis-gateway mcp --config user -- \"$@\"; exec \"$@\"";
    let servers = serde_json::json!({"mcpServers": {"a": {"command": "sh", "args": ["-c", script, "tamis", "npx", "x"]}}});
    let home = Home::new();
    home.write(".codex/hooks.json", hooks.to_string());
    home.write(".claude.json", servers.to_string());
    home.install(Agent::Codex, USER);
    home.install(Agent::ClaudeCode, MCP);
    for file in [".codex/hooks.json", ".claude.json"] {
        let text = home.read(file);
        assert!(text.contains("/bin/tamis") && !text.contains("command -v"), "{text}");
        assert_eq!(text.matches("/bin/tamis").count(), 1, "{text}");
    }
    home.uninstall(Agent::ClaudeCode, tamis_agents::install::Scope::User);
    let plain = serde_json::json!({"mcpServers": {"a": {"command": "npx", "args": ["x"]}}});
    assert_eq!(home.read(".claude.json"), plain.to_string());
}

/// Returns the lines that an installation offers.
fn offered(home: &Home, agent: Agent, options: InstallOptions) -> Vec<String> {
    let plan = install(agent, options, &home.places()).unwrap();
    plan.offers().iter().map(|offer| offer.lines().to_owned()).collect()
}

#[test]
fn a_rule_that_denies_replacing_is_offered() {
    let home = Home::new();
    let root = home.path("");
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let list = |lines: &[String]| -> Vec<String> {
        let value: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        let list = value["sandbox"]["filesystem"]["denyWrite"].as_array().unwrap().clone();
        list.iter().map(|path| path.as_str().unwrap().to_owned()).collect()
    };
    let (script, program) = (path(".claude/tamis-shell"), path("bin/tamis"));
    let lines = offered(&home, Agent::ClaudeCode, USER);
    assert_eq!(list(&lines), [program.clone(), script.clone()]);
    let lines = offered(&home, Agent::ClaudeCode, MCP);
    assert_eq!(list(&lines), [program, path("bin/tamis-gateway"), script]);
    let lines = offered(&home, Agent::ClaudeCode, PROJECT);
    assert!(list(&lines).contains(&path(".claude/tamis-shell-project")));
    // A rule that is there is not offered again.
    home.write(
        ".claude/settings.json",
        r#"{"sandbox": {"filesystem": {"denyWrite": ["~/bin", "./x", "~/.claude/tamis-shell"]}}}"#,
    );
    assert!(offered(&home, Agent::ClaudeCode, USER).is_empty());
    // Both ends of a link.
    home.write(".claude/settings.json", "{}");
    home.write("real/tamis", "");
    std::fs::remove_file(home.path("bin/tamis")).unwrap();
    std::os::unix::fs::symlink(home.path("real/tamis"), home.path("bin/tamis")).unwrap();
    assert!(list(&offered(&home, Agent::ClaudeCode, USER)).contains(&path("real/tamis")));

    let codex = |config: &str| {
        home.write(".codex/config.toml", config);
        offered(&home, Agent::Codex, USER).concat()
    };
    let rules = format!("{:?} = \"read\"\n{:?} = \"read\"\n", path("bin"), path("real"));
    assert_eq!(
        codex(""),
        format!(
            "default_permissions = \"tamis\"\n\n[permissions.tamis]\nextends = \":workspace\"\n\n\
             [permissions.tamis.filesystem]\n{rules}"
        )
    );
    assert!(codex("default_permissions = \":read-only\"\n").contains("extends = \":read-only\"\n"));
    let own = "default_permissions = \"a b\"\n[permissions.\"a b\".filesystem]\n";
    assert_eq!(codex(own), format!("[permissions.\"a b\".filesystem]\n{rules}"));
    assert_eq!(codex(&format!("{own}{rules}")), "");
    // With it, profiles have no effect.
    assert_eq!(
        codex(&format!("sandbox_mode = \"workspace-write\"\n{own}{rules}")),
        format!("[permissions.\"a b\".filesystem]\n{rules}")
    );
    assert!(!offered(&home, Agent::Gemini, USER).iter().any(|lines| lines.contains("denyWrite")));
}

#[test]
fn the_rule_for_the_rest_of_an_output_is_offered() {
    let home = Home::new();
    let rule = offered(&home, Agent::Gemini, USER);
    assert!(rule.iter().any(|lines| lines.contains("/bin/tamis recall\"\n")), "{rule:?}");
    home.write(".gemini/policies/mine.toml", rule.last().unwrap());
    assert!(offered(&home, Agent::Gemini, USER).is_empty());
    assert!(offered(&home, Agent::Opencode, USER).is_empty());
}
