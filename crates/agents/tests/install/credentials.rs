//! The request of `install --mcp --redact`: which entries get the flag, and what remains of them.

use super::*;

/// An installation without the flag changes nothing about credentials: no boundary disappears unnoticed.
#[test]
fn credentials_are_replaced_only_on_request_and_until_further_notice() {
    let local = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let remote = r#"{"mcpServers": {"a": {"url": "https://x/mcp", "headers": {"A": "b"}}}}"#;
    let toml = "[mcp_servers.a]\ncommand = \"x\"\n";
    for (agent, file, text) in [
        (Agent::ClaudeCode, ".claude.json", local),
        (Agent::ClaudeCode, ".claude.json", remote),
        (Agent::Codex, ".codex/config.toml", toml),
    ] {
        let home = Home::new();
        home.write(file, text);
        for (redact, redacts, words) in [
            (None, false, "with --redact secrets they do not"),
            (Some(true), true, "is withheld; TAMIS=off"),
            (None, true, "with --redact secrets they do not"),
            (Some(false), false, "these rules still apply"),
        ] {
            let plan = home.install(agent, InstallOptions { redact, closed: true, ..MCP });
            let written = home.read(file);
            let has_flag = written.contains("--redact secrets") || written.contains("\"--redact\"");
            assert_eq!(has_flag, redacts, "{redact:?}: {written}");
            assert!(plan.notes().iter().any(|note| note.contains(words)), "{:?}", plan.notes());
        }
        home.install(agent, InstallOptions { redact: Some(true), closed: true, ..MCP });
        home.uninstall(agent, Scope::User);
        assert_eq!(home.read(file), text);
    }
}

/// Installing again without flags keeps both, so that no boundary gets a way around it.
#[test]
fn closed_servers_stay_closed_until_they_are_removed() {
    let local = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let older = r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "exec tamis-gateway mcp --config user -- \"$@\"", "tamis", "x"]}}}"#;
    let remote = r#"{"mcpServers": {"a": {"url": "https://x/mcp", "headers": {"A": "b"}}}}"#;
    let words = r#"{"mcp": {"a": {"type": "local", "command": ["x"]}}}"#;
    let toml = "[mcp_servers.a]\ncommand = \"x\"\n";
    for (agent, file, text) in [
        (Agent::ClaudeCode, ".claude.json", local),
        (Agent::ClaudeCode, ".claude.json", older),
        (Agent::ClaudeCode, ".claude.json", remote),
        (Agent::Opencode, ".config/opencode/opencode.json", words),
        (Agent::Codex, ".codex/config.toml", toml),
    ] {
        let home = Home::new();
        home.write(file, text);
        let says_so = |plan: &Plan| plan.notes().iter().any(|note| note.contains("stay closed"));
        let plan = if text == older {
            home.install(agent, InstallOptions { redact: Some(true), ..MCP })
        } else {
            home.install(agent, InstallOptions { redact: Some(true), closed: true, ..MCP })
        };
        assert_eq!(says_so(&plan), text == older, "{:?}", plan.notes());
        let closed = home.read(file);
        assert!(closed.contains("--closed"), "{closed}");
        assert!(closed.contains("secrets"), "{closed}");
        assert!(!closed.contains("; exec"), "{closed}");
        let plan = home.install(agent, MCP);
        assert_eq!(home.read(file), closed);
        assert!(says_so(&plan), "{:?}", plan.notes());

        home.uninstall(agent, Scope::User);
        home.install(agent, MCP);
        assert!(!home.read(file).contains("--closed"), "{}", home.read(file));
    }
}

/// Entries that start the proxy with the user's own words get no promise.
#[test]
fn own_words_stay_and_are_named() {
    let own = r#"{"mcpServers": {"mine": {"command": "tamis", "args": ["mcp", "--", "x"]}}}"#;
    let toml = "[mcp_servers.mine]\ncommand = \"tamis\"\nargs = [\"mcp\", \"--\", \"x\"]\n";
    let both = r#"{"mcpServers": {"mine": {"command": "tamis", "args": ["mcp", "--", "x"]}, "a": {"command": "x"}}}"#;
    for (agent, file, text, has_servers) in [
        (Agent::ClaudeCode, ".claude.json", own, false),
        (Agent::Codex, ".codex/config.toml", toml, false),
        (Agent::ClaudeCode, ".claude.json", both, true),
    ] {
        let home = Home::new();
        home.write(file, text);
        let plan = home.install(agent, InstallOptions { redact: Some(true), ..MCP });
        let has = |words: &str| plan.notes().iter().any(|note| note.contains(words));
        assert!(has("MCP server mine starts tamis with words of its own"), "{:?}", plan.notes());
        assert_eq!(has("credentials in all results"), has_servers, "{:?}", plan.notes());
        assert_eq!(plan.has_servers(), has_servers);
        assert_eq!(home.read(file) == text, !has_servers);
    }
}

/// Only the words about credentials change in an entry over HTTP: what the user changed since stays.
#[test]
fn only_the_words_about_credentials_change_over_http() {
    let words = |redact: &str| {
        let first =
            r#""command": "/old/tamis-gateway", "args": ["mcp", "--config", "user", "--closed""#;
        let original = r#"{\"url\":\"https://x/mcp?a=--redact\",\"headers\":{\"A\":\"b\"},\"disabled\":false}"#;
        format!(
            r#"{{"mcpServers": {{"a": {{"disabled": true, {first}{redact}, "--profile", "tight", "--stdio", "--upstream", "https://x/mcp?a=--redact", "--header", "A=@env:H"], "env": {{"TAMIS_ORIGINAL": "{original}", "H": "new"}}, "alwaysAllow": ["t"]}}}}}}"#,
        )
    };
    for (before, redacts, after) in [
        ("", true, r#", "--redact", "secrets""#),
        (r#", "--redact", "secrets""#, true, r#", "--redact", "secrets""#),
        (r#", "--redact", "personal""#, true, r#", "--redact", "secrets,personal""#),
        (r#", "--redact=personal""#, true, r#", "--redact=secrets,personal""#),
        (r#", "--redact", "personal,secrets""#, true, r#", "--redact", "personal,secrets""#),
        (r#", "--redact", "secrets""#, false, ""),
        (r#", "--redact", "secrets", "--redact=secrets""#, false, ""),
        (r#", "--redact", "personal,secrets""#, false, r#", "--redact", "personal""#),
        (r#", "--redact=secrets,personal""#, false, r#", "--redact=personal""#),
        (r#", "--redact", "personal""#, false, r#", "--redact", "personal""#),
        ("", false, ""),
    ] {
        let home = Home::new();
        home.write(".claude.json", words(before));
        let options = InstallOptions { redact: Some(redacts), ..MCP };
        home.install(Agent::ClaudeCode, options);
        assert_eq!(home.read(".claude.json"), words(after), "{before} {redacts}");
        let again = home.install(Agent::ClaudeCode, options);
        assert!(again.is_empty(), "{}", again.diff());
    }
    // The flag at the end, and an entry whose words cannot be read.
    let home = Home::new();
    let entry = |args: &str| {
        format!(
            r#"{{"mcpServers": {{"a": {{"command": "tamis", "args": {args}, "env": {{"TAMIS_ORIGINAL": "{{}}"}}}}}}}}"#
        )
    };
    home.write(".claude.json", entry(r#"["mcp", "--redact", "secrets"]"#));
    home.install(Agent::ClaudeCode, InstallOptions { redact: Some(false), ..MCP });
    assert_eq!(home.read(".claude.json"), entry(r#"["mcp"]"#));
    home.install(Agent::ClaudeCode, InstallOptions { redact: Some(true), ..MCP });
    assert_eq!(home.read(".claude.json"), entry(r#"["mcp", "--redact", "secrets"]"#));
    home.write(".claude.json", entry("1"));
    let plan = home.install(Agent::ClaudeCode, InstallOptions { redact: Some(true), ..MCP });
    assert_eq!(home.read(".claude.json"), entry("1"));
    assert!(!plan.has_servers());
}
