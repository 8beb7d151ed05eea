//! Files that are not edited: an error with a snippet, and nothing is half done.

use super::*;

#[track_caller]
fn refused(home: &Home, agent: Agent, options: InstallOptions, words: &str) -> InstallError {
    let before = home.everything();
    let error = match home.plan(agent, options) {
        Err(error) => error,
        Ok(plan) => panic!("{words}: planned\n{}", plan.diff()),
    };
    assert!(error.message().contains(words), "{words}: {error}");
    assert_eq!(home.everything(), before);
    error
}

#[test]
fn broken_settings_are_refused() {
    for (agent, options, file) in JSON_FILES {
        for (text, words) in [
            ("{", "not valid JSON"),
            ("{\"a\": 1", "not valid JSON"),
            ("{\"a\": 1}}", "not valid JSON"),
            ("{'a': 1}", "not valid JSON"),
            ("{\"a\": 01}", "not valid JSON"),
            ("hello", "not valid JSON"),
            ("{\"a\": \"\t\"}", "not valid JSON"),
            ("// comment\n{}", "comments or trailing commas"),
            ("{\n  \"a\": 1, // comment\n  \"b\": 2\n}", "comments or trailing commas"),
            ("{\"a\": /* x */ 1}", "comments or trailing commas"),
            ("{\"a\": 1,}", "comments or trailing commas"),
            ("[]", "not an object"),
            ("null", "not an object"),
            ("\"text\"", "not an object"),
            ("{\"env\": {}, \"env\": {}, \"hooks\": {}, \"hooks\": {}}", "has two members `env`"),
            ("{\"env\": 1, \"hooks\": 1}", "is not an object"),
            ("{\"env\": [], \"hooks\": []}", "is not an object"),
            ("{\"env\": null, \"hooks\": null}", "is not an object"),
        ] {
            let home = Home::new();
            home.write(file, text);
            let error = refused(&home, agent, options, words);
            assert!(
                error.snippet().is_some_and(|snippet| snippet.contains("tamis")),
                "{file}: {text}"
            );
        }
        let home = Home::new();
        home.write(file, b"{\"a\": \"\xff\"}");
        refused(&home, agent, options, "is not UTF-8");
        let home = Home::new();
        std::fs::create_dir_all(home.path(file)).unwrap();
        refused(&home, agent, options, "is not a file");
    }
}

#[test]
fn lists_of_another_type_are_refused() {
    for (agent, file, text) in [
        (Agent::Codex, ".codex/hooks.json", "{\"hooks\": {\"PreToolUse\": {}}}"),
        (Agent::Cursor, ".cursor/hooks.json", "{\"hooks\": {\"postToolUse\": \"x\"}}"),
    ] {
        let home = Home::new();
        home.write(file, text);
        refused(&home, agent, USER, "is not an array");
    }
    for (text, words) in [
        ("[hooks", "not valid TOML"),
        ("a = 1\na = 2\n", "not valid TOML: line 2"),
        ("[hooks]\nPreToolUse = []\nStop = []\n", "nothing can be appended"),
        ("hooks = { Stop = [] }\n", "nothing can be appended"),
        ("[hooks]\nPreToolUse = 1\n", "nothing can be appended"),
    ] {
        let home = Home::new();
        home.write(".codex/config.toml", text);
        let error = refused(&home, Agent::Codex, USER, words);
        assert!(error.snippet().unwrap().contains("[[hooks.PreToolUse]]"));
    }
}

#[test]
fn the_prefix_of_another_program_is_kept() {
    for value in ["\"/usr/bin/other\"", "\"tamis-shell\"", "\"\"", "1", "null"] {
        let home = Home::new();
        let text = format!("{{\"env\": {{\"CLAUDE_CODE_SHELL_PREFIX\": {value}}}}}");
        home.write(".claude/settings.json", &text);
        refused(&home, Agent::ClaudeCode, USER, "already set to");
        home.uninstall(Agent::ClaudeCode, Scope::User);
        assert_eq!(home.read(".claude/settings.json"), text);
    }
}

#[test]
fn foreign_files_are_not_replaced() {
    for (agent, file) in [
        (Agent::ClaudeCode, ".claude/tamis-shell"),
        (Agent::Opencode, ".config/opencode/plugins/tamis.js"),
        (Agent::Gemini, ".gemini/extensions/tamis/gemini-extension.json"),
        (Agent::Gemini, ".gemini/extensions/tamis/hooks/hooks.json"),
    ] {
        let home = Home::new();
        home.write(file, "{}\n");
        refused(&home, agent, USER, "was not written by tamis");
    }
}

#[cfg(unix)]
#[test]
fn read_only_files_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    for (agent, options, file) in JSON_FILES {
        let home = Home::new();
        home.write(file, "{}");
        std::fs::set_permissions(home.path(file), PermissionsExt::from_mode(0o444)).unwrap();
        refused(&home, agent, options, "is read-only");
    }
    let home = Home::new();
    home.install(Agent::ClaudeCode, USER);
    let settings = home.path(".claude/settings.json");
    std::fs::set_permissions(settings, PermissionsExt::from_mode(0o444)).unwrap();
    let before = home.everything();
    let error = uninstall(Agent::ClaudeCode, Scope::User, &home.places()).unwrap_err();
    assert!(error.message().contains("is read-only"), "{error}");
    assert_eq!(home.everything(), before);
}

/// A removal from a file that is broken now changes nothing, and says what to remove.
#[test]
fn broken_settings_stop_the_removal() {
    for (agent, options, file) in JSON_FILES {
        let home = Home::new();
        home.install(agent, options);
        home.write(file, home.read(file).replacen('{', "{ // comment\n", 1));
        let before = home.everything();
        let error = uninstall(agent, options.scope, &home.places()).unwrap_err();
        assert!(error.message().contains("comments or trailing commas"), "{error}");
        assert!(error.snippet().is_some_and(|snippet| snippet.contains("remove")));
        assert_eq!(home.everything(), before);
    }
    // One without ours is of no concern.
    let home = Home::new();
    home.write(".codex/hooks.json", "{ broken");
    home.uninstall(Agent::Codex, Scope::User);
    assert_eq!(home.read(".codex/hooks.json"), "{ broken");
}

fn git(home: &Home, args: &[&str]) -> bool {
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(home.path("project")).args(args);
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn tracked_files_are_refused() {
    let home = Home::new();
    let file = "project/.claude/settings.local.json";
    home.write(file, "{}");
    if !git(&home, &["init", "-q"]) {
        return;
    }
    round_trip(&home, Agent::ClaudeCode, PROJECT, "not tracked");
    assert!(git(&home, &["add", "-f", ".claude/settings.local.json"]));
    let error = refused(&home, Agent::ClaudeCode, PROJECT, "is tracked by git");
    assert!(error.snippet().unwrap().contains("CLAUDE_CODE_SHELL_PREFIX"));
}

#[test]
fn folders_that_are_files_are_refused() {
    for file in [".claude", ".local/state"] {
        let home = Home::new();
        home.write(file, "text");
        refused(&home, Agent::ClaudeCode, USER, "cannot be read");
    }
}

/// Another extension of the same name.
#[test]
fn an_extension_of_others_is_kept() {
    let home = Home::new();
    let file = ".gemini/extensions/tamis/gemini-extension.json";
    home.write(file, "{\n  \"name\": \"tamis\",\n  \"version\": \"1.0.0\"\n}\n");
    refused(&home, Agent::Gemini, USER, "was not written by tamis");
    let before = home.everything();
    home.uninstall(Agent::Gemini, Scope::User);
    assert_eq!(home.everything(), before);
}
