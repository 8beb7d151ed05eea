//! Documents that follow each other.

use std::io::Read;

use super::{Outcome, Pieces, invariant};
use crate::spec::{OnError, Redact, Validation};
use crate::{CallOptions, FailedRun, Limits, Program, Spec, filter_documents};

fn run(program: &Program, options: &CallOptions, reader: impl Read) -> Outcome {
    let (mut output, mut bad) = (Vec::new(), Vec::new());
    let (report, result) = FailedRun::split(filter_documents(
        program.with_options(options),
        reader,
        &mut output,
        |number, error| bad.push((number, error.to_string())),
    ));
    (output, bad, invariant(report), result.err().map(|error| error.to_string()))
}

const DOCUMENTS: &[u8] =
    b"\r\n{\"id\":1,\n\"x\":\"}\\\"]\"}{\"id\":2}[[{\"id\":[]}]] ]{\"id\":,}\"\\\\\"\"}\" 1\t-2.5null\"\" {\"id\":3";

#[test]
fn the_same_at_every_split() {
    let program = Program::compile(&Spec::new().select("id").root("object")).unwrap();
    let options = CallOptions::new();
    let whole = run(&program, &options, DOCUMENTS);
    assert_eq!(
        String::from_utf8_lossy(&whole.0),
        "{\"id\":1}\n{\"id\":2}\n[[{\"id\":[]}]]\n\"\\\\\"\n\"}\"\n1\n\"\"\n"
    );
    let bad: Vec<u64> = whole.1.iter().map(|(number, _)| *number).collect();
    assert_eq!(bad, [4, 5, 9, 11], "{:?}", whole.1);
    for (_, error) in &whole.1 {
        let offset: usize = error[5..].split([':', ' ']).next().unwrap().parse().unwrap();
        assert!(offset <= DOCUMENTS.len(), "{error}");
    }
    for cut in 0..DOCUMENTS.len() {
        let reader = Pieces::new(DOCUMENTS, &[cut, DOCUMENTS.len()]);
        assert_eq!(run(&program, &options, reader), whole, "cut at {cut}");
    }
    for size in [1, 2, 3, 7] {
        let reader = Pieces::new(DOCUMENTS, &[size]);
        assert_eq!(run(&program, &options, reader), whole, "pieces of {size}");
    }
}

/// The depth is only limited by that of the filter, and what is invalid is skipped to its last bracket.
#[test]
fn brackets_decide_where_a_document_ends() {
    let program = Program::compile(&Spec::new()).unwrap();
    let deep = format!("{}{}[1]", "[{".repeat(5000), "}]".repeat(5000));
    let (output, bad, ..) = run(&program, &CallOptions::new(), deep.as_bytes());
    assert_eq!((output.as_slice(), bad.len()), (&b"[1]\n"[..], 1));
    let (output, bad, ..) = run(&program, &CallOptions::new(), &b"[}{\"a\":1][2][3"[..]);
    assert_eq!((output.as_slice(), bad.len()), (&b"[2]\n"[..], 3));
}

#[test]
fn the_output_of_a_document_is_held_within_limits() {
    let program = Program::compile(&Spec::new()).unwrap();
    let options = CallOptions::new().with_limits(Limits::new().with_held(20).with_spill(0));
    let input = b"[1,2,3,4][1,2,3,4,5,6,7,8,9,10,11,12][5]";
    let (output, bad, report, error) = run(&program, &options, &input[..]);
    assert_eq!(output, b"[1,2,3,4]\n[5]\n");
    assert!(bad.len() == 1 && bad[0].0 == 2 && error.is_some(), "{bad:?}");
    assert!(report.held_peak_bytes <= 20 + 64, "{}", report.held_peak_bytes);
}

#[test]
fn reading_ends_after_the_last_document() {
    let program = Program::compile(&Spec::new()).unwrap();
    let options = CallOptions::new().with_max_documents(2);
    for size in [1, 4, 100] {
        let reader = Pieces::new(b"[1] oops [2] [3]", &[size]);
        let (output, bad, report, _) = run(&program, &options, reader);
        assert_eq!((output.as_slice(), bad.len()), (&b"[1]\n[2]\n"[..], 1), "pieces of {size}");
        assert!(report.tail_unread);
    }
}

/// Without a rule that removes for safety, the run goes on at the next line that begins with a bracket.
#[test]
fn the_run_goes_on_after_a_document_that_is_cut_off() {
    let program = Program::compile(&Spec::new().select("id").root("object")).unwrap();
    for (input, output) in [
        ("{\"x\":\"a\n{\"id\":1}\n{\"id\":2}", "{\"id\":1}\n{\"id\":2}\n"),
        ("{\"x\":\"a\\\n{\"id\":1}{\"id\":2}", "{\"id\":1}\n{\"id\":2}\n"),
        ("{\"x\":[1\n{\"id\":1}\n{\"id\":2}", "{\"id\":1}\n{\"id\":2}\n"),
        ("{\"x\":\n{\"id\":1}\n{\"id\":2}\n[3]", "{\"id\":2}\n[3]\n"),
        ("{\"x\":\"a\nsome text\n  {\"id\":0}\n{\"id\":2}", "{\"id\":2}\n"),
        ("{\"x\":\"a\n\x1e{\"id\":1}\n", "{\"id\":1}\n"),
        ("{\n \"x\": 1\n \"id\": 2\n}\n{\n \"id\": 3\n}\n", "{\"id\":3}\n"),
        // Lines inside of a document may begin with a bracket.
        ("[\n{\"id\":1},\n{\"id\":2}\n]{\"id\":3}", "[{\"id\":1},{\"id\":2}]\n{\"id\":3}\n"),
        ("[\n[1,\"]\"],\n{\"x\":,}", ""),
    ] {
        let whole = run(&program, &CallOptions::new(), input.as_bytes());
        assert_eq!(String::from_utf8_lossy(&whole.0), output, "{input}");
        let bad = usize::from(!input.starts_with("[\n{"));
        assert_eq!(whole.1.len(), bad, "{input}: {:?}", whole.1);
        for cut in 0..input.len() {
            let reader = Pieces::new(input.as_bytes(), &[cut, input.len()]);
            assert_eq!(run(&program, &CallOptions::new(), reader), whole, "{input} cut at {cut}");
        }
        let reader = Pieces::new(input.as_bytes(), &[1]);
        assert_eq!(run(&program, &CallOptions::new(), reader), whole, "{input} in bytes");
    }
}

#[test]
fn a_record_separator_before_a_document_is_white_space() {
    let program = Program::compile(&Spec::new().exclude("x").root("object")).unwrap();
    let input = b"\x1e{\"id\":1}\n\x1e\x1e12\x1e{\"id\":2,\"x\":3}\x1e";
    let (output, bad, ..) = run(&program, &CallOptions::new(), &input[..]);
    assert_eq!((output.as_slice(), bad.len()), (&b"{\"id\":1}\n12\n{\"id\":2}\n"[..], 0));
}

/// Values of a document must not leave as documents of their own.
#[test]
fn the_run_ends_after_a_document_that_is_cut_off_if_a_rule_removes_for_safety() {
    let cut = "{\"a\":\"x\n{\"r\":[{\"q\":\"say \\\"hi\\\"\"}],\"ssn\":\"CANARY\"}\n";
    // The brackets match.
    let shifted = "{\"a\":\"x{\"k\":\"}\\\"\",\"ssn\":\"CANARY\"}\n{\"id\":7}";
    // The filter fails before the document does.
    let late = "{\"r\":[{\"no\":1},2],\"z\":\"x{\"k\":\"}\\\"\",\"ssn\":\"CANARY\"}\n";
    let deep = format!("{}\"x\n{{\"ssn\":\"}}\\\"\"}}CANARY\"", "[".repeat(2000));
    let specs = [
        Spec::new().exclude("ssn").root("object"),
        Spec::new().exclude("ssn").root("object").on_error(OnError::Closed),
        Spec::new().redact(Redact::new().path("ssn")).root("object"),
        Spec::new().select("q").root("r").on_error(OnError::Closed),
        Spec::new().exclude("ssn").root("r").max_items(1).stop_early(true),
        Spec::new().retain("/a"),
        Spec::new().exclude("ssn").root("object").validation(Validation::Structure),
    ];
    for spec in &specs {
        let program = Program::compile(spec).unwrap();
        for broken in [cut, shifted, late, &deep, "oops\"CANARY\"", "]\"CANARY\"", "[1,\"x"] {
            let input = format!("{{\"a\":\"1\",\"r\":[{{\"q\":1}}]}}{broken}");
            let whole = run(&program, &CallOptions::new(), input.as_bytes());
            let output = String::from_utf8_lossy(&whole.0);
            assert!(!output.contains("CANARY"), "{spec:?} {broken}: {output}");
            assert_eq!(output.lines().count(), 1, "{spec:?} {broken}: {output}");
            let (last, others) = whole.1.split_last().unwrap();
            assert!(last.1.contains("the rest is not read"), "{spec:?} {broken}: {:?}", whole.1);
            assert!(whole.3.is_some() && others.iter().all(|(number, _)| *number == 2));
            for sizes in [&[1][..], &[7], &[input.len() / 2, input.len()]] {
                let reader = Pieces::new(input.as_bytes(), sizes);
                let split = run(&program, &CallOptions::new(), reader);
                assert_eq!(split, whole, "{spec:?} {broken} in {sizes:?}");
            }
        }
    }
}

/// A document that fails otherwise does not end the run.
#[test]
fn the_run_goes_on_after_a_closed_document() {
    let spec = Spec::new().select("id").root("r").on_error(OnError::Closed);
    let program = Program::compile(&spec).unwrap();
    let input = b"{\"r\":[1,{\"x\":\"]}\"}]}{\"r\":[{\"id\":2}]} 5 {\"s\":1}\n{\"r\":[{\"id\":3}]}";
    let (output, bad, ..) = run(&program, &CallOptions::new(), &input[..]);
    assert_eq!(String::from_utf8_lossy(&output), "{\"r\":[{\"id\":2}]}\n{\"r\":[{\"id\":3}]}\n");
    assert_eq!(bad.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 3, 4]);
}
