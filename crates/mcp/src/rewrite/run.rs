//! Runs the programs of a filter over a part of a message.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tamis::spec::{Budget, Omitted, Prefer, Redact};
use tamis::text::TextRedactor;
use tamis::{CallOptions, Error, ErrorKind, Filter, Limits, MarkTable, Program, Report, Sink};

use super::replaced::Replaced;
use super::task::bytes_of;
use crate::jsonrpc::find::Found;
use crate::policy::failure::Failure;
use crate::rules::{StoredForm, ToolFilter};
use crate::spool::{Spool, SpoolError, SpoolLimits};
use tamis::json::StringDecoder;

/// A part of a message that a filter reads.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A JSON value.
    Value(Range<u64>),
    /// The characters of a JSON string, whose quotes are in the range.
    Characters(Range<u64>),
}

impl Source {
    /// Returns the characters of a string.
    pub(crate) fn characters(found: &Found) -> Self {
        Self::Characters(found.span.clone())
    }

    /// Returns the place in the message.
    pub(crate) fn start(&self) -> u64 {
        let (Self::Value(range) | Self::Characters(range)) = self;
        range.start
    }

    /// Returns the number of bytes in the message.
    pub(crate) fn len(&self) -> u64 {
        let (Self::Value(range) | Self::Characters(range)) = self;
        range.end - range.start
    }
}

/// Why a source could not be read or filtered.
#[derive(Debug)]
pub(crate) enum RunError {
    /// It is text, but not one JSON value.
    NotJson,
    Failed(Failure),
}

impl From<SpoolError> for RunError {
    fn from(error: SpoolError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Error> for RunError {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding => Self::NotJson,
            _ => Self::Failed(Failure::of(&error)),
        }
    }
}

/// A message, and the texts in it that were unescaped so far.
///
/// A text is read several times: to see whether it is JSON, to filter it, and to store it. Unescaping it costs more than
/// reading it, so it is done once.
pub(crate) struct Texts<'a> {
    pub(crate) message: &'a Spool,
    unescaped: RefCell<Unescaped>,
}

struct Unescaped {
    spool: Spool,
    /// The place of each text in `spool`, by the first byte of its string in the message.
    places: HashMap<u64, Range<u64>>,
    /// The first bytes of the strings whose lone surrogates are replaced.
    lossy: HashSet<u64>,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(message: &'a Spool, limits: SpoolLimits) -> Self {
        let spool = Spool::new(limits);
        let unescaped = Unescaped { spool, places: HashMap::new(), lossy: HashSet::new() };
        Self { message, unescaped: RefCell::new(unescaped) }
    }

    /// Has each lone surrogate of a string read as U+FFFD from now on.
    pub(crate) fn replace_lone_surrogates(&self, string: &Source) {
        if let Source::Characters(range) = string {
            self.unescaped.borrow_mut().lossy.insert(range.start);
        }
    }

    /// Returns whether lone surrogates of a string are replaced.
    pub(crate) fn is_lossy(&self, string: &Source) -> bool {
        let unescaped = self.unescaped.borrow();
        matches!(string, Source::Characters(range) if unescaped.lossy.contains(&range.start))
    }

    fn decoder(&self, string: &Range<u64>) -> StringDecoder {
        match self.unescaped.borrow().lossy.contains(&string.start) {
            true => StringDecoder::lossy(),
            false => StringDecoder::new(),
        }
    }

    /// Calls `take` with the characters of a string, and remembers them.
    fn unescape(
        &self,
        range: &Range<u64>,
        take: impl FnMut(&[u8]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let content = range.start + 1..range.end.saturating_sub(1);
        let start = self.unescaped.borrow().spool.len();
        let decoder = self.decoder(range);
        let read = match self.unescape_in_memory(&content, decoder.clone()) {
            Some(Ok(place)) => {
                self.unescaped.borrow_mut().places.insert(range.start, place.clone());
                return self.unescaped.borrow().spool.each_chunk(place, take);
            }
            Some(Err(error)) => Err(error),
            None => self.unescape_in_windows(&content, decoder, take),
        };
        let mut unescaped = self.unescaped.borrow_mut();
        if read.is_ok() && unescaped.spool.error().is_none() {
            let end = unescaped.spool.len();
            unescaped.places.insert(range.start, start..end);
        } else {
            unescaped.spool.truncate(start);
        }
        read
    }

    /// Unescapes a text at once. Returns its place, or `None` if it may be too long for the memory.
    fn unescape_in_memory(
        &self,
        content: &Range<u64>,
        mut decoder: StringDecoder,
    ) -> Option<Result<Range<u64>, RunError>> {
        // A text is never longer than its spelling.
        let length = content.end.saturating_sub(content.start);
        let mut unescaped = self.unescaped.borrow_mut();
        let memory = unescaped.spool.memory_for(length)?;
        let start = memory.len() as u64;
        let read = self.message.each_chunk(content.clone(), |chunk| {
            decoder.write(chunk, memory).map_err(|_lone| RunError::NotJson)
        });
        let read = read.and_then(|()| decoder.end_into(memory).map_err(|_lone| RunError::NotJson));
        Some(read.map(|()| start..memory.len() as u64))
    }

    /// Unescapes a text piece by piece.
    fn unescape_in_windows(
        &self,
        content: &Range<u64>,
        mut decoder: StringDecoder,
        mut take: impl FnMut(&[u8]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut text = Vec::new();
        let mut keep = |text: &[u8]| {
            take(text)?;
            // A text that does not fit is unescaped again when it is needed.
            Sink::write(&mut self.unescaped.borrow_mut().spool, text);
            Ok(())
        };
        self.message.each_chunk(content.clone(), |chunk| {
            for window in chunk.chunks(WINDOW) {
                text.clear();
                decoder.write(window, &mut text).map_err(|_lone| RunError::NotJson)?;
                keep(&text)?;
            }
            Ok::<(), RunError>(())
        })?;
        text.clear();
        decoder.end_into(&mut text).map_err(|_lone| RunError::NotJson)?;
        keep(&text)
    }
}

/// Bytes of a string that are unescaped at once.
const WINDOW: usize = 16 << 10;

/// Calls `take` with a source in chunks. It must not read a source of the same message.
///
/// # Errors
/// [`RunError::NotJson`] for a string with a lone surrogate, which stands for no text, unless it is replaced.
pub(crate) fn read(
    texts: &Texts<'_>,
    source: &Source,
    take: impl FnMut(&[u8]) -> Result<(), RunError>,
) -> Result<(), RunError> {
    match source {
        Source::Value(range) => texts.message.each_chunk(range.clone(), take),
        Source::Characters(range) => {
            let place = texts.unescaped.borrow().places.get(&range.start).cloned();
            match place {
                Some(place) => texts.unescaped.borrow().spool.each_chunk(place, take),
                None => texts.unescape(range, take),
            }
        }
    }
}

/// Returns whether the characters of a string begin like a JSON object or array.
pub(crate) fn looks_like_json(texts: &Texts<'_>, source: &Source) -> bool {
    let mut first = None;
    let mut look = |text: &[u8]| {
        first = text.iter().copied().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        first.is_some()
    };
    if let Source::Characters(range) = source {
        // The first bytes nearly always decide.
        let end = range.end.saturating_sub(1).min(range.start + 65);
        let begin = texts.message.to_vec(range.start + 1..end, 64).unwrap_or_default();
        let mut text = Vec::new();
        // An error comes again when the text is read.
        _ = StringDecoder::new().write(&begin, &mut text);
        if look(&text) {
            return matches!(first, Some(b'{' | b'['));
        }
    }
    _ = read(texts, source, |text| if look(text) { Err(RunError::NotJson) } else { Ok(()) });
    matches!(first, Some(b'{' | b'['))
}

/// The output of a filter.
#[derive(Debug)]
pub(crate) struct JsonRun {
    /// Its place in the scratch spool.
    pub(crate) output: Range<u64>,
    pub(crate) report: Report,
    /// Bytes of the source, after unescaping.
    pub(crate) bytes_in: u64,
    /// The credentials and other values that were replaced.
    pub(crate) redacted: Replaced,
}

impl JsonRun {
    pub(crate) fn len(&self) -> u64 {
        self.output.end - self.output.start
    }

    /// Returns the size of the output as if nothing was factored.
    pub(crate) fn plain_len(&self) -> u64 {
        self.len() + self.report.factored.map_or(0, |factored| factored.bytes)
    }
}

/// The least bytes by which a profile makes a document shorter if what items share is written once.
const LEAST_FACTORED: u64 = 400;

/// Filters a JSON value, and writes the output to the end of `scratch`. After an error, `scratch` is as before.
///
/// A filter of the catalog that says what the items are keeps the first items. If one of them is longer than the limit, all items after
/// it would be left out, too, and the limit would hardly be used. Then the parts with the most information are kept.
pub(crate) fn json(
    texts: &Texts<'_>,
    source: &Source,
    filter: &ToolFilter,
    options: &CallOptions,
    scratch: &mut Spool,
) -> Result<JsonRun, RunError> {
    let first = one_form(texts, source, filter, options, scratch)?;
    let of_rules = filter.programs.last().and_then(|program| program.spec().prefer);
    let leaves_room = filter.max_tokens.is_some()
        && !filter.renders
        && options.prefer().or(of_rules) != Some(Prefer::Information)
        && options.prefer() != Some(Prefer::Order)
        && first.report.budget_applied
        && budget_of(filter, options).is_some_and(|bytes| first.len() < bytes / 2);
    if !leaves_room {
        return Ok(first);
    }
    let options = options.clone().with_prefer(Prefer::Information).with_omitted(Omitted::Mark);
    let mut other = Spool::new(scratch.limits());
    match one_form(texts, source, filter, &options, &mut other) {
        Ok(parts) if parts.len() > first.len() => {
            let start = first.output.start;
            scratch.truncate(start);
            other.each_chunk(parts.output.clone(), |chunk| scratch.push(chunk))?;
            Ok(JsonRun { output: start..scratch.len(), ..parts })
        }
        Ok(_) | Err(_) => Ok(first),
    }
}

/// Returns the bytes of the budget, four for each token.
fn budget_of(filter: &ToolFilter, options: &CallOptions) -> Option<u64> {
    let of_rules = || filter.programs.last().and_then(|program| program.spec().budget);
    match options.budget().or_else(of_rules)? {
        Budget::Bytes(bytes) => Some(bytes),
        Budget::Tokens(tokens) => Some(bytes_of(tokens)),
        _ => None,
    }
}

/// Filters a JSON value once, and factors the output if that makes it shorter.
fn one_form(
    texts: &Texts<'_>,
    source: &Source,
    filter: &ToolFilter,
    options: &CallOptions,
    scratch: &mut Spool,
) -> Result<JsonRun, RunError> {
    let start = scratch.len();
    let run = run_all(texts, source, &filter.programs, options, scratch);
    let failed = scratch.error().is_some().then_some(Failure::TOO_COMPLEX);
    match (run, failed) {
        (Ok(RunSums { report, .. }), None) if is_hardly_shorter(&report, options) => {
            scratch.truncate(start);
            one_form(texts, source, filter, &options.clone().with_factor(false), scratch)
        }
        (Ok(RunSums { report, bytes_in, redacted }), None) => {
            Ok(JsonRun { output: start..scratch.len(), report, bytes_in, redacted })
        }
        (run, failed) => {
            scratch.truncate(start);
            Err(run.err().unwrap_or(RunError::Failed(failed.unwrap_or(Failure::IO))))
        }
    }
}

/// Returns whether a profile has factored a document although the notice about that takes about as much.
fn is_hardly_shorter(report: &Report, options: &CallOptions) -> bool {
    let is_short = report.factored.is_some_and(|factored| factored.bytes < LEAST_FACTORED);
    is_short && options.factor() == Some(true)
}

/// The report of the last program, and the sums over all.
struct RunSums {
    report: Report,
    bytes_in: u64,
    redacted: Replaced,
}

fn run_all(
    texts: &Texts<'_>,
    source: &Source,
    programs: &[Program],
    options: &CallOptions,
    scratch: &mut Spool,
) -> Result<RunSums, RunError> {
    let Some((last, others)) = programs.split_last() else {
        return Err(RunError::Failed(Failure("it has no rules")));
    };
    // The output of the last program is factored, if that of any is.
    let factors = options.factor();
    let factors = factors.unwrap_or_else(|| programs.iter().any(|program| program.spec().factor));
    // A budget of the call applies once, after the last rule.
    let before = options.clone().with_factor(false).with_budget(Budget::Bytes(0));
    let options = &options.clone().with_factor(factors);
    let mut between: Option<Spool> = None;
    let (mut bytes_in, mut redacted) = (None, Replaced::default());
    for program in others {
        let mut out = Spool::new(scratch.limits());
        let (report, bytes) =
            run_after(texts, source, between.as_ref(), program, &before, &mut out)?;
        bytes_in.get_or_insert(bytes);
        redacted.add(&report.redacted);
        if out.error().is_some() {
            return Err(RunError::Failed(Failure::TOO_COMPLEX));
        }
        between = Some(out);
    }
    let (report, bytes) = run_after(texts, source, between.as_ref(), last, options, scratch)?;
    redacted.add(&report.redacted);
    Ok(RunSums { report, bytes_in: bytes_in.unwrap_or(bytes), redacted })
}

/// Runs a program over the output of the one before it, if there is one, or else over the source.
fn run_after(
    texts: &Texts<'_>,
    source: &Source,
    between: Option<&Spool>,
    program: &Program,
    options: &CallOptions,
    out: &mut Spool,
) -> Result<(Report, u64), RunError> {
    let Some(between) = between else { return run_one(texts, source, program, options, out) };
    let texts = Texts::new(between, between.limits());
    run_one(&texts, &Source::Value(0..between.len()), program, options, out)
}

fn run_one(
    texts: &Texts<'_>,
    source: &Source,
    program: &Program,
    options: &CallOptions,
    out: &mut Spool,
) -> Result<(Report, u64), RunError> {
    let mut filter = Filter::new(program.with_options(options), out);
    let mut bytes_in = 0;
    read(texts, source, |chunk| {
        bytes_in += chunk.len() as u64;
        Ok(filter.write(chunk)?)
    })?;
    Ok((filter.end()?, bytes_in))
}

/// Returns the size of a JSON value without white space between its tokens.
pub(crate) fn minified(texts: &Texts<'_>, source: &Source) -> Option<u64> {
    let program = Program::compile(&tamis::Spec::new()).ok()?;
    length(texts, source, &program, &CallOptions::new())
}

/// Reads a source to its end, to see whether it is one JSON value.
pub(crate) fn is_json(texts: &Texts<'_>, source: &Source) -> Result<(), RunError> {
    let program = Program::compile(&tamis::Spec::new())?;
    write_output(texts, source, &program, &CallOptions::new(), &mut Count(0)).map(drop)
}

/// Returns the size of the output of a program. `None`: it fails.
pub(crate) fn length(
    texts: &Texts<'_>,
    source: &Source,
    program: &Program,
    options: &CallOptions,
) -> Option<u64> {
    let mut count = Count(0);
    write_output(texts, source, program, options, &mut count).ok()?;
    Some(count.0)
}

/// Writes the output of a program to `out`.
fn write_output(
    texts: &Texts<'_>,
    source: &Source,
    program: &Program,
    options: &CallOptions,
    out: &mut dyn Sink,
) -> Result<Report, RunError> {
    let mut filter = Filter::new(program.with_options(options), out);
    read(texts, source, |chunk| Ok(filter.write(chunk)?))?;
    Ok(filter.end()?)
}

/// The stored forms of the values of a result.
///
/// The size of a form says whether the filter left anything out. If it did, the form is stored. Short forms are kept in
/// memory in between, so that the program runs once.
pub(crate) struct FormOutputs<'a> {
    program: Option<&'a Program>,
    options: CallOptions,
    kept: RefCell<KeptForms>,
}

struct KeptForms {
    spool: Spool,
    /// The forms in `spool`, by the first byte of their source in the message.
    forms: HashMap<u64, KeptForm>,
}

struct KeptForm {
    place: Range<u64>,
    /// Number of values that were replaced.
    redacted: u64,
}

impl<'a> FormOutputs<'a> {
    /// Returns the forms of a result of a filter. `is_error`: the rules for the result of a failed call apply. `marks`: those of
    /// the session.
    pub(crate) fn of(
        filter: &'a ToolFilter,
        is_error: bool,
        limits: SpoolLimits,
        marks: Option<&MarkTable>,
    ) -> Self {
        let program = match &filter.stored {
            StoredForm::Program(program) => Some(program),
            StoredForm::Nothing | StoredForm::Source => None,
        };
        let spool = Spool::new(SpoolLimits { spill: 0, ..limits });
        let kept = RefCell::new(KeptForms { spool, forms: HashMap::new() });
        let options = CallOptions::new().with_is_error(is_error);
        let options = match marks {
            Some(marks) => options.with_marks(marks),
            None => options,
        };
        Self { program, options, kept }
    }

    /// Returns the redactor of stored texts.
    pub(crate) fn redactor(&self, rule: &Redact) -> Result<TextRedactor, Error> {
        let redactor = TextRedactor::of(rule, &Limits::new())?;
        Ok(redactor.with_marks(self.options.marks()))
    }

    /// Returns the size of the form of a value, and keeps a short one. `None`: there is no form.
    pub(crate) fn length(&self, texts: &Texts<'_>, source: &Source) -> Option<u64> {
        let program = self.program?;
        let mut kept = self.kept.borrow_mut();
        let start = kept.spool.len();
        let mut output = CountAndKeep { count: Count(0), spool: &mut kept.spool };
        let written = write_output(texts, source, program, &self.options, &mut output);
        let length = output.count.0;
        match &written {
            Ok(report) if kept.spool.error().is_none() => {
                let (place, redacted) = (start..start + length, redacted(report));
                kept.forms.insert(source.start(), KeptForm { place, redacted });
            }
            _ => kept.spool.truncate(start),
        }
        written.ok().map(|_report| length)
    }

    /// Writes the form of a value to `out`. Returns the number of values that were replaced in it.
    pub(crate) fn write(
        &self,
        texts: &Texts<'_>,
        source: &Source,
        out: &mut dyn Sink,
    ) -> Result<u64, RunError> {
        let kept = self.kept.borrow();
        match (kept.forms.get(&source.start()), self.program) {
            (Some(KeptForm { place, redacted }), _) => {
                let write = |chunk: &[u8]| {
                    out.write(chunk);
                    Ok::<_, RunError>(())
                };
                kept.spool.each_chunk(place.clone(), write).map(|()| *redacted)
            }
            (None, Some(program)) => {
                let report = write_output(texts, source, program, &self.options, out)?;
                Ok(redacted(&report))
            }
            (None, None) => Err(RunError::Failed(Failure("it is not stored"))),
        }
    }
}

fn redacted(report: &Report) -> u64 {
    let mut replaced = Replaced::default();
    replaced.add(&report.redacted);
    replaced.count()
}

/// Counts bytes, and keeps them while there is room.
struct CountAndKeep<'a> {
    count: Count,
    spool: &'a mut Spool,
}

impl Sink for CountAndKeep<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.count.write(bytes);
        Sink::write(self.spool, bytes);
    }
}

/// Counts bytes.
struct Count(u64);

impl Sink for Count {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}
