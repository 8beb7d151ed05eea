//! Documents that follow each other.

use std::io::Read;

use super::{Outcome, Pieces, invariant};
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
