//! Files and folders: new ones, links, modes.

use super::*;

#[test]
fn nothing_was_there() {
    for agent in Agent::ALL {
        for options in [USER, PROJECT] {
            if !agent.has_only_servers() {
                round_trip(&Home::new(), agent, options, agent.as_str());
            }
        }
    }
}

#[test]
fn the_folder_was_there() {
    for (agent, folder) in [
        (Agent::ClaudeCode, ".claude"),
        (Agent::Codex, ".codex"),
        (Agent::Opencode, ".config/opencode/plugins"),
        (Agent::Gemini, ".gemini/extensions"),
        (Agent::Cursor, ".cursor"),
    ] {
        let home = Home::new();
        std::fs::create_dir_all(home.path(folder)).unwrap();
        std::fs::create_dir_all(home.path(".local/state/tamis/store")).unwrap();
        round_trip(&home, agent, USER, folder);
    }
}

/// All agents at once, removed in another order.
#[test]
fn agents_do_not_disturb_each_other() {
    let home = Home::new();
    let before = home.everything();
    for agent in Agent::ALL {
        home.install(agent, MCP);
        home.install(agent, PROJECT);
    }
    for agent in [2, 0, 5, 1, 4, 3].map(|at| Agent::ALL[at]) {
        home.uninstall(agent, Scope::Project);
        home.uninstall(agent, Scope::User);
    }
    assert_eq!(home.everything(), before);
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    for (agent, options, file) in JSON_FILES {
        // To a file, relative.
        let home = Home::new();
        home.write("dotfiles/settings.json", "{\n  \"a\": 1\n}\n");
        let link = home.path(file);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        let up = "../".repeat(Path::new(file).components().count() - 1);
        symlink(format!("{up}dotfiles/settings.json"), &link).unwrap();
        round_trip(&home, agent, options, file);
        home.install(agent, options);
        assert!(link.is_symlink() && home.read("dotfiles/settings.json").contains("tamis"));
        // To nothing yet.
        let home = Home::new();
        std::fs::create_dir_all(link_folder(&home, file)).unwrap();
        symlink(home.path("elsewhere/new.json"), home.path(file)).unwrap();
        round_trip(&home, agent, options, file);
        home.install(agent, options);
        assert!(home.path(file).is_symlink() && home.read("elsewhere/new.json").contains("tamis"));
        // A folder.
        let home = Home::new();
        std::fs::create_dir_all(home.path("real")).unwrap();
        let folder = link_folder(&home, file);
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        symlink(home.path("real"), folder).unwrap();
        round_trip(&home, agent, options, file);
    }
}

#[cfg(unix)]
fn link_folder(home: &Home, file: &str) -> PathBuf {
    home.path(file).parent().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn modes_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    for mode in [0o600, 0o644, 0o640, 0o755] {
        for (agent, options, file) in JSON_FILES {
            let home = Home::new();
            home.write(file, "{\"a\": 1}");
            std::fs::set_permissions(home.path(file), PermissionsExt::from_mode(mode)).unwrap();
            round_trip(&home, agent, options, file);
            home.install(agent, options);
            let now = home.path(file).metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(now, mode, "{file}");
        }
    }
    let home = Home::new();
    home.install(Agent::ClaudeCode, USER);
    let mode = |file: &str| home.path(file).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(".claude/tamis-shell") & 0o500, 0o500);
    assert_eq!(mode(".local/state/tamis/installed.json"), 0o600);
    assert_eq!(mode(".local/state/tamis"), 0o700);
}

#[test]
fn variables_move_the_files() {
    let home = Home::new();
    let mut places = home.places();
    places.claude = Some(home.path("c"));
    places.codex = Some(home.path("x"));
    places.gemini = Some(home.path("g"));
    places.config = home.path("o");
    for (agent, file) in [
        (Agent::ClaudeCode, "c/settings.json"),
        (Agent::ClaudeCode, "c/tamis-shell"),
        (Agent::Codex, "x/hooks.json"),
        (Agent::Gemini, "g/.gemini/extensions/tamis/gemini-extension.json"),
        (Agent::Gemini, "g/.gemini/extensions/tamis/hooks/hooks.json"),
        (Agent::Opencode, "o/opencode/plugins/tamis.js"),
    ] {
        install(agent, USER, &places).unwrap().apply().unwrap();
        assert!(home.path(file).is_file(), "{file}");
    }
    let settings = home.read("c/settings.json");
    assert!(settings.contains(&format!("{:?}", home.path("c/tamis-shell"))), "{settings}");
}

/// A dry run writes nothing, and its diff has what a run writes.
#[test]
fn a_plan_writes_nothing() {
    let home = Home::new();
    home.write(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    let before = home.everything();
    let plan = home.plan(Agent::ClaudeCode, USER).unwrap();
    assert_eq!(home.everything(), before);
    let diff = plan.diff();
    for part in [
        "--- /dev/null\n+++ ~/.claude/tamis-shell\n",
        "--- ~/.claude/settings.json\n+++ ~/.claude/settings.json\n@@ -1,3 +1,20 @@\n {\n-  \"model\": \"x\"\n+  \"model\": \"x\",\n+  \"env\": {\n",
    ] {
        assert!(diff.contains(part), "{diff}");
    }
}

/// A file that changes between the plan and the run is not overwritten, and nothing else is changed.
#[test]
fn a_file_that_changes_stops_the_run() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}");
    let plan = home.plan(Agent::ClaudeCode, USER).unwrap();
    home.write(".claude/settings.json", "{\"new\": true}");
    let before = home.everything();
    let error = plan.apply().unwrap_err();
    assert!(error.message().contains("another program has just changed it"), "{error}");
    assert_eq!(home.everything(), before);
}

/// The command lines of hooks are harmless without tamis, and with one that fails.
#[cfg(unix)]
#[test]
fn hooks_are_harmless_without_tamis() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    for (agent, options, file, pointer, otherwise) in [
        (Agent::Codex, USER, ".codex/hooks.json", "/hooks/PreToolUse/0/hooks/0/command", ""),
        (
            Agent::Gemini,
            USER,
            ".gemini/extensions/tamis/hooks/hooks.json",
            "/hooks/AfterTool/0/hooks/0/command",
            "",
        ),
        (
            Agent::Gemini,
            PROJECT,
            "project/.gemini/settings.json",
            "/hooks/AfterTool/0/hooks/0/command",
            "",
        ),
        (Agent::Cursor, USER, ".cursor/hooks.json", "/hooks/postToolUse/0/command", "{}\n"),
    ] {
        let home = Home::new();
        home.install(agent, options);
        let hooks: serde_json::Value = serde_json::from_str(&home.read(file)).unwrap();
        let line = hooks.pointer(pointer).unwrap().as_str().unwrap();
        for (tamis, expected) in [
            ("", otherwise),
            ("#!/bin/sh\necho error >&2\nexit 2\n", otherwise),
            ("#!/bin/sh\nkill -9 $$\n", otherwise),
            ("#!/nonexistent\n", otherwise),
            (
                "#!/bin/sh\necho \"$@\"\n",
                &format!("hook {agent} --config {}\n", options.scope.as_str()),
            ),
        ] {
            if !tamis.is_empty() {
                home.write("bin/tamis", tamis);
                std::fs::set_permissions(home.path("bin/tamis"), PermissionsExt::from_mode(0o755))
                    .unwrap();
            }
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]).env("PATH", home.path("bin")).stdin(Stdio::null());
            let ran = command.output().unwrap();
            let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(
                (ran.status.code(), said),
                (Some(0), [expected.to_owned(), String::new()]),
                "{line}: {tamis}"
            );
        }
    }
}
