//! MCP servers with the proxy in front of them, and without it again.

use std::process::Command;

use super::*;

/// Files with servers, where the agent has them.
const FILES: [(Agent, &str); 4] = [
    (Agent::ClaudeCode, ".claude.json"),
    (Agent::Gemini, ".gemini/settings.json"),
    (Agent::Cursor, ".cursor/mcp.json"),
    (Agent::Copilot, ".copilot/mcp-config.json"),
];

/// Shapes of the servers of `mcpServers`.
pub(crate) const JSON: [(&str, &str); 32] = [
    (
        "usual",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"server\"\n      ],\n      \"env\": {\n        \"K\": \"V\"\n      }\n    }\n  }\n}\n",
    ),
    (
        "type",
        r#"{"mcpServers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "server"], "env": {}}}}"#,
    ),
    (
        "minified",
        r#"{"mcpServers":{"a":{"command":"npx","args":["x"]},"b":{"command":"y","args":[]}},"z":1}"#,
    ),
    (
        "no arguments",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"server\"\n    }\n  }\n}\n",
    ),
    ("no arguments, minified", r#"{"mcpServers":{"a":{"command":"server"}}}"#),
    (
        "no arguments, env after",
        r#"{"mcpServers": {"a": { "command" : "server" , "env": {"A": "1"} }}}"#,
    ),
    (
        "no arguments, env before",
        "{\"mcpServers\": {\"a\": {\"env\": {\"A\": \"1\"},\n\t\"command\": \"server\"}}}",
    ),
    ("empty arguments", r#"{"mcpServers": {"a": {"command": "server", "args": []}}}"#),
    ("blank arguments", "{\"mcpServers\": {\"a\": {\"command\": \"server\", \"args\": [ \n ]}}}"),
    ("arguments first", r#"{"mcpServers": {"a": {"args": ["x", "y"], "command": "server"}}}"#),
    ("arguments first, empty", r#"{"mcpServers": {"a": {"args": [], "command": "server"}}}"#),
    ("one argument", r#"{"mcpServers": {"a": {"command": "server", "args": ["x"]}}}"#),
    (
        "arguments on lines",
        "{\"mcpServers\": {\"a\": {\"command\": \"s\", \"args\": [\n  \"x\"  ,\n\n  \"y\"\n]}}}",
    ),
    (
        "commas first",
        "{\"mcpServers\": {\"a\": {\"command\": \"s\"\n, \"args\": [ \"x\"\n, \"y\"\n]}}}",
    ),
    (
        "escapes",
        r#"{"mcpServers": {"a\"b/~": {"command": "\/usr\/bin\/s\u0065rver", "args": ["a\"b", "\u00e9", "$HOME", "'"]}}}"#,
    ),
    (
        "blanks in words",
        r#"{"mcpServers": {"a": {"command": "/opt/my server", "args": ["a b", "", " "]}}}"#,
    ),
    (
        "CRLF",
        "{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"s\"\r\n    }\r\n  }\r\n}\r\n",
    ),
    (
        "tabs",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"s\",\n\t\t\t\"args\": [\"x\"]\n\t\t}\n\t}\n}",
    ),
    ("mark", "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"s\"}}}"),
    (
        "several",
        r#"{"mcpServers": {"a": {"command": "s"}, "b": {"command": "s", "args": ["x"]}, "c": {"command": "s", "args": []}}}"#,
    ),
    (
        "one over HTTP",
        r#"{"mcpServers": {"a": {"url": "https://x/mcp"}, "b": {"command": "s", "args": ["x"]}}}"#,
    ),
    (
        "one is odd",
        r#"{"mcpServers": {"a": 1, "b": {"command": 1}, "c": {"command": "s", "args": "x"}, "d": {"command": "s", "args": [1]}, "e": {}, "f": {"command": "s"}}}"#,
    ),
    (
        "one is wrapped by hand",
        r#"{"mcpServers": {"a": {"command": "tamis", "args": ["mcp", "--", "x"]}, "b": {"command": "s"}}}"#,
    ),
    (
        "a shell",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "exec server", "tamis", "x"]}}}"#,
    ),
    ("sh without arguments", r#"{"mcpServers": {"a": {"command": "sh"}}}"#),
    (
        "unknown members",
        r#"{"mcpServers": {"a": {"command": "s", "timeout": 1.50, "trust": true, "x": [1]}}}"#,
    ),
    ("disabled", r#"{"mcpServers": {"a": {"command": "s", "args": ["x"], "disabled": true}}}"#),
    (
        "big state",
        r#"{"numStartups": 12345678901234567890, "mcpServers": {"a": {"command": "s"}}, "projects": {}}"#,
    ),
    (
        "names with dots",
        r#"{"mcpServers": {"a.b[0]": {"command": "s"}, "": {"command": "t"}, "mcpServers": {"command": "u"}}}"#,
    ),
    (
        "args of another name",
        r#"{"mcpServers": {"a": {"command": "s", "ARGS": [], "arg": ["x"]}}}"#,
    ),
    ("other scripts", r#"{"mcpServers": {"сервер": {"command": "сервер", "args": ["😀"]}}}"#),
    (
        "a shell with tamis as its name",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "x", "tamis"]}}}"#,
    ),
];

#[test]
fn servers_are_as_before() {
    for (agent, file) in FILES {
        for (name, text) in JSON {
            let home = Home::new();
            home.write(file, text);
            round_trip(&home, agent, MCP, &format!("{file}: {name}"));
            if agent != Agent::ClaudeCode {
                continue;
            }
            home.install(agent, MCP);
            let wrapped = home.read(file);
            assert!(
                wrapped.contains(r#"exec \"$0\" mcp --config user --"#)
                    && wrapped.contains("/bin/tamis-gateway\""),
                "{name}: {wrapped}"
            );
            // The first installation may be one without servers.
            home.uninstall(agent, Scope::User);
            home.install(agent, USER);
            round_trip_of_servers(&home, agent, file, text);
        }
    }
}

#[track_caller]
fn round_trip_of_servers(home: &Home, agent: Agent, file: &str, text: &str) {
    home.install(agent, MCP);
    home.install(agent, InstallOptions { closed: true, ..MCP });
    home.install(agent, InstallOptions { redact: Some(true), ..MCP });
    home.uninstall(agent, Scope::User);
    assert_eq!(home.read(file), text);
}

/// `mcp` of opencode: one list of words.
const WORDS: [(&str, &str); 12] = [
    (
        "usual",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"a\": {\n      \"type\": \"local\",\n      \"command\": [\"npx\", \"-y\", \"server\"],\n      \"environment\": {\"K\": \"V\"},\n      \"enabled\": true\n    }\n  }\n}\n",
    ),
    ("one word", r#"{"mcp": {"a": {"type": "local", "command": ["server"]}}}"#),
    (
        "minified",
        r#"{"mcp":{"a":{"command":["x","y"],"type":"local"},"b":{"type":"local","command":["z"]}}}"#,
    ),
    ("on lines", "{\"mcp\": {\"a\": {\"command\": [\n  \"x\",\n  \"y\"\n]}}}"),
    ("escapes", r#"{"mcp": {"a": {"command": ["\u0078", "a\"b", "{env:X}"]}}}"#),
    (
        "remote beside",
        r#"{"mcp": {"r": {"type": "remote", "url": "https://x"}, "a": {"command": ["x"]}}}"#,
    ),
    (
        "odd ones",
        r#"{"mcp": {"b": {"command": []}, "c": {"command": "x"}, "d": {"command": [1]}, "a": {"command": ["x"]}}}"#,
    ),
    ("CRLF", "{\r\n\t\"mcp\": {\r\n\t\t\"a\": {\"command\": [\"x\"]}\r\n\t}\r\n}\r\n"),
    ("mark", "\u{feff}{\"mcp\":{\"a\":{\"command\":[\"x\"]}}}"),
    ("several", r#"{"mcp": {"a": {"command": ["x"]}, "b": {"command": ["y", ""]}}, "model": "m"}"#),
    (
        "by hand",
        r#"{"mcp": {"a": {"command": ["tamis", "mcp", "--", "x"]}, "b": {"command": ["y"]}}}"#,
    ),
    ("disabled", r#"{"mcp": {"a": {"command": ["x"], "enabled": false}}}"#),
];

#[test]
fn servers_of_opencode_are_as_before() {
    for name in ["opencode.json", "opencode.jsonc"] {
        let file = &format!(".config/opencode/{name}");
        for (name, text) in WORDS {
            let home = Home::new();
            home.write(file, text);
            round_trip(&home, Agent::Opencode, MCP, name);
            home.install(Agent::Opencode, MCP);
            assert!(home.read(file).contains(r#""sh", "-c", "[ -f \"$0\" ] && "#), "{name}");
            round_trip_of_servers(&home, Agent::Opencode, file, text);
        }
    }
}

const TOML: [(&str, &str); 32] = [
    (
        "usual",
        "[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"server\"]\n\n[mcp_servers.a.env]\nK = \"V\"\n",
    ),
    ("no arguments", "[mcp_servers.a]\ncommand = \"server\"\n"),
    ("no arguments, last", "[mcp_servers.a]\ncommand = \"server\""),
    ("no arguments, comment", "[mcp_servers.a]\ncommand = \"server\" # comment\nenabled = true\n"),
    ("no arguments, indented", "[mcp_servers.a]\n\t  command = \"server\"\n"),
    ("no arguments, quoted", "[mcp_servers.a]\n\"command\" = \"server\"\n'env' = { A = \"1\" }\n"),
    ("no arguments, odd blanks", "[mcp_servers.a]\ncommand=\"server\"\n"),
    ("no arguments, CRLF", "[mcp_servers.a]\r\ncommand = \"server\"\r\n"),
    ("empty arguments", "[mcp_servers.a]\ncommand = \"server\"\nargs = []\n"),
    ("blank arguments", "[mcp_servers.a]\ncommand = \"server\"\nargs = [ # none\n]\n"),
    ("arguments first", "[mcp_servers.a]\nargs = [\"x\"]\ncommand = \"server\"\n"),
    (
        "arguments on lines",
        "[mcp_servers.a]\ncommand = \"server\"\nargs = [\n  \"x\", # one\n  # two\n  \"y\",\n]\n",
    ),
    ("literal strings", "[mcp_servers.a]\ncommand = 'C:\\server'\nargs = ['a\\b', '\"']\n"),
    (
        "long strings",
        "[mcp_servers.a]\ncommand = \"\"\"server\"\"\"\nargs = [\"\"\"\na\nb\"\"\", '''c''']\n",
    ),
    ("escapes", "[mcp_servers.a]\ncommand = \"s\\u0065rver\"\nargs = [\"\\\"\", \"\\t\"]\n"),
    ("inline", "[mcp_servers]\na = { command = \"server\", args = [\"x\"] }\n"),
    ("inline, no arguments", "[mcp_servers]\na = { command = \"server\" }\n"),
    ("inline, no arguments, env before", "[mcp_servers]\na = {env={A=\"1\"},command=\"server\"}\n"),
    (
        "inline, no arguments, env after",
        "mcp_servers = { a = { command = \"server\", env = { A = \"1\" } } }\n",
    ),
    ("dotted", "[mcp_servers]\na.command = \"server\"\na.args = [\"x\"]\n"),
    ("dotted, no arguments", "[mcp_servers]\na.command = \"server\"\nb.command = \"other\"\n"),
    ("dotted from the top", "mcp_servers.a.command = \"server\"\nmodel = \"x\"\n"),
    (
        "names",
        "[mcp_servers.\"a.b/~\"]\ncommand = \"server\"\n[mcp_servers.'ключ']\ncommand = \"server\"\nargs = [\"😀\"]\n",
    ),
    (
        "several",
        "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.b]\ncommand = \"y\"\nargs = []\n[mcp_servers.c]\ncommand = \"z\"\nargs = [\"1\"]\n",
    ),
    ("over HTTP", "[mcp_servers.r]\nurl = \"https://x\"\n[mcp_servers.a]\ncommand = \"x\"\n"),
    (
        "odd ones",
        "[mcp_servers.b]\ncommand = 1\n[mcp_servers.c]\ncommand = \"x\"\nargs = \"y\"\n[mcp_servers.d]\n[mcp_servers.a]\ncommand = \"x\"\n",
    ),
    (
        "by hand",
        "[mcp_servers.b]\ncommand = \"tamis\"\nargs = [\"mcp\", \"--\", \"x\"]\n[mcp_servers.a]\ncommand = \"x\"\n",
    ),
    ("comments", "# a\n[mcp_servers.a] # b\n# c\ncommand = \"x\" # d\nargs = [\"y\"] # e\n"),
    ("blank lines", "\n\n[mcp_servers.a]\n\ncommand = \"x\"\n\n\n"),
    ("hooks beside", "[mcp_servers.a]\ncommand = \"x\"\n[[hooks.Stop]]\nhooks = []"),
    (
        "state",
        "[projects.\"/x\"]\ntrust_level = \"trusted\"\n[mcp_servers.a]\ncommand = \"x\"\nstartup_timeout_sec = 1.5\n",
    ),
    ("spaced header", "[ mcp_servers . a ]\ncommand   =   \"x\"   \n"),
];

#[test]
fn servers_in_toml_are_as_before() {
    let file = ".codex/config.toml";
    for (name, text) in TOML {
        let home = Home::new();
        home.write(file, text);
        round_trip(&home, Agent::Codex, MCP, name);
        home.install(Agent::Codex, MCP);
        assert!(home.read(file).contains("/bin/tamis-gateway"), "{name}: {}", home.read(file));
        round_trip_of_servers(&home, Agent::Codex, file, text);
    }
}

#[test]
fn servers_of_projects_of_claude() {
    let home = Home::new();
    let text = r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p/one": {"mcpServers": {"b": {"command": "y", "args": []}}}, "/p/two": {}}}"#;
    home.write(".claude.json", text);
    round_trip(&home, Agent::ClaudeCode, MCP, "projects");
    home.install(Agent::ClaudeCode, MCP);
    assert_eq!(home.read(".claude.json").matches("/bin/tamis-gateway").count(), 2);
    // A server that is added later is wrapped by the next installation; all are unwrapped.
    let home = Home::new();
    home.write(".claude.json", "{\"mcpServers\": {}}");
    home.install(Agent::ClaudeCode, MCP);
    home.write(".claude.json", text);
    home.install(Agent::ClaudeCode, MCP);
    home.uninstall(Agent::ClaudeCode, Scope::User);
    assert_eq!(home.read(".claude.json"), text);
}

#[test]
fn servers_of_a_project() {
    for (agent, file) in [
        (Agent::ClaudeCode, "project/.mcp.json"),
        (Agent::Gemini, "project/.gemini/settings.json"),
        (Agent::Cursor, "project/.cursor/mcp.json"),
        (Agent::Opencode, "project/opencode.json"),
        (Agent::Codex, "project/.codex/config.toml"),
    ] {
        let home = Home::new();
        let text = match agent {
            Agent::Codex => "[mcp_servers.a]\ncommand = \"x\"\n",
            Agent::Opencode => "{\"mcp\": {\"a\": {\"command\": [\"x\"]}}}",
            _ => "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
        };
        home.write(file, text);
        let options = InstallOptions { mcp: true, ..PROJECT };
        round_trip(&home, agent, options, file);
        home.install(agent, options);
        assert!(home.read(file).contains("--config both"));
        home.uninstall(agent, Scope::Project);
        // A file that others get, too.
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command
                .arg("-C")
                .arg(home.path("project"))
                .args(args)
                .output()
                .is_ok_and(|ran| ran.status.success())
        };
        if !git(&["init", "-q"]) || !git(&["add", "-f", "."]) {
            return;
        }
        let plan = home.install(agent, options);
        assert!(!home.read(file).contains("tamis-gateway"));
        assert!(
            plan.notes().iter().any(|note| note.contains("tracked by git")),
            "{:?}",
            plan.notes()
        );
    }
}

/// Agents that read comments and trailing commas keep them.
#[test]
fn servers_next_to_comments_are_wrapped() {
    for (agent, file, text) in [
        (
            Agent::Opencode,
            ".config/opencode/opencode.jsonc",
            "{// x\n\"mcp\": {\"a\": {\"command\": [\"x\", /* y */ \"z\",]},},}",
        ),
        (
            Agent::Gemini,
            ".gemini/settings.json",
            "{\n  // x\n  \"mcpServers\": {\"a\": {\"command\": \"x\" /* y */}, // z\n  },\n}\n",
        ),
        (
            Agent::Zed,
            ".config/zed/settings.json",
            "{\"context_servers\": {\"a\": {/*é*/ \"command\": \"x\", \"args\": [\"y\", // z\n]}}}",
        ),
        (
            Agent::VsCode,
            if cfg!(target_os = "macos") {
                "Library/Application Support/Code/User/mcp.json"
            } else {
                ".config/Code/User/mcp.json"
            },
            "{\"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"x\"}}, /* y */}",
        ),
    ] {
        let home = Home::new();
        home.write(file, text);
        home.install(agent, MCP);
        let wrapped = home.read(file);
        assert!(wrapped.contains("tamis-gateway"), "{wrapped}");
        for comment in ["// x", "/* y */", "// z", "/*é*/"] {
            assert_eq!(wrapped.contains(comment), text.contains(comment), "{wrapped}");
        }
        home.install(agent, MCP);
        assert_eq!(home.read(file), wrapped);
        home.uninstall(agent, Scope::User);
        assert_eq!(home.read(file), text);
    }
}

#[test]
fn servers_in_files_that_cannot_be_read_are_refused() {
    for (agent, file, text, words) in [
        (Agent::Windsurf, ".codeium/windsurf/mcp_config.json", "{\"mcpServers\": {},}", "comments"),
        (Agent::ClaudeCode, ".claude.json", "{", "not valid JSON"),
        (Agent::Codex, ".codex/config.toml", "[mcp_servers", "not valid TOML"),
        (
            Agent::Cursor,
            ".cursor/mcp.json",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "two members",
        ),
    ] {
        let home = Home::new();
        home.write(file, text);
        let before = home.everything();
        let error = home.plan(agent, MCP).unwrap_err();
        assert!(error.message().contains(words) && error.snippet().is_some(), "{error}");
        assert_eq!(home.everything(), before);
    }
}

#[test]
fn the_reason_is_given_for_each_server_that_is_kept() {
    let home = Home::new();
    let text = r#"{"mcpServers": {
  "open": {"type": "http", "url": "https://x/mcp"},
  "variable": {"type": "http", "url": "https://x/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
  "helper": {"type": "http", "url": "https://x/mcp", "headersHelper": "x", "headers": {"A": "b"}},
  "sse": {"type": "sse", "url": "https://x/sse", "headers": {"A": "b"}},
  "static": {"type": "http", "url": "https://x/mcp", "headers": {"Authorization": "Bearer abc"}},
  "none": {"type": "stdio"}
}}"#;
    home.write(".claude.json", text);
    let plan = home.install(Agent::ClaudeCode, MCP);
    assert_eq!(home.read(".claude.json"), text);
    for (name, words) in [
        ("open", "may need a login"),
        ("variable", "not all of its headers are static"),
        ("helper", "has `headersHelper`"),
        ("sse", "SSE"),
        ("static", "add --closed"),
        ("none", "it has no command"),
    ] {
        let note = plan.notes().iter().find(|note| note.contains(&format!("MCP server {name} ")));
        assert!(note.is_some_and(|note| note.contains(words)), "{name}: {note:?}");
    }
    home.uninstall(Agent::ClaudeCode, Scope::User);
    let closed = InstallOptions { closed: true, ..MCP };
    round_trip(&home, Agent::ClaudeCode, closed, "closed");
    home.install(Agent::ClaudeCode, closed);
    let new: serde_json::Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
    let server = &new["mcpServers"]["static"];
    assert_eq!(server["type"], "stdio");
    assert_eq!(server["command"], home.path("bin/tamis-gateway").to_str().unwrap());
    assert_eq!(
        server["args"],
        serde_json::json!([
            "mcp",
            "--config",
            "user",
            "--closed",
            "--stdio",
            "--upstream",
            "https://x/mcp",
            "--header",
            "Authorization=@env:TAMIS_HEADER_1"
        ])
    );
    assert_eq!(server["env"]["TAMIS_HEADER_1"], "Bearer abc");
}

#[test]
fn rules_about_commands_are_respected() {
    let home = Home::new();
    let servers = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    home.write(".claude.json", servers);
    home.write(".claude/settings.json", "{\"deniedMcpServers\": [{\"serverCommand\": [\"x\"]}]}");
    let plan = home.install(Agent::ClaudeCode, MCP);
    assert_eq!(home.read(".claude.json"), servers);
    assert!(
        plan.notes().iter().any(|note| note.contains("by their commands")),
        "{:?}",
        plan.notes()
    );
}

/// The wrapped command runs the words of the server, with the proxy and without it.
#[cfg(unix)]
#[test]
fn the_wrapped_command_runs() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let words = ["a b", "$HOME", "'\"", "", "--", "-c", "*"];
    let server = serde_json::json!({"mcpServers": {"a": {"command": "server", "args": words}}});
    home.write(".claude.json", server.to_string());
    let script = "#!/bin/sh\necho ${0##*/}\nfor word; do echo \"<$word>\"; done\n";
    home.write("bin/server", script);
    // Another one that a name would find.
    home.write("planted/tamis-gateway", "#!/bin/sh\necho planted\n");
    for file in ["bin/server", "planted/tamis-gateway"] {
        std::fs::set_permissions(home.path(file), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let shown: String = words.iter().map(|word| format!("<{word}>\n")).collect();
    let direct = format!("server\n{shown}");
    let proxied = format!("tamis-gateway\n<mcp>\n<--config>\n<user>\n<-->\n<server>\n{shown}");
    let proxied_closed = proxied.replace("<user>\n", "<user>\n<--closed>\n");
    for (closed, has_proxy, expected) in [
        (false, false, Some(&direct)),
        (false, true, Some(&proxied)),
        (true, true, Some(&proxied_closed)),
        (true, false, None),
    ] {
        home.install(Agent::ClaudeCode, InstallOptions { closed, ..MCP });
        let now: serde_json::Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
        let server = &now["mcpServers"]["a"];
        let args = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        let mut command = Command::new("/bin/sh");
        assert_eq!(server["command"], "sh");
        let proxy = home.path("bin/tamis-gateway");
        _ = std::fs::remove_file(&proxy);
        if has_proxy {
            home.write("bin/tamis-gateway", script);
            std::fs::set_permissions(&proxy, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = [home.path("planted"), home.path("bin"), "/usr/bin".into(), "/bin".into()];
        let ran =
            command.args(args).env("PATH", std::env::join_paths(path).unwrap()).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(ran.status.success().then_some(&out), expected, "{closed} {has_proxy}");
    }
}

#[test]
fn rules_of_the_user_hold_for_the_name_of_an_entry() {
    let home = Home::new();
    home.write(
        ".config/tamis/tamis.yaml",
        "version: 1\nfilters: {}\nservers: {fs: {redact: secrets}}\n",
    );
    let before =
        r#"{"mcpServers": {"fs": {"command": "a"}, "other": {"command": "b", "args": ["c"]}}}"#;
    home.write(".claude.json", before);
    home.install(Agent::ClaudeCode, MCP);
    let script = |name: &str| {
        let now: serde_json::Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
        now["mcpServers"][name]["args"][1].as_str().unwrap().to_owned()
    };
    assert!(script("fs").contains("mcp --config user --name fs -- \"$@\""), "{}", script("fs"));
    assert!(script("other").contains("mcp --config user -- \"$@\""), "{}", script("other"));
    // Without the rules, it is renewed without the name.
    home.write(".config/tamis/tamis.yaml", "version: 1\nfilters: {}\n");
    home.install(Agent::ClaudeCode, MCP);
    assert_eq!(script("fs").matches("--name").count(), 0, "{}", script("fs"));
    home.write(
        ".config/tamis/tamis.yaml",
        "version: 1\nfilters: {}\nservers: {fs: {redact: secrets}}\n",
    );
    home.install(Agent::ClaudeCode, MCP);
    home.uninstall(Agent::ClaudeCode, Scope::User);
    assert_eq!(home.read(".claude.json"), before);
}
