//! Content: pages of the corpus with what has to stay and to go, cases as data (`tests/content/*.toml`), and input that
//! nobody sends in good faith.

#![cfg(feature = "content")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test states what must hold, also in its helpers"
)]

#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "../common/prng.rs"]
mod prng;

mod cases;
mod hostile;
mod pages;
mod parts;
mod random;

use tamis::{CallOptions, Content, Error, Filter, Program, Report, Spec, filter_slice};

fn program(content: Content) -> Program {
    Program::compile(&Spec::new().content(content)).unwrap()
}

/// Runs a program over a document in pieces of one size.
fn in_pieces(
    program: &Program,
    options: &CallOptions,
    document: &[u8],
    size: usize,
) -> Result<(Vec<u8>, Report), Error> {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for piece in document.chunks(size) {
        filter.write(piece)?;
    }
    let report = filter.end()?;
    Ok((filter.into_sink(), report))
}

/// What must not depend on chunks.
fn shown(run: Result<(Vec<u8>, Report), Error>) -> String {
    match run {
        Ok((output, mut report)) => {
            (report.plan, report.held_peak_bytes) = (Vec::new(), 0);
            format!("{}\n{report:?}", String::from_utf8(output).unwrap())
        }
        Err(error) => error.to_string(),
    }
}

/// The output and the report, which are the same however the document comes.
fn run(program: &Program, options: &CallOptions, document: &[u8]) -> (String, Report) {
    let whole = shown(filter_slice(program.with_options(options), document).map_err(Error::from));
    for size in [1, 7, 1000, 70_000] {
        // Long documents byte by byte say nothing more.
        if size > 1 || document.len() < 10_000 {
            assert_eq!(
                shown(in_pieces(program, options, document, size)),
                whole,
                "pieces of {size}"
            );
        }
    }
    let (output, report) = filter_slice(program.with_options(options), document).unwrap();
    (String::from_utf8(output).unwrap(), report)
}
