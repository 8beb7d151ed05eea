//! `--stats`: one line of figures.

use super::*;

#[track_caller]
fn told(args: &[&str], input: &str, code: i32, line: &str) {
    let args: Vec<&str> = args.iter().chain(&["--stats"]).copied().collect();
    let ran = piped(&args, input);
    assert_eq!((ran.code, ran.err.lines().last()), (code, Some(line)), "{}", ran.err);
}

#[test]
fn bytes_and_items() {
    let input = "[{\"id\":1,\"x\":2},{\"id\":3}]\n";
    told(&[], input, 0, "tamis: 25 bytes in, 25 out, 0.0 % saved");
    told(&["--select", "id"], input, 0, "tamis: 25 bytes in, 19 out, 24.0 % saved; 2 of 2 items");
    told(&["--max-items", "1"], input, 0, "tamis: 25 bytes in, 16 out, 36.0 % saved; 1 of 2 items");
    let early = ["--max-items", "1", "--stop-early"];
    told(&early, "[1,2,3]", 0, "tamis: 3 bytes in, 3 out, 0.0 % saved; 1 of at least 2 items");
    told(&["--select", "id"], "{\"id\":1,\"x\":2}", 0, "tamis: 14 bytes in, 8 out, 42.8 % saved");
    told(&["--pretty"], "[ 1 ]", 0, "tamis: 5 bytes in, 3 out, 40.0 % saved");
    told(&["--lenient"], "[1,/**/]", 0, "tamis: 3 bytes in, 3 out, 0.0 % saved");
}

#[test]
fn lines_are_summed() {
    let input = "[1,2]\n\n[3, 4]\n[5]\n";
    let line = "tamis: 14 bytes in, 9 out, 35.7 % saved; 3 of 5 items";
    told(&["--ndjson", "--max-items", "1"], input, 0, line);
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
