//! `tamis prune` as a process: outputs and exit codes. The rules are tested in `tests/cases/history`.

use super::*;

const HISTORY: &str = r#"[ {"role":"tool","content":"500 lines","metadata":{"toolName":"read"}},
  {"role":"user"}, {"role":"user"} ]
"#;
const PRUNED: &str = r#"[ {"role":"tool","content":"<tool-output-compacted />","metadata":{"toolName":"read","time":{"compacted":7}}},
  {"role":"user"}, {"role":"user"} ]
"#;

fn prune(folder: &Folder, args: &[&str], input: &str) -> Ran {
    let args: Vec<&str> = ["prune"].iter().chain(args).copied().collect();
    folder.tamis(&args, input.as_bytes())
}

#[test]
fn files_and_pipes() {
    let folder = Folder::new();
    folder.write("a.json", HISTORY);
    prune(&folder, &["a.json", "--now", "7"], "").done(PRUNED);
    prune(&folder, &["--now", "7"], HISTORY).done(PRUNED);
    prune(&folder, &["-", "--now=7"], HISTORY).done(PRUNED);
    prune(&folder, &["--now", "7", "--held", "1", "--spill", "1k", "a.json"], "")
        .refused(1, &["a.json: byte ", "buffer limit of 1 bytes exceeded (raise it with --held)"]);
    // Without --now it is the clock that says when.
    let out = prune(&folder, &["a.json"], "").out;
    let now = out.split("\"compacted\":").nth(1).unwrap().split('}').next().unwrap();
    assert!(now.parse::<u64>().unwrap() > 1_700_000_000_000);
    prune(&folder, &["--now", now, "a.json"], "").done(&out);
}

#[test]
fn nothing_recognised_is_said() {
    let folder = Folder::new();
    for (input, words) in [
        ("[{\"role\":\"user\",\"content\":\"a\"}]", "no tool result was recognised in 1 message"),
        ("{\"items\":[]}", "no chat: expected an array of messages"),
    ] {
        let ran = prune(&folder, &[], input);
        assert_eq!((ran.code, ran.out.as_str()), (0, input));
        ran.one_line();
        assert!(ran.err.contains(words), "{}", ran.err);
        if words.starts_with("no chat") {
            let looked = folder.tamis(&["look", "--chat"], input.as_bytes());
            assert!(looked.code == 0 && looked.err.contains(words), "{}", looked.err);
        }
    }
    // A chat without messages is one.
    for input in ["[]", "{\"messages\":[]}"] {
        prune(&folder, &[], input).done(input);
    }
    // The advice names only what the command has.
    for args in [&["prune"][..], &["look", "--chat"]] {
        let ran =
            folder.tamis(args, b"{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\"}\n");
        assert!(ran.code == 1 && ran.err.contains("jq -s . FILE"), "{}", ran.err);
        assert!(!ran.err.contains("--ndjson") && !ran.err.contains("--docs"), "{}", ran.err);
    }
}

#[test]
fn a_history_may_be_replaced() {
    let folder = Folder::new();
    folder.write("a.json", HISTORY);
    prune(&folder, &["a.json", "-o", "a.json", "--now", "7"], "").done("");
    assert_eq!(folder.read("a.json"), PRUNED);
    prune(&folder, &["a.json", "-o", "b.json"], "").done("");
    assert_eq!(folder.read("b.json"), PRUNED, "a second run changes nothing");
    folder.write("bad.json", "[{\"role\":\"user\"},");
    let ran = prune(&folder, &["bad.json", "-o", "a.json", "--report", "r.json"], "");
    ran.refused(1, &["tamis: bad.json: byte 17", "the document ends too early"]);
    ran.one_line();
    assert_eq!(folder.read("a.json"), PRUNED, "a run that fails leaves the file alone");
    let report: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(report["error"]["kind"], "unexpected_end");
    assert_eq!(folder.names(), ["a.json", "b.json", "bad.json", "r.json"]);
}

#[test]
fn a_failed_run_writes_nothing() {
    let folder = Folder::new();
    let broken = HISTORY.replace(" ]", ", oops]");
    for input in [broken.as_str(), "", "[] []"] {
        prune(&folder, &[], input).refused(1, &["tamis: standard input: byte "]);
        folder.write("a.json", input);
        prune(&folder, &["a.json"], "").refused(1, &["tamis: a.json: byte "]);
    }
    prune(&folder, &["nothing.json"], "").refused(1, &["tamis: nothing.json: cannot read"]);
    prune(&folder, &["a.json", "-o", "no/b.json"], "")
        .refused(1, &["tamis: no/b.json: cannot write"]);
}

#[test]
fn errors_of_the_command_line() {
    let folder = Folder::new();
    folder.write("a.json", HISTORY);
    for (args, words) in [
        (
            &["--placeholder", "{name}"][..],
            &["placeholder: unknown field, expected", "character 2"][..],
        ),
        (&["--keep-turns", "-1"], &["expected a whole number"]),
        (&["--keep-head", "100000"], &["keep_head: 100000 characters, more than 65536"]),
        (&["a.json", "--report", "a.json"], &["--report and the input are the same file"]),
        (
            &["a.json", "-o", "b.json", "--report", "b.json"],
            &["--report and the output are the same file"],
        ),
        (&["--protcet", "a"], &["unexpected argument"]),
    ] {
        let ran = prune(&folder, args, HISTORY);
        ran.refused(2, words);
        assert_eq!(folder.read("a.json"), HISTORY);
    }
}

#[test]
fn every_flag_does_something() {
    let folder = Folder::new();
    let long = HISTORY.replace("500 lines", "0123456789012345678901234567890123456789");
    folder.write("a.json", &long);
    let of = |args: &[&str]| {
        let ran = prune(&folder, &[&["a.json", "--now", "7"], args].concat(), "");
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        let content = ran.out.split("\"content\":\"").nth(1).unwrap_or_default();
        content.split('"').next().unwrap().to_owned()
    };
    let whole = "0123456789012345678901234567890123456789";
    for (args, content) in [
        (&["--keep-turns", "3"][..], whole),
        (&["--keep-turns", "1"], "<tool-output-compacted />"),
        (&["--protect", "r*d"], whole),
        (&["--protect", "write", "--protect", "read"], whole),
        (&["--no-default-protect"], "<tool-output-compacted />"),
        (&["--placeholder", "[{tool}]"], "[read]"),
        (&["--keep-head", "3", "--placeholder", "…"], "012…"),
        (&["--keep-tail", "3", "--placeholder", "-"], "-789"),
        (&["--protect-tokens", "10"], whole),
        (&["--protect-tokens", "9"], "<tool-output-compacted />"),
        (&["--minimum-tokens", "10"], whole),
        (&["--minimum-tokens", "9"], "<tool-output-compacted />"),
        (&["--count-tokens", "--placeholder", "{tokens} gone"], "14 gone"),
        (&["--stop-at-summary"], "<tool-output-compacted />"),
        (&["--min-gain", "100"], whole),
        (&["--only-shorter"], "<tool-output-compacted />"),
        (
            &[
                "--only-shorter",
                "--placeholder",
                "a placeholder that is longer than what it replaces",
            ],
            whole,
        ),
        (&["--max-depth", "3"], "<tool-output-compacted />"),
        (&["--held", "1k"], "<tool-output-compacted />"),
        (&["--spill", "0"], "<tool-output-compacted />"),
        (&["--report", "r.json"], "<tool-output-compacted />"),
        (&["-o", "b.json"], ""),
        (&["--color", "never"], "<tool-output-compacted />"),
    ] {
        assert_eq!(of(args), content, "{args:?}");
    }
    let ran = prune(&folder, &["a.json", "--now", "7", "--stats"], "");
    assert_eq!(
        ran.err,
        "tamis: 140 bytes (42 tokens) in, 148 (41) out, 0.0 % saved; 1 of 1 results pruned; unchanged up to byte 28\n"
    );
    let help = folder.tamis(&["prune", "-h"], b"").out;
    for line in help.lines().filter(|line| line.trim_start().starts_with("--")) {
        let flag = line.split_whitespace().next().unwrap().trim_end_matches(',');
        let source = include_str!("prune.rs");
        assert!(source.contains(&format!("\"{flag}\"")) || flag == "--help", "{flag} is run");
    }
}
