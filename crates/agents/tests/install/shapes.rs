//! Shapes of settings that people have.

use super::*;

/// JSON files in which something can be added, for every agent.
pub(crate) const JSON: [(&str, &str); 46] = [
    ("empty file", ""),
    ("blank", "\n"),
    ("blanks", " \t\r\n\n"),
    ("mark only", "\u{feff}"),
    ("mark and line", "\u{feff}\r\n"),
    ("empty object", "{}"),
    ("empty object and line", "{}\n"),
    ("empty object, blank", "{ }"),
    ("empty object, lines", "{\n}\n"),
    ("empty object, wide", "{\n\n  \n}"),
    ("indented document", "  {\n    \"a\": 1\n  }\n"),
    ("minified", r#"{"a":1,"b":[1,2],"c":{"d":null}}"#),
    ("one line", r#"{ "a": 1, "b": 2 }"#),
    ("one member", r#"{"a": 1}"#),
    ("no last line end", "{\n  \"a\": 1\n}"),
    ("two blanks", "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n"),
    ("four blanks", "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}\n"),
    ("tabs", "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 2\n\t}\n}\n"),
    ("no indentation", "{\n\"a\": 1,\n\"b\": 2\n}\n"),
    ("mixed indentation", "{\n  \"a\": 1,\n      \"b\": 2,\n\t\"c\": 3\n}\n"),
    ("CRLF", "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"),
    ("CRLF and LF", "{\r\n  \"a\": 1,\n  \"b\": 2\r\n}\n"),
    ("mark", "\u{feff}{\n  \"a\": 1\n}\n"),
    ("mark, minified", "\u{feff}{\"a\":1}"),
    ("commas first", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}\n"),
    ("comma in its own line", "{\n  \"a\": 1\n  ,\n  \"b\": 2\n}\n"),
    ("blank lines", "\n\n{\n\n  \"a\": 1,\n\n\n  \"b\": 2\n\n}\n\n\n"),
    ("blanks at line ends", "{  \n  \"a\": 1,  \n  \"b\": 2  \n}  \n"),
    ("odd colons", "{\n  \"a\" :1,\n  \"b\"\n:\n2\n}\n"),
    ("escapes", r#"{"a\u0062\"{": "x\\\"}", "\u0065nv2": "\ud83d\ude00"}"#),
    ("other scripts", "{\n  \"ключ\": \"값 😀\"\n}\n"),
    ("big numbers", r#"{"a": 1.10, "b": 123456789012345678901234567890, "c": 1E400, "d": -0}"#),
    ("braces in strings", r#"{"a": "}{][,:", "b": ["{\"env\": {}}"]}"#),
    ("comment in a string", r#"{"a": "// no comment", "b": "/* neither */"}"#),
    ("env empty", "{\n  \"env\": {}\n}\n"),
    ("env blank", "{\"env\": { } }"),
    ("env with lines", "{\n  \"env\": {\n  }\n}\n"),
    (
        "env of others",
        "{\n  \"env\": {\n    \"A\": \"1\",\n    \"B\": \"2\"\n  },\n  \"model\": \"x\"\n}\n",
    ),
    ("env on a line", "{\n  \"env\": {\"A\": \"1\"},\n  \"x\": 1\n}\n"),
    ("env without blanks", "{\n  \"env\":{\"A\":\"1\",\"B\":\"2\"}}"),
    ("hooks empty", "{\n  \"hooks\": {}\n}\n"),
    (
        "hooks of another event",
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "stop": []}}"#,
    ),
    ("version", "{\n  \"version\": 1,\n  \"hooks\": {\n  }\n}\n"),
    (
        "similar names",
        r#"{"ENV": {"CLAUDE_CODE_SHELL_PREFIX_2": "x"}, "hooks2": {"PreToolUse": 1}}"#,
    ),
    (
        "permissions",
        "{\n  \"permissions\": {\n    \"allow\": [\"Bash(tamis run:*)\"],\n    \"deny\": [\"Bash(rm:*)\"]\n  }\n}\n",
    ),
    (
        "tamis is mentioned",
        r#"{"note": "tamis hook codex", "env": {"X": "tamis-shell"}, "hooks": {}}"#,
    ),
];

/// Lists of hooks for an event, which stands for EVENT.
const HOOKS: [(&str, &str); 15] = [
    ("list empty", r#"{"hooks": {"EVENT": []}}"#),
    ("list blank", "{\n  \"hooks\": {\n    \"EVENT\": [\n    ]\n  }\n}\n"),
    ("list blank, one line", "{\n  \"hooks\": {\n    \"EVENT\": [ ]\n  }\n}\n"),
    ("group without hooks", r#"{"hooks": {"EVENT": [{"matcher": "^Bash$"}]}}"#),
    ("group with an empty list", r#"{"hooks": {"EVENT": [{"matcher": "^Bash$", "hooks": []}]}}"#),
    ("empty groups", r#"{"hooks":{"EVENT":[{},{}]}}"#),
    (
        "another hook, same matcher",
        "{\n  \"hooks\": {\n    \"EVENT\": [\n      {\n        \"matcher\": \"^Bash$\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"other\"\n          }\n        ]\n      }\n    ]\n  }\n}\n",
    ),
    (
        "flat hooks",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"EVENT\": [\n      {\"command\": \"a\"},\n      {\"command\": \"b\"}\n    ]\n  }\n}\n",
    ),
    ("tabs", "{\n\t\"hooks\": {\n\t\t\"EVENT\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t}\n}"),
    ("minified", r#"{"hooks":{"EVENT":[{"hooks":[{"command":"x"}]}],"Z":[]},"z":0}"#),
    (
        "CRLF",
        "{\r\n  \"hooks\": {\r\n    \"EVENT\": [\r\n      {\"command\": \"x\"}\r\n    ]\r\n  }\r\n}\r\n",
    ),
    (
        "almost ours",
        r#"{"hooks": {"EVENT": [{"hooks": [{"type": "command", "command": "tamis hook codex --config user"}]}]}}"#,
    ),
    (
        "ours in another event",
        r#"{"hooks": {"Other": [{"hooks": [{"command": "command -v tamis >/dev/null 2>&1 && tamis hook codex --config user 2>/dev/null || exit 0"}]}]}}"#,
    ),
    (
        "odd elements",
        r#"{"hooks": {"EVENT": [null, 1, "x", [], {"hooks": 1}, {"hooks": [1, {"command": 2}]}]}}"#,
    ),
    (
        "state beside",
        r#"{"hooks": {"EVENT": [ {"command":"x"} ] }, "description": "y", "extra": [[[]]]}"#,
    ),
];

#[test]
fn settings_are_as_before() {
    for (agent, options, file) in JSON_FILES {
        for (name, text) in JSON {
            let home = Home::new();
            home.write(file, text);
            round_trip(&home, agent, options, &format!("{file}: {name}"));
        }
    }
}

#[test]
fn lists_of_hooks_are_as_before() {
    for (agent, options, file) in JSON_FILES {
        let event = match agent {
            Agent::Codex => "PreToolUse",
            Agent::Gemini => "AfterTool",
            Agent::Cursor => "postToolUse",
            _ => continue,
        };
        for (name, text) in HOOKS {
            let home = Home::new();
            home.write(file, text.replace("EVENT", event));
            round_trip(&home, agent, options, &format!("{file}: {name}"));
        }
    }
}

#[test]
fn deep_and_wide_settings_are_as_before() {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(500), "]".repeat(500));
    let wide: Vec<String> = (0..5_000).map(|n| format!("  \"key{n}\": {{\"n\": {n}}}")).collect();
    let wide = format!("{{\n{}\n}}\n", wide.join(",\n"));
    for (agent, options, file) in JSON_FILES {
        for text in [&deep, &wide] {
            let home = Home::new();
            home.write(file, text);
            round_trip(&home, agent, options, file);
        }
    }
}

/// TOML files to which the hook is appended.
const TOML: [(&str, &str); 34] = [
    ("hooks", "[[hooks.Stop]]\n\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say\"\n"),
    ("no last line end", "[[hooks.Stop]]\nhooks = []"),
    ("comment at the end", "[[hooks.Stop]]\nhooks = []\n# end"),
    ("blank lines at the end", "[[hooks.Stop]]\nhooks = []\n\n\n"),
    ("blanks at the end", "[[hooks.Stop]]\nhooks = []\n  \t"),
    ("CRLF", "model = \"x\"\r\n\r\n[[hooks.Stop]]\r\nhooks = []\r\n"),
    ("CRLF, no last line end", "[[hooks.Stop]]\r\nhooks = []"),
    (
        "same event",
        "[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"other\"\n",
    ),
    ("tables after", "[[hooks.Stop]]\nhooks = []\n\n[mcp_servers.a]\ncommand = \"x\"\n"),
    ("table", "[hooks]\n\n[[hooks.Stop]]\n\n[tui]\nx = 1\n"),
    ("table with a list", "[hooks]\nStop = [{ hooks = [] }]\n"),
    (
        "state and hooks",
        "[hooks.state.\"/x:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:0\"\n\n[[hooks.Stop]]\n",
    ),
    ("comments everywhere", "# a\n[[hooks.Stop]] # b\n# c\nhooks = [ # d\n] # e\n"),
    ("long strings", "x = \"\"\"\n[[hooks.PreToolUse]]\n\"\"\"\n[[hooks.Stop]]\n"),
    ("literal strings", "x = '''\nmatcher = \"^Bash$\"\n'''\ny = 'a\\b'\n[[hooks.Stop]]\n"),
    ("other scripts", "\"ключ\" = \"값 😀\"\n[[hooks.Stop]]\n"),
    (
        "numbers and dates",
        "a = 1_000\nb = 0xFF\nc = 1e400\nd = 1979-05-27T07:32:00Z\ne = inf\n[[hooks.Stop]]\n",
    ),
    ("dotted names", "a.b.c = 1\na.d = 2\n[[hooks.Stop]]\n"),
    ("inline tables", "a = { b = { c = [1, 2, { d = 3 }] } }\n[[hooks.Stop]]\n"),
    ("quoted header", "[[\"hooks\".Stop]]\nhooks = []\n"),
    ("spaced header", "[[ hooks . Stop ]]\nhooks = []\n"),
    ("indented", "  [[hooks.Stop]]\n    hooks = []\n"),
    ("tabs", "\t[[hooks.Stop]]\n\thooks\t=\t[]\n"),
    ("tamis in a comment", "# tamis hook codex\n[[hooks.Stop]]\n"),
    ("block in a comment", "# [[hooks.PreToolUse]]\n# matcher = \"^Bash$\"\n[[hooks.Stop]]\n"),
    ("trailing commas", "a = [\n  1,\n  2,\n]\n[[hooks.Stop]]\n"),
    ("unknown keys", "[[hooks.Stop]]\nunknown = true\n[whatever.else]\nx = 1\n"),
    ("many tables", "[a]\n[b]\n[c.d]\n[[e]]\n[[e]]\n[[hooks.Stop]]\n[[hooks.SessionStart]]\n"),
    ("features", "[features]\nhooks = true\n[[hooks.Stop]]\n"),
    ("features off", "[features]\nhooks = false\n[[hooks.Stop]]\n"),
    ("projects", "[projects.\"/abs/path\"]\ntrust_level = \"trusted\"\n[[hooks.Stop]]\n"),
    (
        "env of servers",
        "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.env]\nK = \"V\"\n[[hooks.Stop]]\n",
    ),
    ("deep", "a = [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n[[hooks.Stop]]\n"),
    ("two events", "[[hooks.Stop]]\n[[hooks.Stop]]\n[[hooks.PostToolUse]]\nmatcher = \"\"\n"),
];

#[test]
fn toml_is_as_before() {
    for (name, text) in TOML {
        let home = Home::new();
        home.write(".codex/config.toml", text);
        round_trip(&home, Agent::Codex, USER, name);
        home.install(Agent::Codex, USER);
        assert!(!home.path(".codex/hooks.json").exists(), "{name}: the form that is there is used");
        // Without the record, the block goes too.
        std::fs::remove_dir_all(home.path(".local/state/tamis")).unwrap();
        home.uninstall(Agent::Codex, Scope::User);
        assert_eq!(home.read(".codex/config.toml").trim_end(), text.trim_end(), "{name}");
    }
    // Without hooks in it, the file is not touched.
    for text in [
        "",
        "model = \"x\"\n",
        "[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"y\"\n",
        "[mcp_servers.a]\ncommand = \"x\"",
    ] {
        let home = Home::new();
        home.write(".codex/config.toml", text);
        round_trip(&home, Agent::Codex, USER, text);
        home.install(Agent::Codex, USER);
        assert_eq!(home.read(".codex/config.toml"), text);
    }
}
