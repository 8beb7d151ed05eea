//! Replays of made-up sessions: the same work, as each of the four agents records it.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tamis_replay::cost::{Prices, RELATIVE, Usage};
use tamis_replay::{
    FactKind, FactUse, Fate, FilterSettings, Replay, ReplayOptions, Report, Skipped, Variant, find,
    to_page, to_table,
};

/// The transcripts, by agent.
const SESSIONS: [(&str, &str); 5] = [
    ("claude-code", "claude-code/-srv-berths/s1.jsonl"),
    ("codex", "codex/rollout-2026-03-09T10-00-00-s2.jsonl"),
    ("gemini", "gemini/berths/chats/session-2026-03-09T10-00-s3.jsonl"),
    ("opencode", "opencode/opencode.db"),
    ("opencode", "opencode/export.json"),
];

fn session(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions").join(name)
}

fn options() -> ReplayOptions {
    ReplayOptions::new(FilterSettings::plain())
}

fn replay(options: ReplayOptions, path: &Path) -> Report {
    let mut replay = Replay::new(options).unwrap();
    for path in find(path, None).unwrap() {
        replay.read(&path).unwrap();
    }
    replay.finish()
}

/// The later-used facts of a transcript.
fn facts(path: &Path) -> Vec<(FactKind, String)> {
    let mut found = Vec::new();
    let mut observer = |fact: &FactUse<'_>| found.push((fact.kind, fact.text.to_owned()));
    let mut replay = Replay::with_observer(options(), &mut observer).unwrap();
    replay.read(path).unwrap();
    _ = replay.finish();
    found.sort();
    found
}

fn variant(report: &Report, variant: Variant) -> &tamis_replay::VariantReport {
    report.variants.iter().find(|report| report.variant == Some(variant)).unwrap()
}

#[test]
fn the_same_work_has_the_same_facts_in_every_format() {
    use FactKind::{Edit, Identifier, Line, Number, Path, Version};
    let expected = [
        (Path, "plan.rs"),
        (Path, "src/plan.rs"),
        (Version, "2.14.7"),
        (Number, "1840"),
        (Number, "1860"),
        (Number, "90214"),
        (Identifier, "width_of_berth"),
        (Edit, "let reserve = FENDER_WIDTH * 2;"),
    ];
    for (agent, name) in SESSIONS {
        let found = facts(&session(name));
        for (kind, text) in expected {
            assert!(found.contains(&(kind, text.to_owned())), "{agent}: {text} in {found:?}");
        }
        // Only results of this session have facts, and each fact counts once.
        let mut once = found.clone();
        once.dedup();
        assert_eq!(once, found, "{agent}");
        assert!(!found.iter().any(|(kind, _)| *kind == Line), "{agent}: {found:?}");
    }
}

#[test]
fn recorded_usage_is_summed_exactly() {
    // The sums of `USAGE` in make.py.
    let sum = Usage { input: 52, cache_write: 13_600, cache_read: 54_000, output: 550 };
    for (agent, name) in SESSIONS {
        let report = replay(options(), &session(name));
        let usage = match agent {
            // Gemini CLI does not record what is written to the cache.
            "gemini" => Usage { input: 52 + 13_600, cache_write: 0, ..sum },
            _ => sum,
        };
        assert_eq!(report.usage(), usage, "{agent}");
        let models: Vec<_> = report.agents[agent].usage.values().collect();
        assert_eq!((models.len(), models[0].requests), (1, 6), "{agent}");
        assert_eq!(report.cost(), RELATIVE.of(&usage), "{agent}");
        assert_eq!((report.sessions, report.results, report.read_backs), (1, 5, 0), "{agent}");
    }
    let prices = r#"{"models": {"gpt-*": {"input": 1.25, "cache_read": 0.125, "output": 10}}}"#;
    let prices = Prices::parse(prices).unwrap();
    let folder = session("codex");
    let report = replay(options().with_prices(prices.clone()), &folder);
    // 13,652 tokens at 1.25, 54,000 at 0.125, 550 at 10 dollars a million.
    assert_eq!(prices.shown(report.cost()), "0.029315 USD");
    let other = replay(options().with_prices(prices), &session("gemini"));
    assert_eq!((other.cost(), other.unpriced_requests), (0, 6));
}

#[test]
fn built_in_filters_keep_what_was_used() {
    for (agent, name) in SESSIONS {
        let report = replay(options(), &session(name));
        let installed = variant(&report, Variant::Installed);
        let alone = variant(&report, Variant::Agent);
        assert_eq!(report.share_shown(), Some(1.0), "{agent}");
        assert!(installed.figures.tokens * 10 < alone.figures.tokens * 9, "{agent}");
        assert_eq!(alone.figures.facts.shown, alone.figures.facts.all(), "{agent}");
        // Facts of the first result are carried through five more requests.
        assert!(alone.figures.carried_tokens > 2 * alone.figures.tokens, "{agent}");
        assert!(installed.figures.cost < alone.figures.cost, "{agent}");
    }
}

/// A filter that removes what a model needs, however much it saves, is exposed on every agent.
#[test]
fn a_harmful_filter_is_exposed() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("harmful.toml");
    let harmful = "[[rules]]\nname = \"harmful\"\nmatch = { prefix = \"cargo test\" }\nstrip = ['panicked|left|right|FAILED|width|ok$']\n";
    fs::write(&rules, harmful).unwrap();
    let tools = folder.path().join("harmful.yaml");
    fs::write(&tools, "version: 1\nfilters:\n  tracker.list: {exclude: [id]}\n").unwrap();
    for (agent, name) in SESSIONS {
        let manifests = vec![rules.clone(), tools.clone()];
        let settings = FilterSettings { manifests, ..FilterSettings::plain() };
        let options =
            ReplayOptions::new(settings).with_variants([Variant::Installed, Variant::Manifest]);
        let report = replay(options, &session(name));
        let harmful = variant(&report, Variant::Manifest).figures.facts;
        assert_eq!(report.variants[report.subject].variant, Some(Variant::Manifest));
        assert!(report.share_shown().unwrap() < 0.7, "{agent}: {harmful:?}");
        // The full output of the command is stored. The rule for safety also applies to what is stored.
        assert!(harmful.fetchable >= 3, "{agent}: {harmful:?}");
        assert_eq!(harmful.gone, 1, "{agent}: {harmful:?}");
        assert!(variant(&report, Variant::Manifest).fetches >= 2, "{agent}");
        let lost: Vec<_> = report.examples.iter().flat_map(|example| &example.lost).collect();
        assert!(lost.iter().any(|fact| fact.text == "90214" && fact.fate == Fate::Gone), "{agent}");
        assert!(lost.iter().any(|fact| fact.text == "1840"), "{agent}: {lost:?}");
        assert_eq!(variant(&report, Variant::Installed).figures.facts.gone, 0, "{agent}");
        let by_filter: Vec<_> = report.filters.iter().map(|group| group.name.as_str()).collect();
        assert!(by_filter.contains(&"harmful"), "{agent}: {by_filter:?}");
    }
}

/// A session of Claude Code with one command, whose output the model uses.
fn claude_session(output: &str, detail: &serde_json::Value, uses: &str) -> String {
    let usage = json!({"input_tokens": 9, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 0, "output_tokens": 7});
    let line = |number: u64, kind: &str, message: serde_json::Value| json!({"type": kind, "uuid": format!("{kind}{number}"), "sessionId": "s", "version": "2.1.332", "message": message, "toolUseResult": detail});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat port.log"}});
    let result =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": output, "is_error": false});
    let text = json!({"type": "text", "text": uses});
    let lines = [
        line(1, "assistant", json!({"id": "m1", "model": "m", "content": [call], "usage": usage})),
        line(2, "user", json!({"content": [result]})),
        line(3, "assistant", json!({"id": "m2", "model": "m", "content": [text], "usage": usage})),
    ];
    lines.iter().fold(String::new(), |mut all, line| {
        _ = writeln!(all, "{line}");
        all
    })
}

fn long_log() -> String {
    (0..4_000).map(|n| format!("2026-03-09 berth_{n:05} is free, checked by agent\n")).collect()
}

/// The agent's preview hides what the file has; the transcript names the file, and only its last name is used.
#[test]
fn an_output_that_the_agent_keeps_is_read_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = long_log();
    let preview = format!(
        "<persisted-output>\nOutput too large (196KB). Full output saved to: /elsewhere/s/tool-results/b1.txt\n\nPreview (first 2KB):\n{}\n...\n</persisted-output>",
        &log[..1_980]
    );
    let detail = json!({"stdout": &log[..30_000], "persistedOutputPath": "/elsewhere/s/tool-results/b1.txt"});
    let path = folder.path().join("s.jsonl");
    fs::write(&path, claude_session(&preview, &detail, "berth_00003 and berth_03999")).unwrap();
    let options = || {
        options().with_variants([
            Variant::Installed,
            Variant::Limit(1_000),
            Variant::Head,
            Variant::HeadTail,
        ])
    };
    let missing = replay(options(), &path);
    assert_eq!((missing.incomplete, missing.cut_by_agent), (1, 0), "the file is not there");
    assert_eq!(variant(&missing, Variant::Agent).figures.facts.all(), 1);

    fs::create_dir_all(folder.path().join("s/tool-results")).unwrap();
    fs::write(folder.path().join("s/tool-results/b1.txt"), &log).unwrap();
    let report = replay(options(), &path);
    assert_eq!((report.incomplete, report.cut_by_agent, report.cut_alike), (0, 1, 1));
    let beyond = |of| variant(&report, of).beyond_agent;
    assert_eq!((beyond(Variant::Agent).shown, beyond(Variant::Agent).fetchable), (0, 1));
    // The cut keeps the end, a head of the same size does not.
    assert_eq!(beyond(Variant::Limit(1_000)).shown, 1);
    assert_eq!((beyond(Variant::Head).shown, beyond(Variant::Head).gone), (0, 1));
    assert_eq!(beyond(Variant::HeadTail).shown, 1);
    let bytes = |of| variant(&report, of).figures.bytes;
    assert!(bytes(Variant::Head) <= bytes(Variant::Limit(1_000)));
    assert!(bytes(Variant::Head) + 8 >= bytes(Variant::Limit(1_000)));
}

/// A result that reads a kept file again does not take the facts from the one that it belongs to.
#[test]
fn read_backs_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let log = long_log();
    let preview = "<persisted-output>\nOutput too large (196KB). Full output saved to: /x/s/tool-results/b1.txt\n\nPreview (first 2KB):\nnothing\n</persisted-output>";
    let mut text = claude_session(preview, &json!({}), "I read it again.");
    let call = json!({"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/x/s/tool-results/b1.txt"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t2", "content": &log[..4_000]});
    let answer = json!({"type": "text", "text": "It is berth_00003."});
    for (number, kind, block) in
        [(11, "assistant", call), (12, "user", result), (13, "assistant", answer)]
    {
        let message = json!({"id": format!("n{number}"), "content": [block]});
        _ = writeln!(
            text,
            "{}",
            json!({"type": kind, "uuid": number.to_string(), "sessionId": "s", "message": message})
        );
    }
    fs::create_dir_all(folder.path().join("s/tool-results")).unwrap();
    fs::write(folder.path().join("s/tool-results/b1.txt"), &log).unwrap();
    fs::write(&path, text).unwrap();
    let report = replay(options(), &path);
    assert_eq!((report.results, report.read_backs), (2, 1));
    let alone = variant(&report, Variant::Agent);
    assert_eq!((alone.beyond_agent.fetchable, alone.figures.facts.all()), (1, 0));
}

#[test]
fn what_cannot_be_read_is_counted_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let good = claude_session("see berth_00003", &json!({}), "berth_00003");
    let mut lines: Vec<&str> = good.lines().collect();
    let long = format!("{{\"a\":\"{}", "x".repeat(100));
    lines.insert(1, "{\"type\":\"user\",");
    lines.insert(3, &long);
    lines.insert(4, "");
    lines.insert(5, "[[[[");
    fs::write(folder.path().join("a.jsonl"), lines.join("\n")).unwrap();
    // The same lines again, as a resumed session has them.
    fs::write(folder.path().join("b.jsonl"), &good).unwrap();
    fs::write(folder.path().join("c.jsonl"), "{\"level\":\"info\"}\n".repeat(50)).unwrap();
    fs::write(folder.path().join("d.jsonl"), [0xff; 100]).unwrap();
    fs::write(folder.path().join("opencode.db"), b"SQLite format 3\0 and no more").unwrap();
    let mut replay = Replay::new(options()).unwrap();
    let mut failed = Vec::new();
    for path in find(folder.path(), None).unwrap() {
        if let Err(error) = replay.read(&path) {
            failed.push(error.to_string());
        }
    }
    let report = replay.finish();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains("opencode.db"), "{failed:?}");
    assert_eq!((report.files, report.unknown_files), (2, 2));
    assert_eq!((report.skipped.malformed, report.skipped.repeated), (3, 3));
    assert_eq!(report.results, 1);
    assert_eq!(report.usage().output, 14, "the repeated requests do not count");
    assert_eq!(variant(&report, Variant::Agent).figures.facts.shown, 1);
}

/// Every prefix of a database, and every page with other bytes, is an error or a shorter reading, never a panic.
#[test]
fn a_damaged_database_is_refused_or_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let whole = fs::read(session("opencode/opencode.db")).unwrap();
    let mut seed = 7_u64;
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 5 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
            bytes[at] = (seed >> 17) as u8;
        }
        if round % 3 == 0 {
            bytes.truncate(usize::try_from(seed >> 40).unwrap() % bytes.len());
        }
        fs::write(&path, &bytes).unwrap();
        let mut replay = Replay::new(options()).unwrap();
        _ = replay.read(&path);
        _ = replay.finish();
    }
}

/// Codex keeps the beginning and the end of the JSON of a long result. No filter is applied to it.
#[test]
fn a_long_result_of_codex_is_known_only_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let line = |kind: &str, payload: serde_json::Value| json!({"timestamp": "t", "type": kind, "payload": payload});
    let received = format!(
        "Wall time: 0.1 seconds\nOutput:\n{}…14611 tokens truncated…]",
        "[1,2]".repeat(5_000)
    );
    for (kept, incomplete) in [
        (
            format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":\"{}…68226 chars truncated…",
                "7".repeat(50_000)
            ),
            1,
        ),
        ("[1,2]".repeat(10_000), 0),
    ] {
        let lines = [
            line("session_meta", json!({"cli_version": "0.171.0"})),
            line(
                "response_item",
                json!({"type": "function_call", "call_id": "c", "name": "list", "namespace": "mcp__crm", "arguments": "{}"}),
            ),
            line(
                "event_msg",
                json!({"type": "item_completed", "item": {"type": "McpToolCall", "id": "c", "result": {"content": [{"type": "text", "text": kept}]}}}),
            ),
            line(
                "response_item",
                json!({"type": "function_call_output", "call_id": "c", "output": received}),
            ),
        ];
        let path = folder.path().join("rollout.jsonl");
        fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        let report = replay(options(), &path);
        let changed = variant(&report, Variant::Installed).figures.changed;
        assert_eq!((report.incomplete, changed), (incomplete, 1 - incomplete));
    }
}

/// Writes an export of opencode as the folder that its older versions have. Returns the document of the session.
fn storage(folder: &Path, document: &serde_json::Value) -> PathBuf {
    let text = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap();
    let storage = folder.join("opencode/storage");
    let write = |path: PathBuf, value: &serde_json::Value| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text(value)).unwrap();
        path
    };
    for message in document["messages"].as_array().unwrap() {
        let id = message["info"]["id"].as_str().unwrap();
        write(storage.join(format!("message/ses_1/{id}.json")), &message["info"]);
        for (at, part) in message["parts"].as_array().unwrap().iter().enumerate() {
            write(storage.join(format!("part/{id}/prt_{at:03}.json")), part);
        }
    }
    let info = json!({"id": "ses_1", "projectID": "global", "version": "1.1.65"});
    write(storage.join("session/global/ses_1.json"), &info)
}

/// The folder of older versions has the same sessions as the database; one that is in both counts once.
#[test]
fn older_folders_of_opencode_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let export = fs::read(session("opencode/export.json")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&export).unwrap();
    let path = storage(folder.path(), &document);
    assert_eq!(find(folder.path(), None).unwrap(), [path.as_path()]);
    let figures = |report: &Report| {
        let variant = variant(report, Variant::Installed);
        (report.usage(), variant.figures.tokens, variant.figures.facts, variant.kinds.clone())
    };
    let old = replay(options(), folder.path());
    let new = replay(options(), &session("opencode/opencode.db"));
    assert_eq!(figures(&old), figures(&new));
    assert_eq!(old.agents["opencode"].versions, ["1.1.65"]);
    assert_eq!((old.sessions, old.results, old.skipped), (1, 5, Skipped::default()));
    assert!(old.bytes > 5_000, "the messages count: {}", old.bytes);

    let database = folder.path().join("opencode/opencode.db");
    fs::copy(session("opencode/opencode.db"), database).unwrap();
    let both = replay(options(), folder.path());
    assert_eq!(figures(&both), figures(&new));
    assert_eq!((both.files, both.skipped.repeated), (2, 1));

    // Documents that are damaged, missing or links are counted or left out.
    let part = folder.path().join("opencode/storage/part/msg_02/prt_001.json");
    fs::write(&part, &fs::read(&part).unwrap()[..40]).unwrap();
    fs::remove_dir_all(folder.path().join("opencode/storage/part/msg_03")).unwrap();
    let report = replay(options(), &path);
    assert_eq!((report.skipped.malformed, report.sessions), (1, 1));
    assert!(report.results < 5, "{}", report.results);
}

/// A sentence that quotes a part of a line uses its phrases, and a cut that removes the line loses them.
#[test]
fn quoted_phrases_are_facts() {
    let folder = tempfile::tempdir().unwrap();
    let noise = |n: usize| format!("copied block {n} of the image to its target\n");
    // One phrase in eight is followed, so there are enough of them.
    let quoted: Vec<String> = ["gauge", "fender", "hawser", "pontoon", "bollard", "sluice"]
        .iter()
        .map(|thing| format!("the borrowed {thing} of the northern harbour does not live long enough to outlast its {thing}"))
        .collect();
    let output: String = (0..900)
        .map(|n| match quoted.get(usize::wrapping_sub(n, 450)) {
            Some(quoted) => format!("note: {quoted}, see below\n"),
            None => noise(n),
        })
        .collect();
    let path = folder.path().join("s.jsonl");
    let uses = format!("It says that \"{}\".", quoted.join("\" and \""));
    fs::write(&path, claude_session(&output, &json!({}), &uses)).unwrap();
    let report = replay(options().with_variants([Variant::HeadTail, Variant::Limit(500)]), &path);
    let phrases = |of| variant(&report, of).kinds["phrase"];
    assert!(phrases(Variant::Agent).shown > 0);
    assert_eq!(phrases(Variant::HeadTail).shown, 0, "the line is in the middle");
    let kinds: Vec<_> = variant(&report, Variant::Agent).kinds.keys().copied().collect();
    assert_eq!(kinds, ["phrase"], "nothing else of the line was repeated");

    // Repeated as lines, they count as lines and not by their phrases.
    let uses: String = quoted.iter().map(|quoted| format!("note: {quoted}, see below\n")).collect();
    fs::write(&path, claude_session(&output, &json!({}), &uses)).unwrap();
    let kinds = variant(&replay(options(), &path), Variant::Agent).kinds.clone();
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), ["line"]);
    assert_eq!(kinds["line"].shown, 6);
}

/// The factor between the estimate and the recorded usage, and the cost of new and old tokens, follow only from the usage.
#[test]
fn the_estimate_is_compared_with_the_usage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let log = long_log();
    let text = claude_session(&log[..20_000], &json!({}), "done");
    fs::write(&path, &text).unwrap();
    let report = replay(options(), &path);
    let estimate = variant(&report, Variant::Agent).figures.tokens;
    assert!(report.agents["claude-code"].factor().is_none(), "the prompt did not grow");

    // The second request has the first one's 1,009 tokens of prompt and 7 of output, and three tokens for each estimated one.
    let grown = 3 * estimate;
    let usage = |input: u64, write: u64, read: u64| {
        json!({"input_tokens": input, "cache_creation_input_tokens": write, "cache_read_input_tokens": read, "output_tokens": 7}).to_string()
    };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[2] = lines[2].replace(&usage(9, 1_000, 0), &usage(0, grown + 7, 1_009));
    fs::write(&path, lines.join("\n")).unwrap();
    let report = replay(options(), &path);
    let agent = &report.agents["claude-code"];
    assert_eq!((agent.recorded_growth, agent.estimated_growth), (grown, estimate));
    assert_eq!(agent.factor(), Some(3.0));
    assert_eq!((agent.prompts.old_tokens, agent.prompts.new_tokens), (1_009, grown + 7));
    let after = agent.prompts.break_even().unwrap();
    assert!((after - 11.5).abs() < 1e-9, "writing costs 1.25, reading 0.1: {after}");
    for shown in [to_table(&report, &Prices::default()), to_page(&report, &Prices::default(), "t")]
    {
        assert!(shown.contains(": 3.00 recorded tokens for an estimated one"), "{shown}");
        assert!(shown.contains("pruning pays after 11.5 × kept ÷ removed requests"), "{shown}");
    }
}

/// An edit of a line that a result had is one, in whichever form the agent records it.
#[test]
fn edits_are_facts_of_the_results_that_had_their_lines() {
    for (agent, name) in SESSIONS {
        let report = replay(options(), &session(name));
        let kinds = &variant(&report, Variant::Agent).kinds;
        assert_eq!(kinds["edit"].shown, 1, "{agent}");
    }
}

/// The same figures, whatever the number of variants, and with exact counts about the same tokens.
#[test]
fn variants_do_not_change_each_other() {
    let path = session(SESSIONS[0].1);
    let one = replay(options(), &path);
    let all = [
        Variant::Installed,
        Variant::Limit(500),
        Variant::Limit(100),
        Variant::Head,
        Variant::Tail,
        Variant::HeadTail,
    ];
    let many = replay(options().with_variants(all), &path);
    let figures = |report: &Report| {
        let figures = variant(report, Variant::Installed).figures;
        (figures.tokens, figures.facts, figures.bytes)
    };
    assert_eq!(figures(&one), figures(&many));
    let exact = replay(options().with_exact_tokens(true), &path);
    let (exact, estimated) = (figures(&exact).0, figures(&one).0);
    assert!(exact.abs_diff(estimated) * 4 < estimated, "{exact} {estimated}");
}
