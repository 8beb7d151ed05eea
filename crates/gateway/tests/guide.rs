//! Runs the examples of the guide's chapter on MCP servers, and checks the files in `examples/mcp`. Examples that need
//! only the command `tamis` are run by its own tests. The server of the examples needs `python3`.

#![cfg(unix)]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};
use tamis_manifest::Manifest;
use tamis_store::calls::Savings;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A folder with a link to the examples, in which documented commands run.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = root().join("examples").canonicalize().unwrap();
    std::os::unix::fs::symlink(examples, folder.path().join("examples")).unwrap();
    folder
}

fn gateway(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis-gateway"));
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder).env("HOME", folder);
    // No folder can be there, so results are kept in memory.
    command.env("TAMIS_STATE_DIR", "/dev/null/tamis");
    command
}

/// Runs a documented command, whose input may be a file.
fn run(folder: &Path, command: &str) -> Output {
    let (command, input) = match command.split_once(" < ") {
        Some((command, file)) => (command, Stdio::from(File::open(folder.join(file)).unwrap())),
        None => (command, Stdio::null()),
    };
    let words = command.split(' ').skip(1);
    gateway(folder).args(words).stdin(input).output().unwrap()
}

/// Replaces handles, which are random.
fn without_handles(text: &str) -> String {
    let mut parts = text.split("tm_");
    let mut shown = parts.next().unwrap().to_owned();
    for part in parts {
        shown.push_str("tm_…");
        shown.push_str(part.get(26..).unwrap_or_default());
    }
    shown
}

#[test]
fn documented_commands_print_what_is_shown() {
    let folder = folder();
    let page = source("docs/src/mcp.md");
    let blocks = page.split("```text\n$ ").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut count = 0;
    for block in blocks {
        let (command, shown) = block.split_once('\n').unwrap();
        if command.contains("https://") {
            continue;
        }
        let printed = match command.strip_prefix("tamis savings ") {
            // This command is one of `tamis`, which prints the table of the library.
            Some(log) => {
                let mut savings = Savings::default();
                let log = File::open(folder.path().join(log)).unwrap();
                savings.read(BufReader::new(log)).unwrap();
                savings.table()
            }
            None => {
                let output = run(folder.path(), command);
                assert_eq!(output.status.code(), Some(0), "{command}");
                String::from_utf8(output.stdout).unwrap()
            }
        };
        assert_eq!(without_handles(&printed), without_handles(shown), "{command}");
        count += 1;
    }
    assert_eq!(count, 2);
    // The documented line of the log has the same keys, and the same figures but for times.
    let line = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let log = std::fs::read_to_string(folder.path().join("calls.jsonl")).unwrap();
    let shown = page.lines().find(|line| line.starts_with("{\"time\":")).unwrap();
    let (mut log, mut shown) = (line(log.trim_end()), line(shown));
    for line in [&mut log, &mut shown] {
        for key in ["time", "handle", "duration_ms", "latency_ms"] {
            assert!(line.as_object_mut().unwrap().remove(key).is_some(), "{line}");
        }
    }
    assert_eq!(log, shown);
}

/// The proxy with the server of the examples.
struct Session {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    printed: String,
}

impl Session {
    fn start(folder: &Path, manifest: &str) -> Self {
        let mut command = gateway(folder);
        command.args(["mcp", "--manifest", manifest, "--log", "calls.jsonl", "--"]);
        command.args(["python3", "examples/mcp/server.py"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, printed: String::new() }
    }

    /// Calls a tool, and returns its result.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        writeln!(self.input, "{call}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        self.printed.push_str(&line);
        serde_json::from_str::<Value>(&line).unwrap()["result"].clone()
    }

    /// Ends the proxy, and returns all that it has printed.
    fn end(mut self) -> String {
        drop(self.input);
        assert!(self.process.wait().unwrap().success());
        self.printed
    }
}

fn text(result: &Value, block: usize) -> &str {
    result["content"][block]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn handle(result: &Value) -> String {
    let notice = text(result, 1);
    let at = notice.find("tm_").unwrap();
    notice[at..at + 29].to_owned()
}

#[test]
fn documented_retrievals_return_what_is_shown() {
    let folder = folder();
    let page = source("docs/src/mcp.md");
    let mut session = Session::start(folder.path(), "examples/mcp/tamis.yaml");
    for (tool, retrievals) in [
        (
            "search_tickets",
            vec![
                (
                    "`items: \"3-5\"`, `select: [\"id\", \"title\"]`",
                    json!({"items": "3-5", "select": ["id", "title"]}),
                ),
                (
                    "`pointer: \"/tickets/3/customer/name\"`",
                    json!({"pointer": "/tickets/3/customer/name"}),
                ),
            ],
        ),
        (
            "read_log",
            vec![
                ("`grep: \"brake\", context: 1`", json!({"grep": "brake", "context": 1})),
                ("`lines: \"4322-4322\"`", json!({"lines": "4322-4322"})),
            ],
        ),
    ] {
        let handle = handle(&session.call(tool, &json!({})));
        for (row, mut arguments) in retrievals {
            arguments["handle"] = json!(handle);
            let row = page.lines().find(|line| line.starts_with(&format!("| {row} |"))).unwrap();
            let shown = row.split(" | `").nth(1).unwrap().split('`').next().unwrap();
            let result = session.call("tamis_retrieve", &arguments);
            assert!(text(&result, 0).contains(shown), "{row}\n{result}");
        }
    }
    session.end();
}

#[test]
fn a_secret_of_the_examples_is_nowhere() {
    let folder = folder();
    let mut session = Session::start(folder.path(), "examples/mcp/secrets.yaml");
    let result = session.call("search_tickets", &json!({"_output_mode": "raw"}));
    let handle = handle(&result);
    for arguments in [
        json!({}),
        json!({"items": "0-199", "limit": 1_000_000}),
        json!({"pointer": "/tickets/0/customer/card"}),
        json!({"grep": "4000"}),
    ] {
        let mut arguments = arguments;
        arguments["handle"] = json!(handle);
        session.call("tamis_retrieve", &arguments);
    }
    let printed =
        session.end() + &std::fs::read_to_string(folder.path().join("calls.jsonl")).unwrap();
    assert!(printed.contains("Crane 200") && !printed.contains("4000 0000"), "{printed}");
}

/// The sentences in the help and the guide about results that are withheld.
#[test]
fn documented_sentences_are_those_of_the_proxy() {
    let folder = folder();
    let manifest = "version: 1\nfilters:\n  read_log: {exclude: [x], root: object}\n";
    std::fs::write(folder.path().join("closed.yaml"), manifest).unwrap();
    let mut session = Session::start(folder.path(), "closed.yaml");
    let result = session.call("read_log", &json!({}));
    assert_eq!(result["isError"], true);
    let topic = source("crates/cli/src/topics/proxy.md");
    let shown = text(&result, 0).replace("read_log", "search_tickets");
    assert!(topic.contains(&format!("\n{shown}\n")), "{shown}");
    session.end();
}

/// The value of the documented entry, and its arguments up to the command of the server.
fn flags(entry: &Value) -> Vec<&str> {
    // opencode has the whole command in one list.
    let whole = entry["command"].as_array();
    let words = whole.unwrap_or_else(|| entry["args"].as_array().unwrap());
    let mut words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
    let command =
        if whole.is_some() { words.remove(0) } else { entry["command"].as_str().unwrap() };
    assert_eq!((command, words.first()), ("tamis", Some(&"mcp")));
    match words.iter().position(|word| *word == "--") {
        Some(end) => words[..end].to_vec(),
        None => words,
    }
}

#[test]
fn configurations_of_clients_start_the_proxy() {
    let page = source("docs/src/mcp.md");
    let folder = root().join("examples/mcp/clients");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "claude-code.json",
        "codex.toml",
        "copilot.json",
        "cursor.json",
        "gemini.json",
        "opencode.json",
        "remote.json",
        "vscode.json",
        "zed.json",
    ];
    assert_eq!(names, expected);
    for name in names {
        let text = source(&format!("examples/mcp/clients/{name}"));
        let language = name.split_once('.').unwrap().1;
        assert!(page.contains(&format!("```{language}\n{text}```")), "{name} is in the guide");
        let file: Value = match language {
            "toml" => toml::from_str(&text).unwrap(),
            _ => serde_json::from_str(&text).unwrap(),
        };
        let key = match name.as_str() {
            "vscode.json" => "servers",
            "zed.json" => "context_servers",
            "opencode.json" => "mcp",
            "codex.toml" => "mcp_servers",
            _ => "mcpServers",
        };
        let entries = file[key].as_object().unwrap_or_else(|| panic!("{name}: {key}"));
        for entry in entries.values() {
            let mut flags = flags(entry);
            let mut command = gateway(&root());
            if flags.contains(&"--upstream") {
                // Nothing listens there: the flags are what is tested.
                let url = flags.iter().position(|word| word.starts_with("https:")).unwrap();
                flags[url] = "http://127.0.0.1:1/mcp";
                for (name, value) in entry["env"].as_object().unwrap() {
                    command.env(name, value.as_str().unwrap());
                }
            } else {
                flags.extend(["--", "cat"]);
            }
            let output = command.args(flags).stdin(Stdio::null()).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{name}: {errors}");
        }
    }
}

#[test]
fn manifests_of_the_examples_are_valid_and_shown() {
    let page = source("docs/src/mcp.md");
    for name in ["tamis.yaml", "secrets.yaml"] {
        let text = source(&format!("examples/mcp/{name}"));
        let manifest = Manifest::parse(name, &text).unwrap();
        assert!(manifest.has("search_tickets"), "{name}");
        assert!(page.contains(&format!("```yaml\n{text}```")), "{name} is in the guide");
    }
}
