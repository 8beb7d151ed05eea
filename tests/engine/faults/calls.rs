//! Readers and writers in trouble, at every call.

use std::cell::{Cell, RefCell};
use std::io::ErrorKind as IoKind;
use std::rc::Rc;

use tamis::{Error, ErrorKind, Fault};

use super::drivers::{Driver, Ended, Source, all, plain};
use super::trouble::{Halting, Trouble, Troubled, Unflushed};

/// Bytes that a reader gives at once, and a writer takes.
const READ: usize = 100;
const TAKEN: usize = 9;

/// A run without any trouble.
struct Right {
    output: Vec<u8>,
    ended: Ended,
}

fn right(driver: &Driver) -> Right {
    let mut output = Vec::new();
    let ended = driver.run(&plain, &mut output);
    Right { output, ended }
}

fn kind(result: &Result<(), Error>) -> Option<ErrorKind> {
    result.as_ref().err().map(Error::kind)
}

/// The same output, the same end, the same report.
fn is_right(said: &str, right: &Right, ended: &Ended, output: &[u8]) {
    let shown = String::from_utf8_lossy(output);
    assert!(right.output == output, "{said}: {shown}");
    let words = |ended: &Ended| ended.0.as_ref().err().map(ToString::to_string);
    assert_eq!(words(ended), words(&right.ended), "{said}");
    assert_eq!(ended.1, right.ended.1, "{said}");
}

/// Judges a run in trouble; `met`: there was some. One that fails is an error of the kind `side`.
fn judge(
    said: &str,
    right: &Right,
    (trouble, met, side): (Trouble, bool, ErrorKind),
    ended: &Ended,
    output: &[u8],
) {
    match &ended.0 {
        Ok(()) => {
            is_right(said, right, ended, output);
            let failed = met && matches!(trouble, Trouble::Fails(_));
            assert!(!failed, "{said}: it was overlooked");
        }
        Err(error) if kind(&right.ended.0) == Some(error.kind()) => {}
        Err(error) => {
            assert!(met && trouble.is_fatal(), "{said}: {error}");
            // The end of the input, too early, is the document's mistake.
            if side == ErrorKind::Write || trouble != Trouble::Nothing {
                let fault = if side == ErrorKind::Read { Fault::Input } else { Fault::Sink };
                assert_eq!((error.kind(), error.fault()), (side, fault), "{said}: {error}");
            }
            assert!(right.output.starts_with(output), "{said}: not a beginning");
        }
    }
}

/// Of which kind the errors of a driver's writer are. That of a record is on the side of the reader.
fn written(driver: &Driver) -> ErrorKind {
    if driver.name == "a record" { ErrorKind::Read } else { ErrorKind::Write }
}

/// Tries every trouble at every call, until one is not met any more.
fn at_every_call(
    driver: &Driver,
    side: ErrorKind,
    troubles: &[Trouble],
    run: impl Fn(Trouble, usize) -> (bool, Ended, Vec<u8>),
) {
    let right = right(driver);
    for trouble in troubles {
        for calls in 0.. {
            let said = format!("{}, {side:?}: {trouble:?} at call {calls}", driver.name);
            let (met, ended, output) = run(*trouble, calls);
            judge(&said, &right, (*trouble, met, side), &ended, &output);
            if !met {
                assert!(calls > 1, "{said}: nothing was tried");
                break;
            }
        }
    }
}

fn around(reader: Source, trouble: Trouble, calls: usize, size: usize) -> (Source, Rc<Cell<bool>>) {
    let reader = Troubled::new(reader, trouble, calls, size);
    let met = reader.met();
    (Box::new(reader), met)
}

/// One that gives some bytes at once, so that there are several calls, and has no trouble.
fn in_pieces(reader: Source) -> Source {
    around(reader, Trouble::Short, usize::MAX, READ).0
}

#[test]
fn readers() {
    for driver in all() {
        let ends = |trouble: &Trouble| driver.ends || *trouble != Trouble::Nothing;
        let troubles: Vec<Trouble> = Trouble::ALL.into_iter().filter(ends).collect();
        at_every_call(&driver, ErrorKind::Read, &troubles, |trouble, calls| {
            let (mut output, met) = (Vec::new(), RefCell::default());
            let size = READ.min(9 + driver.input.len() / 20);
            let troubled = |reader| {
                let (reader, its) = around(reader, trouble, calls, size);
                met.replace(its);
                reader
            };
            let ended = driver.run(&troubled, &mut output);
            (met.into_inner().get(), ended, output)
        });
    }
}

#[test]
fn writers() {
    for driver in all() {
        // One that emits nothing flushes at most.
        let silent = right(&driver).output.is_empty();
        let troubles = if silent { &Trouble::ALL[..3] } else { &Trouble::ALL[..] };
        at_every_call(&driver, written(&driver), troubles, |trouble, calls| {
            let mut output = Vec::new();
            let mut writer = Troubled::new(&mut output, trouble, calls, TAKEN);
            let met = writer.met();
            let ended = driver.run(&in_pieces, &mut writer);
            (met.get(), ended, output)
        });
    }
}

#[test]
fn one_byte_and_an_interruption_at_every_call() {
    for driver in all() {
        let right = right(&driver);
        let halting = |reader| -> Source { Box::new(Halting::new(reader)) };
        for (what, reads, writes) in
            [("reader", true, false), ("writer", false, true), ("both", true, true)]
        {
            let mut output = Vec::new();
            let around: &dyn Fn(_) -> _ = if reads { &halting } else { &plain };
            let ended = if writes {
                driver.run(around, &mut Halting::new(&mut output))
            } else {
                driver.run(around, &mut output)
            };
            is_right(&format!("{}, {what}", driver.name), &right, &ended, &output);
        }
    }
}

/// An interrupted flush also counts as failed, because its effect is unknown.
#[test]
fn writers_that_fail_when_they_are_flushed() {
    for driver in all() {
        let right = right(&driver);
        for kind in [IoKind::StorageFull, IoKind::Interrupted, IoKind::WouldBlock] {
            for flushes in 0.. {
                let said = format!("{}: {kind} at flush {flushes}", driver.name);
                let mut output = Vec::new();
                let mut writer = Unflushed { inner: &mut output, kind, flushes, met: false };
                let ended = driver.run(&in_pieces, &mut writer);
                let met = writer.met;
                let trouble = (Trouble::Fails(kind), met, written(&driver));
                judge(&said, &right, trouble, &ended, &output);
                if !met {
                    assert!(flushes > 0, "{said}: it is never flushed");
                    break;
                }
            }
        }
    }
}
