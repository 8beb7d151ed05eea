//! One document a line.
//!
//! Lines are split while they arrive and pushed into a filter of their own, so a line may be longer than memory. The
//! *output* of a line waits until the line is known to be good: in memory, then in a temporary file, then not at all.

use std::io::{ErrorKind as IoKind, Read, Write};

use super::{CHUNK, WriteSink};
use crate::error::{Error, Raise};
use crate::filter::hold::Hold;
use crate::filter::{CallOptions, Filter, Program};
use crate::limits::{Limits, Meter};
use crate::report::{Failed, Report};
use crate::sink::Sink;

/// Filters a document a line (NDJSON, JSON Lines) from `reader` into `writer`.
///
/// Rules, limits and misses are per line. Lines that are empty or white space are skipped; `\r\n` ends a line as `\n`
/// does; the last line needs no newline. The output of a line is one line, and is written when the line is complete: a
/// bad line emits nothing. It is told to `on_bad_line`, with its number, from 1, and the error, whose offset is the one
/// in the whole input; then the run goes on with the next line.
///
/// The report sums over lines: sizes and lengths are added (those of items without the bad lines, which emit none),
/// those of budgets over the lines that one made shorter; `filter_partial_miss` is the union, `held_peak_bytes` the largest, `root` is there if it is the same in all lines,
/// and `error` is that of the first bad line, `filter_error` and `compact_error` those of the first line that has one.
///
/// Memory: as for one line, and each line's output up to [`Limits::held`], then a temporary file up to
/// [`Limits::spill`]. Time: linear in the input.
///
/// # Errors
/// When all lines were read: the error of the first bad line, if there was one. At once, and with nothing told to
/// `on_bad_line`: [`ErrorKind::Read`](crate::ErrorKind::Read) and
/// [`ErrorKind::Write`](crate::ErrorKind::Write).
///
/// ```
/// use tamis::{CallOptions, Program, Spec, filter_ndjson};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let input = &b"{\"id\": 1, \"x\": 2}\n{\"id\": oops}\n\n{\"id\": 3}"[..];
/// let (mut output, mut bad) = (Vec::new(), Vec::new());
/// let (report, result) = filter_ndjson(&program, &CallOptions::new(), input, &mut output, |line, error| {
///     bad.push((line, error.offset()));
/// });
/// assert_eq!(output, b"{\"id\":1}\n{\"id\":3}\n");
/// assert_eq!(bad, [(2, Some(25))]);
/// assert_eq!(result.unwrap_err().offset(), Some(25));
/// assert_eq!(report.filter_result_bytes, 16);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn filter_ndjson<R: Read, W: Write>(
    program: &Program,
    options: &CallOptions,
    mut reader: R,
    writer: W,
    on_bad_line: impl FnMut(u64, &Error),
) -> (Report, Result<(), Error>) {
    if program.is_text() {
        let message =
            "a document a line: the output of this filter is text, of any number of lines";
        let error = Error::spec(message);
        let mut filter = Filter::with_options(program, options, Vec::new());
        return (filter.fail(&error), Err(error));
    }
    let mut lines = Lines {
        out: WriteSink::new(writer),
        filter: Filter::with_options(program, options, Held::new(options.limits_ref())),
        state: Line::None,
        blank: true,
        number: 1,
        start: 0,
        length: 0,
        sum: Sum::default(),
        on_bad_line,
    };
    let ended = lines.run(&mut reader);
    let Lines { sum, filter, .. } = lines;
    let (mut report, bad) = sum.finish(filter.report().plan);
    let result = match (ended, bad) {
        (Err(error), _) => Err(error),
        (Ok(()), Some(error)) => Err(error),
        (Ok(()), None) => Ok(()),
    };
    if let Err(error) = &result {
        report.error = Some(Failed::from(error));
        report.filter_applied = false;
    }
    (report, result)
}

/// The state of a run over lines.
struct Lines<W, F> {
    out: WriteSink<W>,
    /// The line's filter, whose memory all lines use in turn.
    filter: Filter<Held>,
    state: Line,
    /// The line has only white space so far.
    blank: bool,
    number: u64,
    /// Offset of the line's first byte.
    start: u64,
    /// Bytes of the line so far.
    length: u64,
    sum: Sum,
    on_bad_line: F,
}

/// What became of the line so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    None,
    Open,
    /// It failed; the rest of it is skipped.
    Bad,
}

impl<W: Write, F: FnMut(u64, &Error)> Lines<W, F> {
    fn run(&mut self, reader: &mut impl Read) -> Result<(), Error> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    let taken = self.take(chunk.get(..count).unwrap_or_default());
                    self.out.flush()?;
                    taken?;
                }
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) => return Err(Error::read(error)),
            }
        }
        let ended = self.end_line();
        self.out.flush()?;
        ended
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(end);
            self.piece(line);
            self.end_line()?;
            self.start += self.length + 1;
            self.length = 0;
            self.number += 1;
            rest = behind.get(1..).unwrap_or_default();
        }
        self.piece(rest);
        Ok(())
    }

    /// Takes a part of the line.
    fn piece(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if bytes.is_empty() || self.state == Line::Bad {
            return;
        }
        self.blank &= bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        self.state = Line::Open;
        let written = self.filter.write(bytes);
        self.judge(written);
    }

    /// Ends the line: its output goes out.
    fn end_line(&mut self) -> Result<(), Error> {
        let blank = std::mem::replace(&mut self.blank, true);
        if self.state == Line::Open && !blank {
            let ended = self.filter.end_unplanned();
            if let Some(mut report) = self.judge(ended) {
                let sink = self.filter.sink_mut();
                report.held_peak_bytes = report.held_peak_bytes.max(sink.meter.peak());
                self.sum.add(self.number, &report);
                sink.drain(&mut self.out)?;
                self.out.write(b"\n");
            }
        }
        if self.state == Line::Bad {
            self.sum.report.filter_original_bytes += self.length;
        }
        if self.state != Line::None {
            self.filter.sink_mut().clear();
            self.filter.restart();
        }
        self.state = Line::None;
        Ok(())
    }

    /// What a step gave; a line that failed, or whose output became too long, is a bad one from here on. The latter came
    /// first: what a filter emits before an error does not depend on the chunks.
    fn judge<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        let raise = self.filter.sink_mut().error.take();
        let error = match (raise, result) {
            (Some(raise), _) => Error::at(raise, self.start, String::new()),
            (None, Ok(given)) => return Some(given),
            (None, Err(error)) => {
                let offset = self.start + error.offset().unwrap_or(0);
                let raise = Raise::new(error.kind(), error.message().to_owned());
                Error::at(raise, offset, error.path().to_owned())
            }
        };
        self.sum.fail(self.number, &self.filter.report(), &error);
        (self.on_bad_line)(self.number, &error);
        self.state = Line::Bad;
        None
    }
}

/// The output of one line, until the line is complete.
#[derive(Debug)]
struct Held {
    hold: Hold,
    limits: Limits,
    meter: Meter,
    error: Option<Raise>,
}

impl Held {
    fn new(limits: &Limits) -> Self {
        Self { hold: Hold::default(), limits: limits.clone(), meter: Meter::default(), error: None }
    }

    /// Hands everything on, and is empty.
    fn drain<W: Write>(&mut self, out: &mut WriteSink<W>) -> Result<(), Error> {
        self.hold.drain(
            &mut self.meter,
            |_, piece| {
                out.write(piece);
                Ok(!out.is_closed())
            },
            |raise| Error::new(raise.kind, raise.message),
        )
    }

    fn clear(&mut self) {
        self.hold.clear(&mut self.meter);
        self.meter = Meter::default();
        self.error = None;
    }
}

impl Sink for Held {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.hold.push(bytes, &self.limits, &mut self.meter).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some()
    }
}

/// The reports of all lines in one.
#[derive(Debug, Default)]
struct Sum {
    report: Report,
    /// Lines whose rules did not make their output.
    unfiltered: bool,
    /// Lengths of the payloads, where something was cut from one of them.
    lengths: u64,
    cut: bool,
    roots: Option<Option<String>>,
    /// Lines that fell back, and those without a summary; of both the first is told.
    fallbacks: u64,
    uncompacted: u64,
    bad: u64,
    first_bad: Option<Error>,
}

impl Sum {
    fn add(&mut self, number: u64, line: &Report) {
        let sum = &mut self.report;
        self.unfiltered |= !line.filter_applied;
        sum.filter_original_bytes += line.filter_original_bytes;
        sum.filter_result_bytes += line.filter_result_bytes;
        // The key is there as soon as one line has it, and then counts all.
        let before = sum.filter_result_bytes - line.filter_result_bytes;
        if let Some(bytes) = line.output_bytes {
            sum.output_bytes = Some(sum.output_bytes.unwrap_or(before) + bytes);
        } else if let Some(bytes) = &mut sum.output_bytes {
            *bytes += line.filter_result_bytes;
        }
        sum.duplicates_dropped += line.duplicates_dropped;
        sum.held_peak_bytes = sum.held_peak_bytes.max(line.held_peak_bytes);
        sum.tail_unread |= line.tail_unread;
        sum.items_seen = added(sum.items_seen, line.items_seen);
        sum.items_kept = added(sum.items_kept, line.items_kept);
        let length = line.filter_items_truncated_from.or(line.items_at_least).or(line.items_seen);
        self.lengths += length.unwrap_or(0);
        self.cut |= line.filter_items_truncated_from.is_some();
        // A sum with a lower bound in it is a lower bound.
        if line.items_at_least.is_some() {
            sum.items_at_least = Some(0);
        }
        for path in &line.filter_partial_miss {
            if !sum.filter_partial_miss.contains(path) {
                sum.filter_partial_miss.push(path.clone());
            }
        }
        sum.filter_skipped = sum.filter_skipped.or(line.filter_skipped);
        if let Some(why) = &line.filter_error {
            self.fallbacks += 1;
            sum.filter_error.get_or_insert_with(|| format!("line {number}: {why}"));
        }
        if let Some(why) = &line.compact_error {
            self.uncompacted += 1;
            sum.compact_error.get_or_insert_with(|| format!("line {number}: {why}"));
        }
        sum.budget_applied |= line.budget_applied;
        sum.budget_limit = sum.budget_limit.or(line.budget_limit);
        sum.budget_original_bytes = added(sum.budget_original_bytes, line.budget_original_bytes);
        sum.budget_result_bytes = added(sum.budget_result_bytes, line.budget_result_bytes);
        sum.tokens_limit = sum.tokens_limit.or(line.tokens_limit);
        sum.tokens_original = added(sum.tokens_original, line.tokens_original);
        sum.tokens_result = added(sum.tokens_result, line.tokens_result);
        sum.tokens_estimated |= line.tokens_estimated;
        match &mut self.roots {
            None => self.roots = Some(line.root.clone()),
            Some(root) if *root != line.root => *root = None,
            Some(_) => {}
        }
    }

    fn fail(&mut self, number: u64, line: &Report, error: &Error) {
        self.report.held_peak_bytes = self.report.held_peak_bytes.max(line.held_peak_bytes);
        self.bad += 1;
        self.first_bad.get_or_insert_with(|| {
            let message = format!("line {number}: {}", error.message());
            let raise = Raise::new(error.kind(), message);
            Error::at(raise, error.offset().unwrap_or(0), error.path().to_owned())
        });
    }

    /// The whole, and the error of the first bad line.
    fn finish(self, plan: Vec<String>) -> (Report, Option<Error>) {
        let Self { mut report, unfiltered, lengths, cut, roots, bad, first_bad, .. } = self;
        report.filter_applied = !unfiltered && bad == 0;
        if report.items_at_least.is_some() {
            report.items_at_least = Some(lengths);
        } else if cut {
            report.filter_items_truncated_from = Some(lengths);
        }
        report.root = roots.flatten();
        report.plan = plan;
        report
            .plan
            .push("lines: hold each line's output until its end (limits held, spill)".into());
        for (why, lines) in [
            (&mut report.filter_error, self.fallbacks),
            (&mut report.compact_error, self.uncompacted),
        ] {
            if let Some(why) = why
                && lines > 1
            {
                why.push_str(&format!(" (and so {} lines more)", lines - 1));
            }
        }
        (report, first_bad)
    }
}

fn added(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (one, other) => one.or(other),
    }
}
