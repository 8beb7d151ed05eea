//! Runs one history through every driver and compares the results, which must not depend on how the bytes arrive.

use std::io::{Read, Seek, Write};

use serde_json::Value;
use tamis::{Error, ErrorKind, FailedRun};
use tamis_chat::{
    PruneFilter, PruneProgram, PruneReport, PruneSpec, prune_file, prune_reader, prune_slice,
};

use crate::prng::Prng;

/// Histories up to this length are cut at every offset.
const EVERY_SPLIT: usize = 2 << 10;

/// The time of all runs.
pub const NOW: u64 = 1_700_000_000_000;

/// The result of one run: the output, or the error, after which nothing is written; and the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub output: Result<Vec<u8>, (ErrorKind, Option<u64>, String, String)>,
    pub report: Option<Value>,
}

impl Run {
    fn new(output: Vec<u8>, result: Result<(), Error>, report: Option<PruneReport>) -> Self {
        let mut report = report.map(|report| serde_json::to_value(report).unwrap());
        if let Some(report) = report.as_mut().and_then(Value::as_object_mut) {
            report.remove("held_peak_bytes");
        }
        let output = match result {
            Ok(()) => Ok(output),
            Err(error) => {
                assert_eq!(output, b"", "nothing is written by a run that fails: {error}");
                let (kind, path) = (error.kind(), error.path().to_owned());
                Err((kind, error.offset(), path, error.message().to_owned()))
            }
        };
        Self { output, report }
    }
}

pub fn slice(program: &PruneProgram, history: &[u8]) -> Run {
    match prune_slice(program, history) {
        Ok((output, report)) => Run::new(output, Ok(()), Some(report)),
        Err(FailedRun { error, report, .. }) => Run::new(Vec::new(), Err(error), Some(*report)),
    }
}

/// Pushes chunks of this size.
pub fn chunks<'a>(program: &PruneProgram, chunks: impl IntoIterator<Item = &'a [u8]>) -> Run {
    let mut run = PruneFilter::new(program, Vec::new());
    let result = chunks.into_iter().try_for_each(|chunk| run.write(chunk));
    let result = result.and_then(|()| run.end().map(|_| ()));
    if result.is_err() {
        for again in [run.write(b" ").err(), run.end().err()] {
            assert_eq!(again.map(|error| error.kind()), Some(ErrorKind::Failed));
        }
    }
    let report = run.report();
    Run::new(run.into_sink(), result, Some(report))
}

/// A reader that returns few bytes at a time.
struct Slow<'a>(&'a [u8], Prng);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.one_in(5) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let count = (1 + self.1.below(40)).min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

/// Reads from a file in which other bytes precede the history.
fn file(program: &PruneProgram, history: &[u8]) -> Run {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"not this").unwrap();
    file.write_all(history).unwrap();
    file.seek(std::io::SeekFrom::Start(8)).unwrap();
    let mut output = Vec::new();
    let (report, result) = FailedRun::split(prune_file(program, file, &mut output));
    Run::new(output, result, Some(report))
}

/// Checks that all drivers agree, and returns their result.
pub fn check(name: &str, prune: &PruneSpec, history: &[u8]) -> Run {
    let prune = if serde_json::to_value(prune).unwrap().get("now").is_none() {
        prune.clone().now(NOW)
    } else {
        prune.clone()
    };
    let program = PruneProgram::compile(&prune).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = chunks(&program, [history]);
    let same = |how: &str, run: Run| {
        if run.report.is_some() {
            assert_eq!(run, expected, "{name}: {how}");
        } else {
            assert_eq!(run.output, expected.output, "{name}: {how}");
        }
    };
    same("slice", slice(&program, history));
    same("byte by byte", chunks(&program, history.chunks(1)));
    same("file", file(&program, history));
    let mut output = Vec::new();
    let slow = Slow(history, Prng::named(name));
    let (report, result) = FailedRun::split(prune_reader(&program, slow, &mut output));
    same("reader", Run::new(output, result, Some(report)));
    let mut prng = Prng::named(name);
    let cuts: Vec<usize> = if history.len() <= EVERY_SPLIT {
        (0..=history.len()).collect()
    } else {
        (0..20).map(|_| prng.below(history.len())).collect()
    };
    for cut in cuts {
        let (head, tail) = history.split_at(cut);
        same(&format!("cut at {cut}"), chunks(&program, [head, tail]));
    }
    if let Ok(output) = &expected.output {
        let again = slice(&program, output);
        let after = String::from_utf8_lossy(again.output.as_ref().unwrap()).into_owned();
        assert_eq!(after, String::from_utf8_lossy(output), "{name}: a second run changes nothing");
        assert_eq!(again.report.unwrap()["results_pruned"], 0, "{name}");
    }
    expected
}
