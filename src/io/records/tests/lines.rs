//! Newline-delimited JSON.

use std::io::Read;

use super::{Outcome, Pieces, invariant};
use crate::report::PayloadPath;
use crate::spec::{Budget, Encode, ItemCondition, Omitted, OnError, ValueTest};
use crate::{BadLines, CallOptions, ErrorKind, FailedRun, Limits, Program, Spec, filter_ndjson};

fn run(program: &Program, options: &CallOptions, reader: impl Read) -> Outcome {
    let (mut output, mut bad) = (Vec::new(), Vec::new());
    let (report, result) = FailedRun::split(filter_ndjson(
        program.with_options(options),
        reader,
        &mut output,
        |line, error| {
            bad.push((line, error.to_string()));
        },
    ));
    (output, bad, invariant(report), result.err().map(|error| error.to_string()))
}

fn select_id() -> Program {
    Program::compile(&Spec::new().select("id").root("object")).unwrap()
}

const LINES: &[u8] =
    b"{\"id\":1,\"x\":2}\n\n \t\r\n{\"id\":2}\r\n{\"id\":,}\n{\"x\":0}\n[1] 2\n{\"id\": [3, 4]}";

#[test]
fn the_same_at_every_split() {
    let program = select_id();
    let options = CallOptions::new();
    let whole = run(&program, &options, LINES);
    assert_eq!(
        String::from_utf8_lossy(&whole.0),
        "{\"id\":1}\n{\"id\":2}\n{\"x\":0}\n{\"id\":[3,4]}\n"
    );
    let lines: Vec<u64> = whole.1.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [5, 7]);
    assert!(whole.1[0].1.starts_with("byte 36 at /id: "), "{:?}", whole.1);
    assert!(whole.3.as_ref().is_some_and(|error| error.starts_with("byte 36 at /id: line 5: ")));
    assert!(whole.2.fallback.as_ref().is_some_and(|why| why.starts_with("line 6: ")));
    for cut in 0..LINES.len() {
        let reader = Pieces::new(LINES, &[cut, LINES.len()]);
        assert_eq!(run(&program, &options, reader), whole, "cut at {cut}");
    }
    for size in [1, 2, 3, 7] {
        let reader = Pieces::new(LINES, &[size]);
        assert_eq!(run(&program, &options, reader), whole, "pieces of {size}");
    }
}

#[test]
fn the_report_sums() {
    let spec = Spec::new().select("id").max_items(1);
    let program = Program::compile(&spec).unwrap();
    let input = b"[{\"id\":1},{\"id\":2}]\n[{\"id\":3}]\n[{\"id\":4},{\"id\":5},{\"id\":6}]\n";
    let (output, bad, report, error) = run(&program, &CallOptions::new(), &input[..]);
    assert_eq!(output, b"[{\"id\":1}]\n[{\"id\":3}]\n[{\"id\":4}]\n");
    assert_eq!((bad.len(), error), (0, None));
    assert_eq!((report.items_seen, report.items_kept), (Some(6), Some(3)));
    assert_eq!(report.items_truncated_from, Some(6));
    assert_eq!(report.original_bytes, input.len() as u64 - 3);
    assert_eq!(report.result_bytes, 30);
    assert_eq!(report.root, Some(PayloadPath::default()));
    assert!(report.applied);
}

#[test]
fn the_report_sums_over_budgets() {
    let program = Program::compile(&Spec::new()).unwrap();
    let input = b"[1,2,3]\n[1]\n[12345,67890]\n";
    for (budget, bytes, tokens) in [
        (Budget::Bytes(5), (Some(5), Some(20), Some(7)), (None, None, None)),
        // If tokens are counted, even `[1]` has more than one.
        (Budget::Tokens(1), (None, Some(23), Some(6)), (Some(1), None, Some(3))),
    ] {
        let options = CallOptions::new()
            .with_token_counter(tamis_tokens::o200k_base())
            .with_budget(budget)
            .with_min_items(0)
            .with_omitted(Omitted::Silent);
        let (_, bad, report, error) = run(&program, &options, &input[..]);
        assert_eq!((bad.len(), error), (0, None));
        assert!(report.budget_applied);
        let said = (report.budget_limit, report.budget_original_bytes, report.budget_result_bytes);
        assert_eq!(said, bytes, "of the lines that were cut");
        let said = (report.tokens_limit, report.tokens_original, report.tokens_result);
        assert_eq!(said, tokens);
        assert!(!report.tokens_estimated);
    }
}

#[test]
fn the_report_says_that_tokens_were_estimated() {
    let program = Program::compile(&Spec::new()).unwrap();
    let options = CallOptions::new()
        .with_budget(Budget::Tokens(1))
        .with_min_items(0)
        .with_omitted(Omitted::Silent);
    let (_, _, report, error) = run(&program, &options, &b"[1,2,3]\n[1]\n[12345,67890]\n"[..]);
    assert!(error.is_none() && report.budget_applied && report.tokens_estimated);
    let said = (report.tokens_limit, report.tokens_original, report.tokens_result);
    assert_eq!(said, (Some(1), Some(6), Some(2)));
}

#[cfg(feature = "template")]
#[test]
fn the_report_tells_the_first_template_that_failed() {
    let spec = Spec::new().compact(crate::spec::Compact::new("{{index .id 0}}"));
    let program = Program::compile(&spec).unwrap();
    let input = b"[{\"id\":[1]}]\n[{\"id\":1}]\n[{\"id\":2}]\n";
    let (output, _, report, error) = run(&program, &CallOptions::new(), &input[..]);
    assert_eq!(error, None);
    assert!(output.ends_with(b"[{\"id\":1}]\n[{\"id\":2}]\n"));
    let why = report.compact_error.unwrap();
    assert!(why.starts_with("line 2: item:1:") && why.ends_with("(and 1 more line)"), "{why}");
}

#[test]
fn lines_that_are_not_json_may_be_skipped_or_passed() {
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    let input = b"{\"id\":1,\"x\":2}\r\n  at main.rs:7\r\n\n{\"id\":\n\xff\n{\"id\":3}\noops";
    for (treatment, expected) in [
        (BadLines::Skip, &b"{\"id\":1}\n{\"id\":3}\n"[..]),
        (BadLines::Pass, b"{\"id\":1}\n  at main.rs:7\r\n{\"id\":\n\xff\n{\"id\":3}\noops\n"),
    ] {
        let options = CallOptions::new().with_bad_lines(treatment);
        let whole = run(&program, &options, &input[..]);
        assert_eq!(whole.0, expected, "{treatment:?}");
        let numbers: Vec<u64> = whole.1.iter().map(|(number, _)| *number).collect();
        assert_eq!((numbers, &whole.3), (vec![2, 4, 5, 7], &None));
        assert!(whole.2.error.is_none());
        for size in 1..input.len() {
            let pieces = Pieces::new(input, &[size]);
            assert_eq!(run(&program, &options, pieces), whole, "pieces of {size}");
        }
    }
}

#[test]
fn only_lines_that_are_not_json_pass() {
    // A failed line, and one that is too long to be held.
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    let limits = Limits::new().with_depth(2).with_held(8).with_spill(0);
    let options = CallOptions::new().with_bad_lines(BadLines::Pass).with_limits(limits);
    let input = b"[[[1]]]\noops\noops, which is long\n{\"id\":1}\n";
    let (output, bad, report, error) = run(&program, &options, &input[..]);
    assert_eq!(String::from_utf8_lossy(&output), "oops\n{\"id\":1}\n");
    let numbers: Vec<u64> = bad.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 2, 3, 3]);
    assert!(error.is_some() && report.error.is_some());
    // A rule that removes for safety sees JSON only.
    for spec in [Spec::new().exclude("ssn"), Spec::new().select("id").on_error(OnError::Closed)] {
        let program = Program::compile(&spec).unwrap();
        let (output, _, _, error) = run(&program, &options, &input[..]);
        assert!(output.is_empty());
        assert!(error.unwrap().starts_with("bad lines cannot pass"));
    }
}

/// The object is below the root of each document, so the stage stops inside the document.
#[test]
fn where_drops_lines_by_an_object_at_a_path() {
    let condition = ItemCondition::new("x", ValueTest::new().equals(1));
    let input = b"{\"a\":{\"x\":1},\"n\":1}\n{\"n\":2,\"a\":{\"y\":{\"x\":1}}}\n{\"d\":0,\"a\":{\"y\":2,\"x\":1}}\n";
    let expected = "{\"a\":{\"x\":1},\"n\":1}\n{\"d\":0,\"a\":{\"y\":2,\"x\":1}}\n";
    for spec in [Spec::new(), Spec::new().on_error(OnError::Closed)] {
        let program = Program::compile(&spec.root("a").keep_where(condition.clone())).unwrap();
        let options = CallOptions::new();
        let whole = run(&program, &options, &input[..]);
        assert_eq!(String::from_utf8_lossy(&whole.0), expected);
        assert_eq!((whole.3.as_ref(), whole.2.duplicates_dropped), (None, 0));
        for size in 1..input.len() {
            let pieces = Pieces::new(input, &[size]);
            assert_eq!(run(&program, &options, pieces), whole, "pieces of {size}");
        }
    }
}

#[test]
fn where_drops_lines() {
    let open = ItemCondition::new("state", ValueTest::new().equals("open"));
    let spec = Spec::new().keep_where(open).select("id").select("n");
    let program = Program::compile(&spec).unwrap();
    let input = b"{\"id\":1,\"state\":\"open\"}\n{\"id\":2,\"long\":{\"a\":1},\"state\":\"closed\"}\n{\"id\":3}\n\
        [{\"id\":4,\"state\":\"closed\"},{\"id\":5,\"state\":\"open\"}]\n7\n{\"state\":\"open\",\"n\":6}\n";
    let expected = "{\"id\":1}\n[{\"id\":5}]\n7\n{\"n\":6}\n";
    let options = CallOptions::new();
    let whole = run(&program, &options, &input[..]);
    assert_eq!(String::from_utf8_lossy(&whole.0), expected);
    assert_eq!((whole.1.len(), whole.2.where_dropped), (0, 3));
    assert!(whole.2.applied && whole.2.fallback.is_none());
    for size in 1..input.len() {
        assert_eq!(run(&program, &options, Pieces::new(input, &[size])), whole, "pieces of {size}");
    }
    // Documents that are dropped do not count.
    let two = CallOptions::new().with_max_documents(2);
    assert_eq!(run(&program, &two, &input[..]).0, b"{\"id\":1}\n[{\"id\":5}]\n");
    // A single document is not tested.
    let (output, _) = crate::filter_slice(&program, b"{\"id\":2,\"state\":\"closed\"}").unwrap();
    assert_eq!(output, b"{\"id\":2}");
}

#[test]
fn lines_are_json() {
    let program = Program::compile(&Spec::new().encode(Encode::Toon)).unwrap();
    let (output, _, _, error) = run(&program, &CallOptions::new(), &b"{}\n"[..]);
    assert!(output.is_empty());
    assert!(error.unwrap().starts_with("`encode` is for single documents"));
}

#[test]
fn stop_early_skips_the_rest_of_the_line() {
    let spec = Spec::new().max_items(1).stop_early(true);
    let program = Program::compile(&spec).unwrap();
    let input = b"[1,2,oops\n[3]\n";
    let (output, bad, report, error) = run(&program, &CallOptions::new(), &input[..]);
    assert_eq!(output, b"[1]\n[3]\n");
    assert_eq!((bad.len(), error), (0, None));
    assert!(report.tail_unread);
    assert_eq!(report.items_at_least, Some(3), "at least two and one");
    assert_eq!(report.items_truncated_from, None);
}

#[test]
fn no_lines_are_no_error() {
    for input in [&b""[..], b"\n", b"  \n\r\n\t"] {
        let (output, bad, report, error) = run(&select_id(), &CallOptions::new(), input);
        assert_eq!((output, bad, error), (Vec::new(), Vec::new(), None));
        assert_eq!((report.original_bytes, report.result_bytes), (0, 0));
    }
}

#[test]
fn a_line_waits_in_memory_then_in_a_file_then_not_at_all() {
    let program = Program::compile(&Spec::new()).unwrap();
    let long = format!("[{}1]\n", "1,".repeat(50));
    let input = format!("{long}[2]\n{long}");
    let limits = |held, spill| {
        CallOptions::new().with_limits(Limits::new().with_held(held).with_spill(spill))
    };
    for (held, spill) in [(103, 0), (10, 93), (0, 103)] {
        let (output, bad, ..) = run(&program, &limits(held, spill), input.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output), input, "held {held}, spill {spill}");
        assert_eq!(bad, []);
    }
    for (held, spill) in [(102, 0), (10, 92), (3, 99)] {
        let options = limits(held, spill);
        let whole = run(&program, &options, input.as_bytes());
        assert_eq!(whole.0, b"[2]\n", "held {held}, spill {spill}");
        let told = "buffer limit of 102 bytes exceeded (limits `held` and `spill`)";
        assert_eq!(
            whole.1,
            [(1, format!("byte 0: {told}")), (3, format!("byte {}: {told}", long.len() + 4))]
        );
        for size in [1, 5, 64] {
            assert_eq!(run(&program, &options, Pieces::new(input.as_bytes(), &[size])), whole);
        }
    }
}

#[test]
fn errors_of_reader_and_writer_end_the_run() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let program = select_id();
    let options = CallOptions::new();
    let reader = (&b"{\"id\":1}\n{\"id\":"[..]).chain(Broken);
    let (output, bad, report, error) = run(&program, &options, reader);
    assert_eq!(output, b"{\"id\":1}\n");
    assert_eq!(bad, []);
    assert!(error.is_some_and(|error| error.starts_with("cannot read the input")));
    assert_eq!(report.error.map(|error| error.kind), Some(ErrorKind::Read));

    let mut full = [0; 4];
    let (_, result) = FailedRun::split(filter_ndjson(
        program.with_options(&options),
        LINES,
        &mut full[..],
        |_, _| {},
    ));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Write);
}

/// The text of a page has any number of lines.
#[cfg(feature = "content")]
#[test]
fn lines_refuse_filters_whose_output_is_text() {
    struct Unread;
    impl Read for Unread {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("it is read")
        }
    }
    let program = Program::compile(&Spec::new().content(crate::content::Content::new())).unwrap();
    let mut output = Vec::new();
    let (report, result) =
        FailedRun::split(filter_ndjson(&program, Unread, &mut output, |_, _| {}));
    let error = result.unwrap_err();
    assert_eq!((error.kind(), output.len()), (ErrorKind::Spec, 0));
    assert_eq!(report.error.map(|told| told.message).as_deref(), Some(error.message()));
    assert!(!report.applied);
}

/// A path that is selected under two keys is missed once per line.
#[test]
fn a_path_that_is_selected_twice_is_missed_once() {
    let spec = Spec::new().select("id").select_as("a", "name").select_as("b", "name");
    let program = Program::compile(&spec).unwrap();
    let missed = |lines: &str| {
        let (.., report, _) = run(&program, &CallOptions::new(), lines.as_bytes());
        report.missed.into_iter().map(|missed| missed.path).collect::<Vec<_>>()
    };
    assert_eq!(missed("{\"id\":1,\"name\":1}\n{\"id\":2}\n"), [""; 0]);
    assert_eq!(missed("{\"id\":1}\n{\"id\":2}\n"), ["name"]);
    assert_eq!(missed("{\"id\":1}\n"), ["name"]);
}

/// A line's own miss is in the report; a warning is for paths that no line has.
#[test]
fn missed_paths_are_those_that_no_line_has() {
    let spec = Spec::new().select("id").select("name").select("nmae");
    let program = Program::compile(&spec).unwrap();
    let options = CallOptions::new().with_suggestions(true);
    let lines = b"{\"id\":1,\"name\":2}\n[]\n{\"id\":3}\n{\"x\":0}\n{\"id\":tru}\n";
    let (.., report, error) = run(&program, &options, &lines[..]);
    assert!(error.is_some());
    assert_eq!(report.partial_miss, ["nmae", "name"]);
    assert_eq!(report.missed.len(), 1);
    assert_eq!(report.missed[0].path, "nmae");
    assert_eq!(report.missed[0].meant.as_deref(), Some("name"));
    for size in [1, 2, 3, 7, 20] {
        let (.., cut, _) = run(&program, &options, Pieces::new(lines, &[size]));
        assert_eq!(cut, report, "pieces of {size}");
    }
}
