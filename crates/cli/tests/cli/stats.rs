//! `--stats`: one line of figures.

use super::*;

#[track_caller]
fn reports(args: &[&str], input: &str, code: i32, line: &str) {
    let args: Vec<&str> = args.iter().chain(&["--stats"]).copied().collect();
    let ran = piped(&args, input);
    assert_eq!((ran.code, ran.err.lines().last()), (code, Some(line)), "{}", ran.err);
}

#[test]
fn bytes_and_items() {
    let input = "[{\"id\":1,\"x\":2},{\"id\":3}]\n";
    reports(&[], input, 0, "tamis: 25 bytes (14 tokens) in, 25 (14) out, 0.0 % saved");
    reports(
        &["--select", "id"],
        input,
        0,
        "tamis: 25 bytes (14 tokens) in, 19 (10) out, 24.0 % saved; 2 of 2 items",
    );
    reports(
        &["--max-items", "1"],
        input,
        0,
        "tamis: 25 bytes (14 tokens) in, 16 (10) out, 36.0 % saved; 1 of 2 items",
    );
    let early = ["--max-items", "1", "--stop-early"];
    reports(
        &early,
        "[1,2,3]",
        0,
        "tamis: 3 bytes (3 tokens) in, 3 (3) out, 0.0 % saved; 1 of at least 2 items",
    );
    reports(
        &["--select", "id"],
        "{\"id\":1,\"x\":2}",
        0,
        "tamis: 14 bytes (9 tokens) in, 8 (5) out, 42.8 % saved",
    );
    reports(&["--pretty"], "[ 1 ]", 0, "tamis: 5 bytes (4 tokens) in, 3 (3) out, 40.0 % saved");
    reports(&["--lenient"], "[1,/**/]", 0, "tamis: 8 bytes (5 tokens) in, 3 (3) out, 62.5 % saved");
}

#[test]
fn lines_are_summed() {
    let input = "[1,2]\n\n[3, 4]\n[5]\n";
    let line = "tamis: 14 bytes (14 tokens) in, 9 (9) out, 35.7 % saved; 3 of 5 items";
    reports(&["--ndjson", "--max-items", "1"], input, 0, line);
    let ran = piped(&["--ndjson", "--stats"], "[1]\n[\n");
    assert_eq!((ran.code, ran.err.lines().count()), (1, 2), "{}", ran.err);
    assert!(ran.err.contains("\ntamis: "), "{}", ran.err);
}

#[test]
fn a_run_that_failed_has_none() {
    for (args, input) in [(&["--stats"][..], "[oops"), (&["--stats", "--select", "a..b"], "[]")] {
        piped(args, input).one_line();
    }
}

#[test]
fn a_warning_comes_first() {
    let ran = piped(&["--select", "id", "--stats"], "[{\"x\":1}]");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].contains("warning") && lines[1].ends_with("; 1 of 1 item"), "{lines:?}");
}

/// The figures are those of the whole text, however long it is, and of what was consumed where more was read.
#[test]
fn tokens_are_those_of_the_text() {
    let folder = Folder::new();
    let tokens = |text: &str| tiktoken::get_encoding("o200k_base").unwrap().count(text);
    let text = format!("[{}1]", "{\"name\":\"it's a caf\u{e9}\", \"n\": 12345},\n ".repeat(20_000));
    folder.write("a.json", &text);
    let minified = folder.run(["a.json"]).out;
    let ran = folder.run(["a.json", "--stats", "--pretty"]);
    let figures = |err: &str| -> Vec<usize> {
        let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>();
        err.split(' ').filter_map(|word| digits(word).parse().ok()).collect()
    };
    let expected = [text.len(), tokens(&text), minified.len() - 1, tokens(minified.trim_end())];
    assert_eq!(figures(&ran.err)[..4], expected, "{}", ran.err);
    assert!(!ran.err.contains('~'), "{}", ran.err);
    let ran = folder.run(["a.json", "--stats", "--max-items", "1", "--stop-early"]);
    let consumed = &text[..figures(&ran.err)[0]];
    assert!(consumed.len() < 100, "{}", ran.err);
    assert_eq!(figures(&ran.err)[1], tokens(consumed), "{}", ran.err);
    // One word of 100,000 letters has to be counted in pieces, so the count is not exact.
    let ran = folder.pipe(["--stats"], format!("\"{}\"", "x".repeat(100_000)).as_bytes());
    assert!(ran.err.contains(" bytes (~") && ran.err.contains(" (~"), "{}", ran.err);
}

#[test]
fn every_command_counts_them() {
    let folder = Folder::new();
    let text = "one two three\n";
    for args in [
        &["content", "--stats"][..],
        &["text", "--command", "cat", "--stats"],
        &["filter", "--stats"],
        &["prune", "--stats"],
    ] {
        let input = match args[0] {
            "content" | "text" => text,
            _ => "[{\"role\":\"user\"}]\n",
        };
        let ran = folder.tamis(args, input.as_bytes());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        let trimmed = if args[0] == "text" { input } else { input.trim_end() };
        let tokens = tiktoken::get_encoding("o200k_base").unwrap().count(trimmed);
        let said = format!("({tokens} tokens) in, ");
        assert!(ran.err.contains(&said), "{args:?}: {} has no {said}", ran.err);
    }
    #[cfg(unix)]
    {
        let ran = folder.tamis(&["run", "--stats", "--", "echo", "one", "two"], b"");
        assert_eq!(ran.err, "tamis: no filter: 8 bytes (3 tokens) in, 8 (3) out, 0.0 % saved\n");
    }
}
