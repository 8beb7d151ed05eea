//! Runs one document through every driver and compares the results, which must not depend on how the bytes arrive.

use std::io::{Read, Seek, Write};

use serde_json::Value as Json;
use tamis::{
    CallOptions, Error, ErrorKind, FactorSkip, FailedRun, FailureReport, Filter, Limits, Program,
    Report, WriteSink, filter_file, filter_reader, filter_slice,
};

use crate::prng::Prng;

/// Documents up to this length are cut at every offset.
const EVERY_SPLIT: usize = 4 << 10;
/// Random splits of longer documents.
const SPLITS: usize = 40;
/// The length of the stretch that arrives in single bytes under [`Effort::Few`].
const STRETCH: usize = 160;

/// The parts of an error that all drivers must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub offset: Option<u64>,
    pub path: String,
    pub message: String,
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            offset: error.offset(),
            path: error.path().to_owned(),
            message: FailureReport::from(error).message,
        }
    }
}

/// The result of one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The output, up to the error if there was one. `None` for a driver that does not return it.
    pub output: Option<Vec<u8>>,
    pub fault: Option<Fault>,
    /// `None` for a driver that returns no report on failure.
    pub report: Option<Report>,
}

impl Run {
    pub fn new(
        output: Option<Vec<u8>>,
        result: Result<Report, Error>,
        report: Option<Report>,
    ) -> Self {
        let fault = result.as_ref().err().map(Fault::from);
        Self { output, fault, report: result.ok().or(report) }
    }

    /// Returns whether the document was too long to be factored.
    fn is_too_long_to_factor(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.factor_skipped == Some(FactorSkip::Size))
    }

    /// The report without the keys that depend on the driver.
    pub fn comparable(&self) -> Option<Json> {
        let mut json = serde_json::to_value(self.report.as_ref()?).expect("a report is JSON");
        let keys = json.as_object_mut().expect("a report is an object");
        keys.remove("plan");
        keys.remove("held_peak_bytes");
        Some(json)
    }
}

/// A program, the options of a call and a document.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub program: &'a Program,
    pub options: &'a CallOptions,
    pub document: &'a [u8],
}

impl Subject<'_> {
    pub fn slice(&self) -> Run {
        let result = filter_slice(self.program.with_options(self.options), self.document);
        match result {
            Ok((output, report)) => Run::new(Some(output), Ok(report), None),
            Err(FailedRun { error, report, .. }) => Run::new(None, Err(error), Some(*report)),
        }
    }

    /// Pushes the document in chunks that end at `cuts`, and a last one.
    pub fn push(&self, cuts: impl IntoIterator<Item = usize>) -> Run {
        let mut filter = Filter::new(self.program.with_options(self.options), Vec::new());
        let mut begin = 0;
        let mut result = Ok(());
        for end in cuts.into_iter().chain([self.document.len()]) {
            result = filter.write(&self.document[begin..end]);
            if result.is_err() {
                break;
            }
            begin = end;
        }
        let result = result.and_then(|()| filter.end());
        let report = filter.report();
        if result.is_err() {
            let emitted = filter.sink().len();
            for again in [filter.write(b" ").err(), filter.end().err()] {
                let kind = again.map(|error| error.kind());
                assert_eq!(kind, Some(ErrorKind::Failed), "a failed filter stays failed");
            }
            assert_eq!(filter.sink().len(), emitted, "a failed filter emits nothing more");
        }
        Run::new(Some(filter.into_sink()), result, Some(report))
    }

    /// Pushes the document through a filter that was used before, for parts of the document and for an invalid one.
    fn again(&self, cut: usize) -> Run {
        let mut filter = Filter::new(self.program.with_options(self.options), Vec::new());
        let (head, tail) = self.document.split_at(cut);
        for earlier in [&[head][..], &[tail], &[head, b"}]\xff"], &[head, tail]] {
            let written = earlier.iter().try_for_each(|chunk| filter.write(chunk));
            if earlier.len() > 1 && written.is_ok() {
                _ = filter.end();
            }
            filter.restart();
        }
        filter.sink_mut().clear();
        let result = filter.write(head).and_then(|()| filter.write(tail));
        let result = result.and_then(|()| filter.end());
        let report = filter.report();
        Run::new(Some(filter.into_sink()), result, Some(report))
    }

    pub fn bytes(&self) -> Run {
        self.push(1..self.document.len())
    }

    /// Reads from a reader that returns few bytes at a time and is interrupted.
    fn pump(&self, seed: u64) -> Run {
        let mut output = Vec::new();
        let reader = Stutter { rest: self.document, prng: Prng::new(seed) };
        let mut filter =
            Filter::new(self.program.with_options(self.options), WriteSink::new(&mut output));
        let result = filter.read_from(reader);
        let report = filter.report();
        drop(filter);
        Run::new(Some(output), result, Some(report))
    }

    /// Runs [`filter_reader`].
    fn reader(&self, seed: u64) -> Run {
        let mut output = Vec::new();
        let reader = Stutter { rest: self.document, prng: Prng::new(seed) };
        let call = self.program.with_options(self.options);
        let (report, result) = FailedRun::split(filter_reader(call, reader, &mut output));
        Run::new(Some(output), result.map(|()| report.clone()), Some(report))
    }

    fn file(&self) -> Run {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(self.document).expect("the file takes the document");
        file.rewind().expect("the file goes back");
        let mut output = Vec::new();
        let (report, result) = FailedRun::split(filter_file(
            self.program.with_options(self.options),
            file,
            &mut output,
        ));
        Run::new(Some(output), result.map(|()| report.clone()), Some(report))
    }
}

/// A reader that returns a few bytes at a time and is interrupted between them.
struct Stutter<'a> {
    rest: &'a [u8],
    prng: Prng,
}

impl Read for Stutter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.prng.one_in(4) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let most = if self.prng.one_in(2) { 3 } else { 700 };
        let count = (1 + self.prng.below(most)).min(self.rest.len()).min(buffer.len());
        let (now, later) = self.rest.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.rest = later;
        Ok(count)
    }
}

/// The drivers to run, in addition to a slice, one-byte chunks and splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// One split, and one-byte chunks only in a stretch of a long document. A fuzzer gains more from running more inputs.
    Few,
    /// A few splits.
    Splits(usize),
    /// All drivers.
    Full,
}

/// Runs the drivers and returns the run on which they agree, or a description of the first difference.
pub fn agree(subject: Subject<'_>, seed: u64, effort: Effort) -> Result<Run, String> {
    let length = subject.document.len();
    let whole = subject.push([]);
    // A slice is read twice instead of held, so the limit `held` does not apply to it.
    let held = whole
        .fault
        .as_ref()
        .is_some_and(|fault| fault.kind == ErrorKind::Limit && fault.message.contains("`held`"));
    if !held {
        same("slice", &whole, &subject.slice(), false)?;
    }
    let mut prng = Prng::new(seed);
    if effort == Effort::Few && length > STRETCH {
        let from = 1 + prng.below(length - STRETCH);
        let bytes = subject.push(from..from + STRETCH);
        same(&format!("one-byte chunks from {from}"), &whole, &bytes, true)?;
    } else {
        same("one-byte chunks", &whole, &subject.bytes(), true)?;
    }
    let cut = prng.below(length + 1);
    same(&format!("a used filter, cut at {cut}"), &whole, &subject.again(cut), true)?;
    match effort {
        Effort::Full if length <= EVERY_SPLIT => {
            for cut in 0..=length {
                same(&format!("split at {cut}"), &whole, &subject.push([cut]), true)?;
            }
        }
        Effort::Full | Effort::Splits(_) | Effort::Few => {
            let splits = match effort {
                Effort::Few => 1,
                Effort::Splits(splits) => splits,
                Effort::Full => SPLITS,
            };
            for _ in 0..splits {
                let cuts = prng.cuts(length);
                same(&format!("cuts at {cuts:?}"), &whole, &subject.push(cuts), true)?;
            }
        }
    }
    if effort == Effort::Full {
        same("a reader", &whole, &subject.pump(seed), true)?;
        if !held {
            same("a file", &whole, &subject.file(), false)?;
        }
    }
    Ok(whole)
}

/// Compares a run of [`filter_reader`].
pub fn agree_reader(subject: Subject<'_>, seed: u64, whole: &Run) -> Result<(), String> {
    same("filter_reader", whole, &subject.reader(seed), true)
}

/// The limits that are tight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tight {
    /// The bytes that may be held, and the depth.
    Held,
    /// The length of member names.
    Keys,
}

/// Under tight limits the result is the same or a limit error, and it does not depend on the chunks. A document that is too
/// long to be held is not factored, so that its result is that of the same rules without `factor`: `plain`.
pub fn agree_tight(
    subject: Subject<'_>,
    seed: u64,
    whole: &Run,
    plain: Option<&Program>,
    base: &Limits,
    tight: Tight,
) -> Result<(), String> {
    let with = |limits: Limits| subject.options.clone().with_limits(limits);
    let cuts = Prng::new(seed).cuts(subject.document.len());

    // Held bytes that do not fit into memory are written to disk, and nothing else changes.
    if tight == Tight::Held
        && base.spill() > 0
        && whole.fault.as_ref().is_none_or(|fault| fault.kind != ErrorKind::Limit)
    {
        let options = with(base.clone().with_held(0));
        let spilling = Subject { options: &options, ..subject };
        same("spilled, whole", whole, &spilling.push([]), true)?;
        same(&format!("spilled, cuts at {cuts:?}"), whole, &spilling.push(cuts.clone()), true)?;
        same("spilled, one-byte chunks", whole, &spilling.bytes(), true)?;
    }
    let held = [
        ("held 0", base.clone().with_held(0).with_spill(0)),
        ("held 7", base.clone().with_held(7).with_spill(0)),
        ("held 40", base.clone().with_held(40).with_spill(0)),
        ("held 3, spill 20", base.clone().with_held(3).with_spill(20)),
        ("item 0", base.clone().with_item(0)),
        ("item 9", base.clone().with_item(9)),
        ("depth 1", base.clone().with_depth(1)),
        ("depth 3", base.clone().with_depth(3)),
    ];
    let keys = [
        ("key 1", base.clone().with_key(1)),
        ("key 3", base.clone().with_key(3)),
        ("key 6", base.clone().with_key(6)),
    ];
    let tight: &[_] = if tight == Tight::Held { &held } else { &keys };
    let limited =
        |run: &Run| run.fault.as_ref().is_some_and(|fault| fault.kind == ErrorKind::Limit);
    let plain = plain.map(|program| Subject { program, ..subject }.push([]));
    let expected = |run: &Run| match &plain {
        // Without rules, its report has no items.
        Some(plain) if run.is_too_long_to_factor() => Run { report: None, ..plain.clone() },
        _ => whole.clone(),
    };
    let mut differences = Vec::new();
    for (name, limits) in tight {
        let options = with(limits.clone());
        let tight = Subject { options: &options, ..subject };
        let run = tight.push([]);
        if !limited(&run) {
            differences.extend(same(name, &expected(&run), &run, true).err());
        }
        let split = tight.push(cuts.clone());
        let bytes = tight.bytes();
        differences.extend(same(&format!("{name}, one-byte chunks"), &run, &bytes, true).err());
        differences.extend(same(&format!("{name}, cuts at {cuts:?}"), &run, &split, true).err());
        let slice = tight.slice();
        if !limited(whole) && !limited(&slice) {
            let expected = expected(&slice);
            differences.extend(same(&format!("{name}, slice"), &expected, &slice, false).err());
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

/// Compares two runs. With `emitted`, the output before an error must be the same, too.
pub fn same(driver: &str, expected: &Run, got: &Run, emitted: bool) -> Result<(), String> {
    let differ = |what: &str, expected: &dyn std::fmt::Debug, got: &dyn std::fmt::Debug| {
        Err(format!("{driver}: {what} differs\n  whole: {expected:?}\n  here:  {got:?}"))
    };
    // The limit `held` decides whether a budget can prefer information (SPEC §6).
    let is_too_long = |run: &Run| {
        let report = run.report.as_ref();
        report.is_some_and(|report| report.prefer_skipped == Some(tamis::PreferSkip::Size))
    };
    if is_too_long(got) && !is_too_long(expected) {
        return Ok(());
    }
    if expected.fault != got.fault {
        return differ("the error", &expected.fault, &got.fault);
    }
    let (one, two) = (&expected.output, &got.output);
    if (expected.fault.is_none() || emitted) && one.is_some() && two.is_some() && one != two {
        let text = |bytes: &Option<Vec<u8>>| {
            String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
        };
        return differ("the output", &text(one), &text(two));
    }
    if let (Some(one), Some(two)) = (&expected.report, &got.report) {
        // Most reports are equal. Comparing them first avoids writing them as JSON.
        let mut two = two.clone();
        two.plan.clone_from(&one.plan);
        two.held_peak_bytes = one.held_peak_bytes;
        if two == *one {
            return Ok(());
        }
    }
    let (one, mut two) = (expected.comparable(), got.comparable());
    if let (Some(one), Some(two)) = (&one, &mut two)
        && expected.fault.is_some()
        && !emitted
    {
        // One driver may have held bytes that another emitted before the error.
        two["filter_result_bytes"] = one["filter_result_bytes"].clone();
    }
    if one.is_some() && two.is_some() && one != two {
        let text = |json: &Option<Json>| json.as_ref().map(ToString::to_string);
        return differ("the report", &text(&one), &text(&two));
    }
    Ok(())
}
