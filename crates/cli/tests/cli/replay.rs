//! `tamis replay` as a process: tables, JSON, pages, thresholds, and transcripts that cannot be read.

use super::documented::{copy_sessions, source};
use super::*;

/// A rule that removes what the sessions use later.
const HARMFUL: &str = "[[rules]]\nname = \"harmful\"\nmatch = { prefix = \"cargo test\" }\nstrip = ['panicked|left|right|FAILED|width|ok$']\n";

fn replay(folder: &Folder, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["replay", "--defaults"].iter().chain(args).copied().collect();
    folder.tamis(&args, b"")
}

fn json(folder: &Folder, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    let ran = replay(folder, &args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn with_sessions() -> Folder {
    let folder = Folder::new();
    copy_sessions(&folder);
    folder.write("harmful.toml", HARMFUL);
    folder
}

#[test]
fn tables_of_all_agents() {
    let folder = with_sessions();
    let ran = replay(&folder, &["sessions"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("4 sessions, 20 results, 4 files, "), "{}", ran.out);
    for part in [
        "\n1 entry that is not valid was skipped\n",
        "\nagent itself ",
        "\ntamis as installed ",
        "36 later-used facts that the agent itself shows: ",
        "\nclaude-code claude-opus-5 ",
        "\ncodex gpt-6 ",
        "\ngemini gemini-3-pro ",
        "\nopencode gpt-6 ",
        "\ngemini run_shell_command ",
        "\ncargo-test ",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn figures_and_facts_as_json() {
    let folder = with_sessions();
    let found = json(&folder, &["sessions", "--limit", "100", "--baselines"]);
    let report = &found["report"];
    let names: Vec<&str> = report["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "agent itself",
            "tamis as installed",
            "cut at 100 tokens",
            "head, same bytes",
            "tail, same bytes",
            "head+tail, same bytes"
        ]
    );
    assert_eq!(report["subject"], 2);
    let facts = found["facts"].as_array().unwrap();
    assert_eq!(facts.len(), 36);
    let edit = facts.iter().find(|fact| fact["kind"] == "edit").unwrap();
    assert_eq!(edit["text"], "let reserve = FENDER_WIDTH * 2;");
    assert_eq!(edit["fates"].as_array().unwrap().len(), 6);
    assert!(facts.iter().all(|fact| fact["fates"][0] == "shown" && fact["used_at"].is_u64()));
    // The sums of the facts are those of the variants.
    for (at, variant) in report["variants"].as_array().unwrap().iter().enumerate() {
        for fate in ["shown", "fetchable", "gone"] {
            let count = facts.iter().filter(|fact| fact["fates"][at] == fate).count();
            assert_eq!(variant["figures"]["facts"][fate], count, "{at} {fate}");
        }
    }
    let usage = &report["agents"]["codex"]["usage"]["gpt-6"]["usage"];
    assert_eq!(
        *usage,
        serde_json::json!({"input": 52, "cache_write": 13600, "cache_read": 54000, "output": 550})
    );
}

#[test]
fn a_threshold_fails_a_harmful_filter() {
    let folder = with_sessions();
    for threshold in ["99", "0.99", "99%", "100"] {
        let ran = replay(&folder, &["sessions", "--fail-under", threshold]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{threshold}");
        let args = ["sessions", "--manifest", "harmful.toml", "--fail-under", threshold];
        let ran = replay(&folder, &args);
        assert_eq!(ran.code, 1, "{}", ran.out);
        assert!(
            ran.err.contains("shows 44.44 % of the later-used facts, less than "),
            "{}",
            ran.err
        );
        assert!(ran.out.contains("fetchable number: 1840"), "{}", ran.out);
    }
    let args = ["sessions", "--manifest", "harmful.toml", "--fail-under", "40"];
    assert_eq!(replay(&folder, &args).code, 0);
    for wrong in ["101", "-1", "much", ""] {
        let ran = replay(&folder, &["sessions", "--fail-under", wrong]);
        assert_eq!(ran.code, 2, "{wrong}: {}", ran.err);
    }
}

#[test]
fn prices_of_a_table() {
    let folder = with_sessions();
    let ran = replay(&folder, &["sessions/claude-code.jsonl", "--prices", "prices.json"]);
    // 52 at 5, 13,600 at 6.25, 54,000 at 0.5, 550 at 25 dollars a million.
    assert!(ran.out.contains("0.126010 USD"), "{}", ran.out);
    folder.write("prices.json", r#"{"models": {"x": {"input": -1, "output": 1}}}"#);
    let ran = replay(&folder, &["sessions", "--prices", "prices.json"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_page_loads_nothing_and_shows_no_markup_of_transcripts() {
    let folder = with_sessions();
    let text = folder.read("sessions/codex.jsonl").replace("cargo test", "cargo test '<script>'");
    folder.write("sessions/codex.jsonl", text);
    let args = ["sessions", "--manifest", "harmful.toml", "--html", "-"];
    let page = replay(&folder, &args).out;
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(!page.contains("<script"), "{page}");
    assert!(page.contains("<svg ") && page.contains("tamis with manifest"), "{page}");
    assert!(!page.contains(" src=") && !page.contains("http-equiv=\"refresh"), "{page}");
    replay(&folder, &["sessions", "--html", "week.html"]);
    assert!(folder.read("week.html").contains("Recorded usage"));
}

#[test]
fn wrong_arguments_and_files() {
    let folder = with_sessions();
    let ran = replay(&folder, &["missing", "sessions/codex.jsonl"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("missing") && ran.out.starts_with("1 session, 5 results"),
        "{}",
        ran.err
    );
    assert_eq!(replay(&folder, &["sessions", "--json", "--html", "-"]).code, 2);
    assert_eq!(replay(&folder, &["sessions", "--manifest", "missing.yaml"]).code, 2);
    folder.write("rules.toml", "[[rules]]\nname = 7\n");
    assert_eq!(replay(&folder, &["sessions", "--manifest", "rules.toml"]).code, 2);
    folder.write("notes.jsonl", "{}\n");
    let ran = replay(&folder, &["notes.jsonl"]);
    assert!(ran.out.contains("1 file is not a transcript of a known agent"), "{}", ran.out);
    // Old files are left out.
    let ran = replay(&folder, &["sessions", "--days", "1"]);
    assert!(ran.out.starts_with("4 sessions"), "{}", ran.out);
}

/// The figures of the README and of the guide are those that `benches/truth/agents` has written.
#[test]
fn figures_of_real_agents_are_those_that_were_measured() {
    let measured = source("benches/truth/agents.md");
    let (readme, guide) = (source("README.md"), source("docs/src/numbers.md"));
    let rows: Vec<&str> = measured.lines().filter(|line| line.contains(" % | ")).collect();
    assert_eq!(rows.len(), 4, "{rows:?}");
    for row in rows {
        assert!(guide.contains(row), "{row}");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, _, without, _, received, saved, ..] = cells.as_slice() else { panic!("{row}") };
        let shown = format!("| {without} | {received} | {saved} |");
        assert!(readme.contains(&shown), "{shown}");
    }
}
