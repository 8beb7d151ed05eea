//! Events of agents, as data: `events/*.json`.
//!
//! Each case has an event and the expected response. `config` is the user's tamis.yaml, `files` are further files in
//! the home folder, and `programs` are those on the path. In texts, `{{lines:N}}` stands for N numbered lines,
//! `{{compiling:N}}` for N lines of progress, `{{numbers:N}}` for N numbers, and `{{folder}}` for the home folder.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tamis_agents::hook::{EventHook, HookPlaces, HookSettings};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    hook: String,
    #[serde(default)]
    config: Option<String>,
    #[serde(default)]
    files: serde_json::Map<String, Value>,
    #[serde(default)]
    programs: Vec<String>,
    /// The event as JSON.
    #[serde(default)]
    event: Option<Value>,
    /// The bytes of an event that is not JSON.
    #[serde(default)]
    raw: Option<String>,
    /// `None`: nothing is printed.
    expected: Option<Expected>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The whole response.
    #[serde(default)]
    answer: Option<Value>,
    /// Where the text is that the following words are about.
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    /// The most bytes of the response.
    #[serde(default)]
    most: Option<usize>,
}

/// Members by which agents grant or refuse a call.
const PERMISSIONS: [&str; 7] = [
    "permission",
    "permissionDecision",
    "permission_decision",
    "continue",
    "updatedInput",
    "updated_input",
    "tool_input",
];

fn expand(text: &str, folder: &Path) -> String {
    let mut text = text.replace("{{folder}}", folder.to_str().unwrap());
    for word in ["lines", "compiling", "numbers"] {
        let open = format!("{{{{{word}:");
        while let Some(at) = text.find(&open) {
            let end = at + text[at..].find("}}").unwrap();
            let count: u32 = text[at + open.len()..end].parse().unwrap();
            let part = |n| match word {
                "lines" => format!("entry-{n}"),
                "compiling" => format!("   Compiling crate-{n} v1.0.0"),
                _ => format!("{n}"),
            };
            let parts: Vec<String> = (1..=count).map(part).collect();
            let between = if word == "numbers" { ", " } else { "\n" };
            text.replace_range(at..end + 2, &parts.join(between));
        }
    }
    text
}

fn expand_all(value: &mut Value, folder: &Path) {
    match value {
        Value::String(text) => *text = expand(text, folder),
        Value::Array(values) => values.iter_mut().for_each(|value| expand_all(value, folder)),
        Value::Object(members) => {
            members.values_mut().for_each(|value| expand_all(value, folder));
        }
        _ => {}
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn members(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| members(value, names)),
        Value::Object(all) => {
            for (name, value) in all {
                names.push(name.clone());
                members(value, names);
            }
        }
        _ => {}
    }
}

fn check(case: &Case) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    if let Some(config) = &case.config {
        write(&folder.join(".config/tamis/tamis.yaml"), config);
    }
    for (path, text) in &case.files {
        write(&folder.join(path), &expand(text.as_str().unwrap(), folder));
    }
    for program in &case.programs {
        let path = folder.join("bin").join(program);
        write(&path, "");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let input = match (&case.event, &case.raw) {
        (Some(event), None) => {
            let mut event = event.clone();
            expand_all(&mut event, folder);
            event.to_string()
        }
        (None, Some(raw)) => raw.clone(),
        _ => panic!("{}: one of event and raw", case.name),
    };
    let hook: EventHook = case.hook.parse().unwrap();
    let settings = HookSettings::load(&HookPlaces::in_folder(folder));
    let mut answers: Vec<Vec<u8>> = Vec::new();
    // A byte order mark changes nothing.
    for input in [input.clone(), format!("\u{feff}{input}")] {
        answers.push(hook.response(&mut input.as_bytes(), &settings));
    }
    let answer = String::from_utf8(answers[0].clone()).unwrap();
    let Some(expected) = &case.expected else {
        assert_eq!(answer, "", "{}", case.name);
        assert_eq!(answers[1], b"", "{}", case.name);
        return;
    };
    assert_eq!(answers[0].len(), answers[1].len(), "{}", case.name);
    assert_eq!(answer.matches('\n').count(), 1, "{}: one line", case.name);
    let parsed: Value = serde_json::from_str(&answer).unwrap_or_else(|error| {
        panic!("{}: {error}: {answer}", case.name);
    });
    if hook != EventHook::Codex {
        let mut names = Vec::new();
        members(&parsed, &mut names);
        let grants = names.iter().find(|name| PERMISSIONS.contains(&name.as_str()));
        assert_eq!(grants, None, "{}", case.name);
    }
    if let Some(whole) = &expected.answer {
        let mut whole = whole.clone();
        expand_all(&mut whole, folder);
        assert_eq!(parsed, whole, "{}", case.name);
    }
    let text = match &expected.text {
        None => answer.as_str(),
        Some(pointer) => {
            let found = parsed.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_else(|| panic!("{}: no text at {pointer}: {answer}", case.name))
        }
    };
    for word in &expected.has {
        assert!(text.contains(word), "{}: {word:?} is not in {text}", case.name);
    }
    for word in &expected.lacks {
        assert!(!text.contains(word), "{}: {word:?} is in {text}", case.name);
    }
    if let Some(most) = expected.most {
        assert!(answer.len() <= most, "{}: {} bytes", case.name, answer.len());
    }
    // The part that was left out can be fetched.
    for (at, _) in answer.match_indices("tamis recall tm_") {
        let handle = &answer[at + "tamis recall ".len()..][..29];
        let store = settings.store().unwrap();
        let window = tamis_store::Window::new().with_limit(None);
        let scope = tamis_store::Scope::user();
        let mut out = Vec::new();
        store.read(&scope, handle, &window, &mut out).unwrap();
        assert!(!out.is_empty(), "{}", case.name);
    }
}

#[test]
fn events() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
        for case in &cases {
            check(case);
            count += 1;
        }
    }
    assert!(count > 50, "{count} cases");
}

/// Every cut and every wrong type of an event is survived, and never gives a permission.
#[test]
fn broken_events() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events");
    let home = tempfile::tempdir().unwrap();
    let settings = HookSettings::load(&HookPlaces::in_folder(home.path()));
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
        for event in cases.iter().filter_map(|case| case.event.as_ref()) {
            let whole = event.to_string();
            let step = (whole.len() / 20).max(1);
            for hook in EventHook::ALL {
                for cut in (0..whole.len()).step_by(step) {
                    let bytes = whole.as_bytes().get(..cut).unwrap();
                    let answer = hook.response(&mut &*bytes, &settings);
                    assert!(answer.is_empty() || answer == b"{}\n", "{hook} {cut} {whole}");
                }
                let Value::Object(members) = event else { continue };
                for name in members.keys() {
                    for wrong in [Value::Null, Value::from(7), Value::from(vec![1, 2])] {
                        let mut members = members.clone();
                        members.insert(name.clone(), wrong);
                        let event = Value::Object(members).to_string();
                        _ = hook.response(&mut event.as_bytes(), &settings);
                    }
                }
            }
        }
    }
}

/// A long output takes bounded time, and the response is short.
#[test]
fn an_event_of_fifty_megabytes() {
    let home = tempfile::tempdir().unwrap();
    let settings = HookSettings::load(&HookPlaces::in_folder(home.path()));
    let line = "a line of an output that nobody reads as a whole\n";
    let output = line.repeat((50 << 20) / line.len());
    let event = serde_json::json!({
        "hook_event_name": "AfterTool",
        "tool_name": "run_shell_command",
        "tool_input": {"command": "cat big"},
        "tool_response": {"llmContent": format!(
            "<untrusted_context>\nOutput: {output}\nProcess Group PGID: 1\n</untrusted_context>"
        )},
    });
    let event = event.to_string();
    let answer = EventHook::Gemini.response(&mut event.as_bytes(), &settings);
    assert!(answer.len() > 1_000 && answer.len() < 40_000, "{}", answer.len());
    let event = serde_json::json!({"tool": "x_y", "content": [{"type": "text", "text": output}]});
    let event = event.to_string();
    let answer = EventHook::Opencode.response(&mut event.as_bytes(), &settings);
    assert!(answer.len() > 1_000 && answer.len() < 40_000, "{}", answer.len());
}

/// `TAMIS=off` ends what saves, for results of tools, too, and keeps rules that remove for safety. Codex gets no other command
/// where nothing may be left out.
#[test]
fn off_ends_what_saves() {
    let list: Vec<Value> =
        (0..400).map(|id| serde_json::json!({"id": id, "ssn": "078", "x": null})).collect();
    let text = Value::from(list).to_string();
    let event =
        serde_json::json!({"tool": "a_b", "args": {}, "content": [{"type": "text", "text": text}]});
    let answer = |config: &str, is_off: bool| {
        let home = tempfile::tempdir().unwrap();
        write(&home.path().join(".config/tamis/tamis.yaml"), config);
        let places = HookPlaces { is_off, ..HookPlaces::in_folder(home.path()) };
        let settings = HookSettings::load(&places);
        let answer = EventHook::Opencode.response(&mut event.to_string().as_bytes(), &settings);
        String::from_utf8(answer).unwrap()
    };
    let saves = "version: 1\nfilters:\n  a_b: {select: [id], max_items: 2}\n";
    assert!(answer(saves, false).contains("left out"));
    assert_eq!(answer(saves, true), "");
    assert_eq!(answer("version: 1\nfilters: {}\n", true), "");
    let protects =
        "version: 1\nfilters:\n  a_b: {select: [id, ssn], exclude: [ssn], max_items: 2}\n";
    let kept = answer(protects, true);
    assert!(kept.contains(r#"\"id\":399"#) && !kept.contains("078"), "{kept}");
}
