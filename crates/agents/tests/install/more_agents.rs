//! Agents of which only the MCP servers are wrapped: the shapes of the other agents' files, in theirs.

use super::*;

/// The file of each agent, the member with its servers, and whether the agent reads comments.
fn files() -> Vec<(Agent, &'static str, &'static str, bool)> {
    let applications = |linux, macos| if cfg!(target_os = "macos") { macos } else { linux };
    vec![
        (
            Agent::VsCode,
            applications(
                ".config/Code/User/mcp.json",
                "Library/Application Support/Code/User/mcp.json",
            ),
            "servers",
            true,
        ),
        (Agent::Windsurf, ".codeium/windsurf/mcp_config.json", "mcpServers", false),
        (Agent::Cline, ".cline/data/settings/cline_mcp_settings.json", "mcpServers", false),
        (Agent::Zed, ".config/zed/settings.json", "context_servers", true),
        (Agent::Amp, ".config/amp/settings.json", "amp.mcpServers", true),
        (Agent::Crush, ".config/crush/crush.json", "mcp", false),
        (Agent::Qwen, ".qwen/settings.json", "mcpServers", true),
        (
            Agent::ClaudeDesktop,
            applications(
                ".config/Claude/claude_desktop_config.json",
                "Library/Application Support/Claude/claude_desktop_config.json",
            ),
            "mcpServers",
            false,
        ),
    ]
}

#[test]
fn servers_are_as_before() {
    for (agent, file, key, _) in files() {
        let mut wrapped = 0;
        for (name, text) in servers::JSON {
            let home = Home::new();
            home.write(file, text.replace("mcpServers", key));
            round_trip(&home, agent, MCP, &format!("{file}: {name}"));
            home.install(agent, MCP);
            wrapped += usize::from(home.read(file).contains("/bin/tamis-gateway\""));
        }
        // All but shapes in which there is no server to wrap.
        assert_eq!(wrapped, servers::JSON.len(), "{file}");
    }
}

#[test]
fn settings_without_servers_are_as_before() {
    for (agent, file, ..) in files() {
        for (name, text) in shapes::JSON {
            let home = Home::new();
            home.write(file, text);
            assert!(home.install(agent, MCP).is_empty(), "{file}: {name}");
            assert_eq!(home.read(file), text, "{file}: {name}");
        }
    }
}

/// Comments stay where the agent reads them. Otherwise, the file is refused.
#[test]
fn comments_are_kept_or_refused() {
    for (agent, file, key, reads_comments) in files() {
        for text in [
            "{\n  // x\n  \"KEY\": {\n    \"a\": {\"command\": \"s\" /* y */, \"args\": [\"x\", /* z */ \"y\"]}\n  }\n}\n",
            "{\"KEY\": {\"a\": {\"command\": \"s\",},},}",
            "// é\n{\"KEY\": {\"a\": {\"command\": \"s\"}} // x\n}\n",
            "{\r\n\t/* x */\r\n\t\"KEY\": {\"a\": {\"command\": \"s\"}}\r\n}\r\n",
        ] {
            let home = Home::new();
            let text = text.replace("KEY", key);
            home.write(file, &text);
            if reads_comments {
                home.install(agent, MCP);
                assert!(home.read(file).contains("tamis-gateway"), "{}", home.read(file));
                home.uninstall(agent, Scope::User);
            } else {
                home.plan(agent, MCP).unwrap_err();
            }
            assert_eq!(home.read(file), text, "{file}");
        }
    }
}
