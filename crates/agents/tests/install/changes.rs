//! The user changes files between installation and removal: only ours goes.

use tamis_agents::doctor;

use super::*;

/// File, before, what the user replaces after the installation, by what, and what is left after the removal.
const CHANGES: [(Agent, &str, &str, &str, &str, &str); 10] = [
    (
        Agent::ClaudeCode,
        ".claude/settings.json",
        "{\n  \"model\": \"x\"\n}\n",
        "\"model\": \"x\"",
        "\"model\": \"y\",\n  \"new\": [1]",
        "{\n  \"model\": \"y\",\n  \"new\": [1]\n}\n",
    ),
    (
        Agent::ClaudeCode,
        ".claude/settings.json",
        "{}",
        "\"env\": {",
        "\"theme\": \"dark\",\n  \"env\": {\n    \"A\": \"1\",",
        "{\n  \"theme\": \"dark\",\n  \"env\": {\n    \"A\": \"1\"\n  }\n}",
    ),
    (
        Agent::ClaudeCode,
        ".claude/settings.json",
        "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n",
        "tamis-shell\"",
        "tamis-shell\",\n    \"B\": \"2\"",
        "{\n  \"env\": {\n    \"A\": \"1\",\n    \"B\": \"2\"\n  }\n}\n",
    ),
    (
        Agent::ClaudeCode,
        ".claude/settings.json",
        "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n",
        "\"A\": \"1\",\n    ",
        "",
        "{\n  \"env\": {}\n}\n",
    ),
    (
        Agent::Codex,
        ".codex/hooks.json",
        "{}\n",
        "\"timeout\": 20\n          }",
        "\"timeout\": 20\n          },\n          {\"type\": \"command\", \"command\": \"mine\"}",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"^Bash$\",\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"}\n        ]\n      }\n    ]\n  }\n}\n",
    ),
    (
        Agent::Codex,
        ".codex/hooks.json",
        "{}\n",
        "\"PreToolUse\": [",
        "\"Stop\": [],\n    \"PreToolUse\": [\n      {\"hooks\": []},",
        "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [\n      {\"hooks\": []}\n    ]\n  }\n}\n",
    ),
    (
        Agent::Codex,
        ".codex/config.toml",
        "[[hooks.Stop]]",
        "timeout = 20\n",
        "timeout = 20\n[tui]\nx = 1\n",
        "[[hooks.Stop]]\n[tui]\nx = 1\n",
    ),
    (
        Agent::Codex,
        ".codex/config.toml",
        "[[hooks.Stop]]\n",
        "[[hooks.Stop]]\n",
        "# mine\n[[hooks.Stop]]\nhooks = []\n",
        "# mine\n[[hooks.Stop]]\nhooks = []\n",
    ),
    (
        Agent::Cursor,
        ".cursor/hooks.json",
        "{}",
        "\"postToolUse\": [",
        "\"stop\": [{\"command\": \"x\"}],\n    \"postToolUse\": [",
        "{\n  \"hooks\": {\n    \"stop\": [{\"command\": \"x\"}]\n  }\n}",
    ),
    (
        Agent::Cursor,
        ".cursor/hooks.json",
        "{\"version\": 1}",
        "\"version\": 1",
        "\"version\": 2",
        "{\"version\": 2}",
    ),
];

#[test]
fn changes_of_the_user_are_kept() {
    for (agent, file, before, old, new, expected) in CHANGES {
        let home = Home::new();
        home.write(file, before);
        home.install(agent, USER);
        let installed = home.read(file);
        assert!(installed.contains(old), "{file}: {installed}");
        home.write(file, installed.replacen(old, new, 1));
        home.install(agent, USER);
        home.uninstall(agent, Scope::User);
        assert_eq!(home.read(file), expected, "{file}: {before}");
    }
}

/// A file that did not exist is kept if the user has written something into it.
#[test]
fn a_new_file_with_other_entries_is_kept() {
    let home = Home::new();
    home.install(Agent::ClaudeCode, USER);
    let text = home.read(".claude/settings.json");
    home.write(".claude/settings.json", text.replacen("{", "{\n  \"model\": \"x\",", 1));
    home.uninstall(Agent::ClaudeCode, Scope::User);
    assert_eq!(home.read(".claude/settings.json"), "{\n  \"model\": \"x\"\n}\n");
    assert!(!home.path(".claude/tamis-shell").exists());
}

/// Without the record, entries are removed with the empty objects around them.
#[test]
fn the_record_may_be_lost() {
    for (agent, options, file) in JSON_FILES {
        for (before, after) in [
            ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"),
            ("{\"a\":1}", "{\"a\":1}"),
            ("{}\n", "{}\n"),
        ] {
            let home = Home::new();
            home.write(file, before);
            home.install(agent, options);
            std::fs::remove_dir_all(home.path(".local/state/tamis")).unwrap();
            home.uninstall(agent, options.scope);
            let left = home.read(file);
            // The version that Cursor needs is not recognised as ours.
            let left = if agent == Agent::Cursor {
                assert!(left.contains("version") && !left.contains("tamis"), "{left}");
                continue;
            } else {
                left
            };
            assert_eq!(left, after, "{file}");
        }
    }
}

/// The user removes our entry and installs again later: what is there then is what the removal restores.
#[test]
fn an_old_record_is_not_used() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}");
    home.install(Agent::ClaudeCode, USER);
    let later = "{\n  \"env\": {}\n}\n";
    home.write(".claude/settings.json", later);
    home.install(Agent::ClaudeCode, USER);
    home.uninstall(Agent::ClaudeCode, Scope::User);
    assert_eq!(home.read(".claude/settings.json"), later);
}

/// A hook that the user has moved into a group of their own.
#[test]
fn hooks_in_the_same_group_stay() {
    let home = Home::new();
    home.install(Agent::Codex, USER);
    let line = serde_json::from_str::<serde_json::Value>(&home.read(".codex/hooks.json")).unwrap();
    let hook = &line["hooks"]["PreToolUse"][0]["hooks"][0];
    let text = format!(
        "{{\"hooks\":{{\"PreToolUse\":[{{\"matcher\":\"x\",\"hooks\":[{{\"command\":\"a\"}}, {hook},{{\"command\":\"b\"}}]}}]}}}}"
    );
    home.write(".codex/hooks.json", &text);
    home.uninstall(Agent::Codex, Scope::User);
    let expected = "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"x\",\"hooks\":[{\"command\":\"a\"},{\"command\":\"b\"}]}]}}";
    assert_eq!(home.read(".codex/hooks.json"), expected);
}

/// Entries that only look like ours.
#[test]
fn others_are_not_removed() {
    for (agent, file, text) in [
        (
            Agent::ClaudeCode,
            ".claude/settings.json",
            "{\"env\":{\"CLAUDE_CODE_SHELL_PREFIX\":\"/opt/tamis-shell\"}}",
        ),
        (
            Agent::Codex,
            ".codex/hooks.json",
            "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"command\":\"tamis hook codex\"}]}]}}",
        ),
        (
            Agent::Codex,
            ".codex/config.toml",
            "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = \"x; tamis hook codex --config user\"\n",
        ),
        (Agent::Opencode, ".config/opencode/plugins/tamis.js", "export const Mine = () => ({})\n"),
        (
            Agent::Gemini,
            ".gemini/extensions/tamis/gemini-extension.json",
            "{\"name\": \"other\"}\n",
        ),
    ] {
        let home = Home::new();
        home.write(file, text);
        home.uninstall(agent, Scope::User);
        assert_eq!(home.read(file), text);
    }
}

/// The hook of an earlier version, which does not see pages.
#[test]
fn a_hook_of_an_earlier_version_is_renewed() {
    let file = ".claude/settings.json";
    let (present, older) = ("\"Grep|Glob|WebFetch\"", "\"Grep|Glob\"");
    let lacks = |home: &Home| {
        let found = doctor::examine(&home.places(), &home.path("missing"), || None);
        found.iter().any(|finding| finding.to_string().contains("and lacks WebFetch"))
    };
    for before in ["{}\n", "{\n  \"model\": \"x\"\n}\n"] {
        let home = Home::new();
        home.write(file, before);
        home.install(Agent::ClaudeCode, USER);
        let installed = home.read(file);
        assert!(!lacks(&home));
        home.write(file, installed.replace(present, older));
        assert!(lacks(&home));
        assert!(!home.install(Agent::ClaudeCode, USER).is_empty());
        assert_eq!(home.read(file), installed);
        home.write(file, installed.replace(present, older));
        home.uninstall(Agent::ClaudeCode, Scope::User);
        assert_eq!(home.read(file), before);
        // A choice of the user stays.
        home.install(Agent::ClaudeCode, USER);
        home.write(file, home.read(file).replace(present, "\"Grep\""));
        assert!(home.install(Agent::ClaudeCode, USER).is_empty());
    }
}

/// The database of opencode is read only if there is a hook for it.
#[test]
fn sessions_of_an_agent_without_a_hook_are_not_read() {
    let home = Home::new();
    let is_read = |home: &Home| {
        let mut is_read = false;
        let opencode = || {
            is_read = true;
            None
        };
        _ = doctor::examine(&home.places(), &home.path("missing"), opencode);
        is_read
    };
    assert!(!is_read(&home));
    home.install(Agent::Opencode, USER);
    assert!(is_read(&home));
}
