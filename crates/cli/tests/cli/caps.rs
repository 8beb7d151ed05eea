//! Limits for the output of any command, in `tamis run` and `tamis text`; the log of savings.

use super::*;

/// The handle and the lines that the last line of an output names.
fn named(output: &str) -> (&str, &str) {
    let last = output.lines().last().unwrap();
    let place = last.split_once("tamis recall ").unwrap().1.strip_suffix(']').unwrap();
    place.split_once(" --lines ").unwrap()
}

#[test]
fn lines_left_out_can_be_recalled() {
    let folder = Folder::new();
    let script = "seq 500; echo 'error: x' >&2; seq 502 1000; exit 3";
    for flags in [&[][..], &["--raw"], &["--keep"]] {
        let args = [&["run", "--max-lines", "20"], flags, &["--", "sh", "-c", script]].concat();
        let ran = folder.tamis(&args, b"");
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert_eq!(ran.out.lines().count(), 20, "{}", ran.out);
        assert!(ran.out.starts_with("1\n2\n") && ran.out.contains("\nerror: x\n"), "{}", ran.out);
        assert!(ran.out.contains("\n1000\n[tamis: "), "{}", ran.out);
        let (handle, lines) = named(&ran.out);
        let (first, last) = lines.split_once('-').unwrap();
        let lines = folder.tamis(&["recall", handle, "--lines", lines, "--limit", "all"], b"");
        assert!(lines.out.starts_with(&format!("{first}\n")), "{}", lines.out);
        assert!(lines.out.ends_with(&format!("\n{last}\n")), "{}", lines.out);
    }
    folder.tamis(&["run", "--last", "--lines", "500-502"], b"").done("500\nerror: x\n502\n");
    folder.tamis(&["recall", "--last", "--lines", "1000"], b"").done("1000\n");
    let found = folder.tamis(&["run", "--last", "--grep", "error", "--context", "1"], b"");
    assert!(found.out.contains("error: x") && found.out.contains("502"), "{}", found.out);
}

#[test]
fn tokens_are_limited_whatever_the_output() {
    let folder = Folder::new();
    for script in [
        "seq 100000",
        "head -c 5000000 /dev/zero | tr '\\0' x",
        "yes 'a line of a log' | head -100000; echo end >&2",
    ] {
        let args = ["run", "--max-tokens", "1000", "--", "sh", "-c", script];
        let ran = folder.tamis(&args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!((2000..=4000).contains(&ran.out.len()), "{script}: {}", ran.out.len());
        let last = ran.out.lines().last().unwrap();
        assert!(last.contains(" left out; full output: tamis recall tm_"), "{last}");
    }
    let exact = ["run", "--max-tokens", "1000", "--exact-tokens", "--", "seq", "100000"];
    let ran = folder.tamis(&exact, b"");
    assert!(ran.out.len() > 1000 && ran.out.len() < 4000, "{}", ran.out.len());
}

#[test]
fn without_a_place_for_the_full_output_limits_apply_only_if_asked_for() {
    let folder = Folder::new();
    let args = ["run", "--max-lines", "4", "--no-overflow", "--", "seq", "9"];
    folder.tamis(&args, b"").done("1\n... 7 lines left out\n9\n[tamis: 7 of 9 lines left out]\n");
    folder.write("file", "");
    let args = ["run", "--max-lines", "4", "--overflow-dir", "file", "--", "seq", "9"];
    let ran = folder.tamis(&args, b"");
    assert_eq!(ran.out, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert!(ran.err.contains("cannot record the full output"), "{}", ran.err);
    let args = ["run", "--max-lines", "4", "--overflow-dir", "full", "--", "seq", "9"];
    let ran = folder.tamis(&args, b"");
    assert!(ran.out.ends_with(".log (lines 2-8)]\n"), "{}", ran.out);
}

#[test]
fn saved_outputs_are_limited() {
    let folder = Folder::new();
    let text: String = (1..=100).map(|number| format!("{number}\n")).collect();
    folder.write("x.log", &text);
    let flags = ["text", "--command", "unknown", "--max-lines", "5"];
    folder.tamis(&[&flags[..], &["x.log"]].concat(), b"").done(
        "1\n2\n... 97 lines left out\n100\n[tamis: 97 of 100 lines left out; full output: x.log (lines 3-99)]\n",
    );
    let ran = folder.tamis(&[&flags[..], &["--report", "-"]].concat(), text.as_bytes());
    assert!(ran.err.contains("\"lines_in\":100,\"lines_out\":5,"), "{}", ran.err);
    assert!(ran.err.contains("\"lines_capped\":97"), "{}", ran.err);
    let filtered: String =
        (1..=100).map(|number| format!("   Compiling a{number} v1\nwarning: {number}\n")).collect();
    let args = ["text", "--command", "cargo build && cargo check", "--max-lines", "5"];
    folder.tamis(&args, filtered.as_bytes()).done(
        "warning: 1\nwarning: 2\n... 97 lines left out\nwarning: 100\n\
         [tamis cargo-build: 100 of 200 lines left out, then 97 of 100 lines left out]\n",
    );
    folder.tamis(&["text", "--command", "x", "--max-lines", "0"], b"").refused(2, &["at least 1"]);
    folder.tamis(&["run", "--last", "--max-lines", "3"], b"").refused(2, &["--last"]);
    folder.tamis(&["run", "--exact-tokens", "ls"], b"").refused(2, &["--max-tokens"]);
}

#[test]
fn variables_are_set_and_command_lines_in_a_word_get_a_hint() {
    let folder = Folder::new();
    folder.tamis(&["run", "--", "A=1 2", "B=", "sh", "-c", "echo $A-$B-"], b"").done("1 2--\n");
    folder.tamis(&["run", "--", "A=1"], b"").refused(2, &["expected a command"]);
    let ran = folder.tamis(&["run", "--", "cargo build && cargo 'x'"], b"");
    ran.refused(127, &["not found", "tamis run -- sh -c 'cargo build && cargo '\\''x'\\'''"]);
    folder.tamis(&["run", "--", "./no-such-program"], b"").refused(127, &["not found\n"]);
}

#[test]
fn runs_are_logged_without_their_data() {
    let folder = Folder::new();
    folder
        .tamis(&["run", "--max-lines", "3", "--", "A=canary", "seq", "-s", "canary\n", "90"], b"");
    folder.tamis(&["run", "--", "sh", "-c", "echo canary; exit 4"], b"");
    folder.tamis(&["run", "--", "no-such-canary"], b"");
    let mut off = folder.any();
    off.args(["run", "true"]).env("TAMIS_LOG", "off");
    assert!(off.output().unwrap().status.success());
    let log = std::fs::read_to_string(folder.path(".state/calls.jsonl")).unwrap();
    assert!(!log.contains("canary"), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert_eq!((&lines[0]["tool"], &lines[0]["outcome"]), (&"seq".into(), &"filtered".into()));
    assert!(lines[0]["handle"].as_str().unwrap().starts_with("tm_"));
    assert_eq!((&lines[1]["tool"], &lines[1]["exit_code"]), (&"echo".into(), &4.into()));
    let table = folder.tamis(&["savings"], b"");
    assert_eq!(table.code, 0);
    assert!(table.out.starts_with("tool   calls  failed") && table.out.contains("\nseq "));
    // A log that cannot be written fails no run.
    std::fs::remove_file(folder.path(".state/calls.jsonl")).unwrap();
    std::fs::create_dir(folder.path(".state/calls.jsonl")).unwrap();
    folder.tamis(&["run", "echo", "1"], b"").done("1\n");
    folder.tamis(&["savings"], b"").refused(1, &["calls.jsonl"]);
}

#[test]
fn logs_are_summed_and_unreadable_lines_reported() {
    let folder = Folder::new();
    let line = r#"{"tool":"a\u001b[1m","outcome":"filtered","bytes_in":4000,"bytes_out":1000,"tokens_in":1000,"tokens_out":250}"#;
    folder.write("calls.jsonl", format!("{line}\nnot a record\n{line}\n"));
    let ran = folder.tamis(&["savings", "calls.jsonl"], b"");
    let row = "a\u{fffd}[1m      2       0    8,000  2,000           0          1,500    75%";
    assert!(ran.out.contains(row), "{}", ran.out);
    assert_eq!(ran.err, "tamis: skipped 1 line that is not the record of a call\n");
    assert!(folder.tamis(&["savings", "-"], line.as_bytes()).out.contains("750    75%"));
    folder.tamis(&["savings", "missing"], b"").refused(1, &["missing: "]);
    assert!(folder.tamis(&["savings"], b"").out.contains("total      0"));
}
