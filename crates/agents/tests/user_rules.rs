//! The user's rules in hooks: lists `never`, own filters, those of a project, `native`; and the results of Claude Code's tools.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "in a test a panic is the report")]
#![cfg(unix)]

use std::path::Path;

use serde_json::{Value, json};
use tamis_agents::accepted;
use tamis_agents::hook::{EventHook, HookPlaces, HookSettings};
use tamis_manifest::Manifest;
use tamis_mcp::config::ConfigFiles;

/// A folder with the configuration of a user and a project.
struct Home {
    folder: tempfile::TempDir,
    places: HookPlaces,
}

impl Home {
    fn new(user: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut places = HookPlaces::in_folder(folder.path());
        places.config.working = folder.path().join("project");
        places.files = ConfigFiles::Both;
        let home = Self { folder, places };
        home.write(".config/tamis/tamis.yaml", &format!("version: 1\nfilters: {{}}\n{user}"));
        home
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn response(&self, hook: EventHook, event: &Value) -> Option<Value> {
        let settings = HookSettings::load(&self.places);
        let response = hook.response(&mut event.to_string().as_bytes(), &settings);
        (!response.is_empty()).then(|| serde_json::from_slice(&response).unwrap())
    }

    /// Returns the output that opencode shows for a command.
    fn opencode(&self, command: &str, output: &str) -> String {
        let event = json!({
            "tool": "bash", "args": { "command": command }, "output": output, "metadata": { "exit": 0 }
        });
        let response = self.response(EventHook::Opencode, &event);
        response.map_or_else(|| output.to_owned(), |it| it["output"].as_str().unwrap().to_owned())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("calls.jsonl")).unwrap_or_default()
    }
}

/// The output of many tests that pass.
fn cargo_test() -> String {
    let lines: String = (0..200).map(|at| format!("test a::b{at} ... ok\n")).collect();
    format!(
        "running 200 tests\n{lines}\ntest result: ok. 200 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
    )
}

const OWN: &str =
    "[[rules]]\nname = \"mine\"\nmatch = { prefix = \"mytool\" }\nstrip = [\"^noise\"]\n";

fn noise() -> String {
    format!("{}kept\n", "noise noise noise\n".repeat(60))
}

#[test]
fn outputs_of_listed_commands_are_never_changed() {
    let home = Home::new("commands: {never: [cargo test]}\n");
    let output = cargo_test();
    for command in
        ["cargo test", "cd x && RUST_LOG=a cargo test -v", "tamis run --raw -- cargo test"]
    {
        assert_eq!(home.opencode(command, &output), output, "{command}");
    }
    let home = Home::new("commands: {never: [cargo build]}\n");
    assert_eq!(home.opencode("tamis run --raw -- cargo test", &output), output);
    assert!(home.opencode("cargo test", &output).len() < output.len() / 4);
}

#[test]
fn own_filters_of_the_user_apply() {
    let home = Home::new("commands: {rules: [own.toml]}\n");
    home.write(".config/tamis/own.toml", OWN);
    let shown = home.opencode("mytool --x", &noise());
    assert!(shown.starts_with("kept\n") && shown.contains("[tamis mine: "), "{shown}");
}

#[test]
fn rules_of_a_project_apply_while_they_are_those_that_were_accepted() {
    let home = Home::new("");
    let text = "version: 1\nfilters: {}\ncommands: {rules: [own.toml], never: [cargo test]}\n";
    home.write("project/tamis.yaml", text);
    home.write("project/own.toml", OWN);
    let file = home.path("project/tamis.yaml");
    let manifest = Manifest::parse("tamis.yaml", text).unwrap();
    let accept = || {
        let commands = manifest.settings().commands().unwrap();
        accepted::accept(Path::new(home.places.state.as_ref().unwrap()), &file, commands).unwrap();
    };
    let is_used = || home.opencode("mytool", &noise()) != noise();
    assert!(!is_used());
    accept();
    assert!(is_used());
    assert_eq!(home.opencode("cargo test", &cargo_test()), cargo_test());
    home.write("project/own.toml", &format!("{OWN}# changed\n"));
    assert!(!is_used());
    assert_ne!(home.opencode("cargo test", &cargo_test()), cargo_test());
    accept();
    assert!(is_used());
    home.write("project/tamis.yaml", &format!("{text}# changed\n"));
    assert!(!is_used());
}

fn grep(lines: usize) -> Value {
    let line = |at| format!("src/some/long/folder/of/module{}.rs:{at}:let needle = {at};", at / 50);
    let content: Vec<String> = (0..lines).map(line).collect();
    json!({
        "hook_event_name": "PostToolUse", "tool_name": "Grep", "permission_mode": "default",
        "tool_input": { "pattern": "needle", "output_mode": "content", "-n": true },
        "tool_response": {
            "mode": "content", "numFiles": 0, "filenames": [], "content": content.join("\n"), "numLines": lines
        }
    })
}

fn replaced(response: &Value) -> &Value {
    let output = &response["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PostToolUse");
    &output["updatedToolOutput"]
}

#[test]
fn long_results_of_grep_are_grouped_and_cut() {
    let home = Home::new("");
    assert_eq!(home.response(EventHook::Claude, &grep(100)), None);
    let event = grep(2_000);
    let response = home.response(EventHook::Claude, &event).unwrap();
    let new = replaced(&response);
    let content = new["content"].as_str().unwrap();
    assert!(content.len() <= 16_000, "{}", content.len());
    assert!(content.contains("[tamis grep: ") && content.contains("recall tm_"), "{content}");
    // All other members are as they were.
    let (mut new, mut old) = (new.clone(), event["tool_response"].clone());
    new["content"] = Value::Null;
    old["content"] = Value::Null;
    assert_eq!(new, old);
    let log = home.log();
    assert!(
        log.contains("\"tool\":\"Grep\"") && log.contains("\"agent\":\"claude-code\""),
        "{log}"
    );
}

#[test]
fn results_pass_unchanged_in_plan_mode_and_where_the_user_says_so() {
    let mut plan = grep(2_000);
    plan["permission_mode"] = "plan".into();
    assert_eq!(Home::new("").response(EventHook::Claude, &plan), None);
    for settings in [
        "native: off\n",
        "native: 100000\n",
        "profile: off\n",
        "profile: lossless\n",
        "store: off\n",
    ] {
        assert_eq!(
            Home::new(settings).response(EventHook::Claude, &grep(2_000)),
            None,
            "{settings}"
        );
    }
    let mut off = Home::new("");
    off.places.is_off = true;
    assert_eq!(off.response(EventHook::Claude, &grep(2_000)), None);
    let mut read = grep(2_000);
    for tool in ["Read", "Edit", "Write", "NotebookEdit", "WebSearch"] {
        read["tool_name"] = tool.into();
        assert_eq!(Home::new("").response(EventHook::Claude, &read), None, "{tool}");
    }
}

#[test]
fn names_of_glob_stay_a_list() {
    let names: Vec<String> =
        (0..2_000).map(|at| format!("src/a/folder/with/a/name/file{at}.rs")).collect();
    let event = json!({
        "hook_event_name": "PostToolUse", "tool_name": "Glob", "tool_input": { "pattern": "**" },
        "tool_response": { "filenames": names, "durationMs": 1, "numFiles": 2000, "truncated": false }
    });
    let response = Home::new("").response(EventHook::Claude, &event).unwrap();
    let lines = replaced(&response)["filenames"].as_array().unwrap();
    assert!(lines.iter().all(Value::is_string));
    assert!(lines.iter().map(|line| line.as_str().unwrap().len() + 1).sum::<usize>() <= 16_001);
}

#[test]
fn outputs_of_bash_are_filtered_by_the_hook_of_a_plugin() {
    let home = Home::new("");
    let event = |stdout: &str| {
        json!({
            "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": { "command": "cargo test" },
            "tool_response": { "stdout": stdout, "stderr": "", "interrupted": false, "isImage": false }
        })
    };
    let response = home.response(EventHook::Claude, &event(&cargo_test())).unwrap();
    let new = replaced(&response);
    assert!(new["stdout"].as_str().unwrap().contains("200 passed"));
    assert_eq!(new["interrupted"], false);
    // Outputs of the shell prefix pass.
    let filtered = new["stdout"].as_str().unwrap();
    let filtered = format!("{filtered}{}", cargo_test());
    assert!(filtered.contains("[tamis "));
    assert_eq!(home.response(EventHook::Claude, &event(&filtered)), None);
    // The whole output is in a file.
    let whole: String = (0..20_000).map(|at| format!("line {at}\n")).collect();
    home.write("whole.txt", &whole);
    let mut long = event(&whole[..30_000]);
    long["tool_input"]["command"] = "./x".into();
    long["tool_response"]["persistedOutputPath"] = home.path("whole.txt").to_str().unwrap().into();
    long["tool_response"]["persistedOutputSize"] = whole.len().into();
    let response = home.response(EventHook::Claude, &long).unwrap();
    let new = replaced(&response);
    assert!(new["stdout"].as_str().unwrap().contains("line 19999"));
    assert!(new["stdout"].as_str().unwrap().len() <= 2_226);
    assert_eq!(new.get("persistedOutputPath"), None);
}
