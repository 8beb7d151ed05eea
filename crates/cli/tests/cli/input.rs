//! Where documents come from: files, pipes, lines, comments; and what is said of bad ones.

use super::*;

#[test]
fn errors_name_the_file_the_byte_and_the_path() {
    let folder = Folder::new();
    folder.write("a.json", "{\"items\": [1, {\"body\": tru}]}");
    let ran = folder.run(["a.json"]);
    assert_eq!(ran.code, 1);
    ran.one_line();
    assert!(ran.err.starts_with("tamis: a.json: byte 26 at /items/1/body: "), "{}", ran.err);
    let ran = folder.pipe(NO_ARGS, b"[1");
    assert_eq!((ran.code, ran.out.as_str()), (1, "[1"), "what was written stays as it is");
    assert!(ran.err.starts_with("tamis: standard input: byte 2"), "{}", ran.err);
    folder.run(NO_ARGS).refused(1, &["tamis: standard input: "]);
}

#[test]
fn a_missing_file_and_a_folder() {
    let folder = Folder::new();
    let ran = folder.run(["nothing.json"]);
    ran.refused(1, &["tamis: nothing.json: cannot read the input: "]);
    ran.one_line();
    folder.run(["."]).refused(1, &["tamis: .: "]);
}

#[test]
fn standard_input_may_be_a_file() {
    let folder = Folder::new();
    // Longer than what may be held, and decided at the end only: a file is read twice, a pipe is not.
    let data = format!("{{\"pad\":\"{}\",\"data\":[{{\"id\":1,\"x\":2}}]}}", "x".repeat(200_000));
    folder.write("a.json", &data);
    let expected = data.replace(",\"x\":2", "") + "\n";
    let args = ["--select", "id", "--held", "1k", "--spill", "0"];
    folder.run(args.iter().chain(&["a.json"])).done(&expected);
    let file = File::open(folder.path("a.json")).unwrap();
    let output = folder.command().args(args).stdin(file).output().unwrap();
    Ran::new(&output).done(&expected);
    folder.pipe(args, data.as_bytes()).refused(1, &["held"]);
    folder.pipe(["--select", "id"], data.as_bytes()).done(&expected);
}

#[test]
fn standard_input_begins_where_it_is() {
    let folder = Folder::new();
    folder.write("a.json", "skip{\"data\":[{\"id\":1,\"x\":2}]}");
    let mut file = File::open(folder.path("a.json")).unwrap();
    file.read_exact(&mut [0; 4]).unwrap();
    let output = folder.command().args(["--select", "id"]).stdin(file).output().unwrap();
    Ran::new(&output).done("{\"data\":[{\"id\":1}]}\n");
}

#[cfg(target_os = "linux")]
#[test]
fn names_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"a\xff\n.json");
    folder.write(name, "[1]");
    folder.run([name]).done("[1]\n");
    let out = OsStr::from_bytes(b"out\xfe");
    folder.run([name, OsStr::new("-o"), out]).done("");
    assert_eq!(folder.read(out), "[1]\n");
    folder.write(name, "[");
    let ran = folder.run([name]);
    assert_eq!(ran.code, 1);
    ran.one_line();
    assert!(ran.err.contains("a\u{fffd}\\n.json: byte 1"), "{}", ran.err);
    let ran = folder.run([OsStr::new("--select"), out]);
    ran.refused(2, &["UTF-8"]);
}

#[test]
fn ndjson() {
    let input = "{\"id\":1,\"x\":1}\n{\"id\":\n\n{\"id\":2}\r\n[tru]\n{\"id\":3}";
    let ran = piped(&["--ndjson", "--select", "id", "--root", "object"], input);
    assert_eq!((ran.code, ran.out.as_str()), (1, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"));
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert!(lines[0].starts_with("tamis: standard input: line 2: byte 21 at /id: "), "{lines:?}");
    assert!(lines[1].starts_with("tamis: standard input: line 5: byte 37 at /0: "), "{lines:?}");
}

#[test]
fn ndjson_of_nothing_is_nothing() {
    piped(&["--ndjson"], "").done("");
    piped(&["--ndjson"], "\n \n").done("");
}

#[test]
fn ndjson_misses_are_per_line() {
    let input = "[{\"id\":1}]\n[{\"x\":1}]\n[{\"x\":2}]\n";
    let ran = piped(&["--ndjson", "--select", "id"], input);
    assert_eq!((ran.code, ran.out.as_str()), (0, input));
    ran.one_line();
    assert!(ran.err.contains("warning: ") && ran.err.contains("line 2: "), "{}", ran.err);
    let ran = piped(&["--ndjson", "--select", "id", "--on-error", "closed"], input);
    assert_eq!((ran.code, ran.out.as_str()), (1, "[{\"id\":1}]\n"));
    assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
}

#[test]
fn documents_follow_each_other() {
    let input = "{\n \"id\": 1,\n \"x\": \"}\"\n}\n{\"id\":2}{\"id\":oops}\n\n[{\"id\":3}]\"a\"4 nul {\"id\":5}";
    let ran = piped(&["--docs", "--select", "id"], input);
    let out = "{\"id\":1}\n{\"id\":2}\n[{\"id\":3}]\n\"a\"\n4\n{\"id\":5}\n";
    assert_eq!((ran.code, ran.out.as_str()), (1, out));
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert!(
        lines[0].starts_with("tamis: standard input: document 3: byte 38 at /id: "),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("tamis: standard input: document 7: byte 63: "), "{lines:?}");
    let ran = piped(&["--docs"], "{\"a\":1}{\"a\":");
    assert_eq!((ran.code, ran.out.as_str()), (1, "{\"a\":1}\n"), "a cut document emits nothing");
    assert!(ran.err.contains("document 2: byte 12 at /a: "), "{}", ran.err);
    for nothing in ["", " \n\t"] {
        piped(&["--docs"], nothing).done("");
    }
    let ran = piped(&["--docs", "--select", "id,x"], "{\"id\":1}\n{\"id\":2}");
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"id\":1}\n{\"id\":2}\n"));
    assert!(ran.err.ends_with("warning: no document has `x`\n"), "{}", ran.err);
}

#[test]
fn the_number_of_documents_is_limited() {
    let input = "[1]\n[\n[2]\n[3]\n";
    let ran = piped(&["--ndjson", "--max-docs", "2"], input);
    assert_eq!((ran.code, ran.out.as_str()), (1, "[1]\n[2]\n"), "bad lines do not count");
    ran.one_line();
    piped(&["--ndjson", "--max-docs", "1"], input).done("[1]\n");
    piped(&["--docs", "--max-docs", "2"], "[1][2]oops").done("[1]\n[2]\n");
    piped(&["--docs", "--max-docs", "0"], "[1][2]").done("[1]\n[2]\n");
    piped(&["--docs", "--max-docs", "9"], "[1][2]").done("[1]\n[2]\n");
}

#[test]
fn flags_for_many_documents_that_cannot_be_combined() {
    for (flags, printed) in [
        (&["--docs", "--ndjson"][..], "--docs and --ndjson: "),
        (&["--docs", "--pretty"], "--docs and --pretty: "),
        (&["--docs", "--lenient"], "--docs and --lenient: "),
        (&["--docs", "--whitespace", "keep"], "--docs and --whitespace keep: "),
        (&["--max-docs", "2"], "--max-docs needs --ndjson or --docs"),
        (&["--ndjson", "--max-docs", "x"], "--max-docs"),
    ] {
        piped(flags, "[1]").refused(2, &[printed]);
    }
}

#[test]
fn lenient() {
    let input = "// head\n{\"a\": [1.10, /* b */ 2,], \"c\": \"// no\",}\n";
    piped(&["--lenient"], input).done("{\"a\":[1.10,2],\"c\":\"// no\"}\n");
    piped(&["--lenient", "--exclude", "a", "--root", "object"], input).done("{\"c\":\"// no\"}\n");
    // Comments count with the bytes as they do with the tokens.
    let ran = piped(&["--lenient", "--stats"], input);
    let printed = "tamis: 48 bytes (25 tokens) in, ";
    assert!(ran.err.starts_with(printed), "{}", ran.err);
    let ran = piped(&[], input);
    assert_eq!(ran.code, 1, "only if asked for");
    let ran = piped(&["--lenient"], "[1,\n /* x");
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("tamis: standard input: line 2, column 6: "), "{}", ran.err);
    let ran = piped(&["--lenient", "--max-depth", "1"], "[/**/[1]]");
    assert!(ran.err.contains("(in the text without comments)"), "{}", ran.err);
}

#[test]
fn inputs_that_are_not_json_are_named() {
    for (input, words) in [
        (&b"\x28\xb5\x2f\xfd\x04\0"[..], "zstd -dc"),
        (b"\xff\xfe{\0\"\0", "iconv -f UTF-16"),
        (b"{\0\"\0a\0\"\0", "iconv -f UTF-16LE"),
        (b"data: {\"a\":1}\n\n", "--events"),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", "leave out -i"),
        (b")]}'\n{\"a\":1}", "tail -n +2"),
        (b"callback({\"a\":1})", "JSONP"),
        (b"<!doctype html>", "tamis content"),
        (b"{'a': 1}", "json.dumps"),
        (b"\x1e{}\n", "--docs"),
        (b"[NaN]", "`NaN`"),
        (b"[1,]", "--lenient"),
        (b"{\"a\":1,}", "--lenient"),
        (b"{\"a\":+1}", "`+`"),
        (b"{\"a\":True}", "lower case"),
        (b"id,name\n1,a\n", "CSV"),
        (b": ping\n\ndata: 1\n\n", "--events"),
    ] {
        for args in [&[][..], &["--ndjson"]] {
            let folder = Folder::new();
            let ran = folder.pipe(args, input);
            let text = String::from_utf8_lossy(input);
            assert_eq!(ran.code, 1, "{text}");
            assert!(ran.err.lines().next().unwrap().contains(words), "{text}: {}", ran.err);
        }
    }
    // A number that is not valid is not about the form of the input.
    piped(&[], "{\"a\":1.}").refused_after("{\"a\":1.", "invalid number");
}

#[test]
fn compressed_inputs_are_decoded() {
    let folder = Folder::new();
    let text = format!("{{\"pad\":\"{}\",\"data\":[{{\"id\":1,\"x\":2}}]}}", "x".repeat(200_000));
    let member = gzip(text.as_bytes());
    folder.write("a.json.gz", &member);
    let expected = text.replace(",\"x\":2", "") + "\n";
    folder.run(["--select", "id", "a.json.gz"]).done(&expected);
    folder.pipe(["--select", "id"], &member).done(&expected);
    // The document is read several times.
    let ran = folder.run(["--select", "id", "--why=/data/0/x", "a.json.gz"]);
    assert_eq!((ran.code, ran.out), (0, expected));
    let cut = folder.pipe(["--select", "id"], &member[..member.len() - 20]);
    assert_eq!(cut.code, 1);
    assert!(
        cut.err.ends_with("cannot read the input: the gzip data ends too early\n"),
        "{}",
        cut.err
    );
    let looked = folder.tamis(&["look", "a.json.gz", "--json"], b"");
    assert_eq!(looked.code, 0, "{}", looked.err);
    folder.tamis(&["suggest", "a.json.gz"], b"").succeeded();
    let chat = r#"[{"role":"tool","tool_call_id":"c1","content":"500 lines"},{"role":"user"},{"role":"user"}]"#;
    folder.write("chat.json.gz", gzip(chat.as_bytes()));
    let pruned = chat.replace("500 lines", "<tool-output-compacted />");
    folder.tamis(&["prune", "chat.json.gz"], b"").done(&pruned);
    folder.tamis(&["prune"], &gzip(chat.as_bytes())).done(&pruned);
    // The output of a command is read as it is.
    let text = ["text", "--command", "make"];
    folder.tamis(&text, &gzip(b"one\n")).refused(1, &["compressed with gzip", "gzip -dc"]);
    folder.tamis(&text, b"\xff\xfea\0").refused(1, &["iconv -f UTF-16"]);
    folder.tamis(&text, b"\x1b[1mone\x1b[0m\n").done("one\n");
}

/// The hint for the whole input takes the place of the one for the character.
#[test]
fn an_input_that_is_recognised_has_one_hint() {
    for input in ["id: 7\ndata: {}\n", "/**/cb({\"a\":1})", "Infinity, x\n1, 2\n", "{'a': 1}"] {
        for command in ["filter", "prune"] {
            let ran = Folder::new().tamis(&[command], input.as_bytes());
            assert_eq!(ran.code, 1, "{input}");
            let first = ran.err.lines().next().unwrap();
            assert_eq!(first.matches(" (").count(), 1, "{input}: {}", ran.err);
            assert!(first.ends_with(')'), "{input}: {}", ran.err);
        }
    }
}

#[test]
fn bad_lines_are_counted_skipped_or_passed() {
    let input = "{\"id\":1,\"x\":2}\n  at main.rs:7\n{\"id\":\n{\"id\":2}\n";
    let ran = piped(&["--ndjson", "--select", "id", "--bad-lines", "skip"], input);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"id\":1}\n{\"id\":2}\n"));
    ran.one_line();
    assert!(
        ran.err.ends_with("2 lines are not JSON, the first of them line 2: skipped\n"),
        "{}",
        ran.err
    );
    let ran = piped(&["--ndjson", "--select", "id", "--bad-lines", "pass"], input);
    let passed = "{\"id\":1}\n  at main.rs:7\n{\"id\":\n{\"id\":2}\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, passed));
    piped(&["--ndjson", "--exclude", "x", "--bad-lines", "pass"], input)
        .refused(2, &["bad lines cannot pass", "removes for safety"]);
    piped(&["--bad-lines", "skip"], "[]").refused(2, &["--bad-lines needs --ndjson"]);
    // The first bad lines are reported one by one, the others as a number.
    let ran = piped(&["--ndjson"], &"oops\n".repeat(30));
    assert_eq!(ran.err.lines().count(), 21, "{}", ran.err);
    assert!(ran.err.ends_with("standard input: 10 more bad lines (--bad-lines skip leaves them out, pass keeps them)\n"), "{}", ran.err);
}

#[test]
fn items_of_lines_that_have_none_are_not_counted_silently() {
    let ran = piped(&["--ndjson", "--max-items", "1"], "{\"id\":1}\n{\"id\":2}\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"id\":1}\n{\"id\":2}\n"));
    ran.one_line();
    assert!(ran.err.contains("--max-items has no effect (--max-docs N stops after N lines)"));
    piped(&["--ndjson", "--max-items", "1"], "[1,2]\n[3]\n").done("[1]\n[3]\n");
}

#[test]
fn events_are_filtered() {
    let input = "id: 7\ndata: {\"id\":1,\"x\":2}\n\ndata: oops\n\ndata: [DONE]\n\n";
    let ran = piped(&["--events", "--select", "id"], input);
    assert_eq!((ran.code, ran.out.as_str()), (1, "id: 7\ndata: {\"id\":1}\n\ndata: [DONE]\n\n"));
    ran.one_line();
    assert!(ran.err.contains("event 2: byte 34: expected a value"), "{}", ran.err);
    piped(&["--events", "--ndjson"], "").refused(2, &["--events", "leave --ndjson"]);
}
