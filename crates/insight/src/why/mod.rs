//! Explains which rule of a filter removed which bytes of a document, and whether one value is still there.
//!
//! ```
//! use tamis_insight::why::why;
//! use tamis::{Program, Spec};
//!
//! let program = Program::compile(&Spec::new().select("id").exclude("id.secret"))?;
//! let input = br#"[{"id": 1, "url": "https://example.com/1"}, {"id": 2, "url": "https://example.com/2"}]"#;
//! let why = why(&program, std::io::Cursor::new(input), None)?;
//! assert_eq!(why.input_bytes - why.removed_bytes + why.added_bytes, why.output_bytes);
//! let select = why.rules.iter().find(|rule| rule.rule == "select").unwrap();
//! assert_eq!((select.paths[0].path.as_str(), select.paths[0].count), ("[].url", 2));
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! Nothing is recorded while a filter runs, so a filter that is not asked costs what it always does. Instead, the document
//! is filtered once for each rule: with the first rule, with the first two, and so on. The bytes of each path of an output
//! are then compared with those of the output before it.

// `steps` divides the rules. Each output is counted by `look` while it is written, in one table of paths, and `difference`
// compares the figures of two outputs. `value` looks for one value in each of them. No output is kept.

mod difference;
mod report;
mod steps;
#[cfg(test)]
mod tests;
mod value;

use std::io::{self, Read, Seek, SeekFrom, Write};

pub use report::{PathEffect, RuleEffect, ValueFate, ValueOutcome, Why};
use steps::{Comparison, Step};
use tamis::{Call, CallOptions, Filter, KeptParts, Limits, Program, Report, WriteSink};
use tamis_json::error::{Error, ErrorKind};
use value::{DocumentChange, TracedValue, ValueProbe};

use crate::look::{Look, LookOptions};

/// Tokens are counted if the input is not longer than this, once for each rule. Those of longer ones are estimated.
const COUNTED: u64 = 64 << 20;
/// The first rule of every filter.
const WHITE_SPACE: &str = "white space";
/// An estimate, for bytes that are not counted.
const BYTES_PER_TOKEN: u64 = 4;

/// Filters the document of `input`, from its current position on, and explains which rule removed which bytes.
///
/// `call` is a [`&Program`](Program), or a program [with options](Program::with_options). With a `pointer` (RFC 6901, into
/// the input) the result also says which rule removed the value there. A value that a rule moves or renames is removed.
///
/// The document is read once for each rule, and for each entry of `exclude`, `where`, `patches` and `json_strings`; of
/// lists with more than 32 entries, neighbours are taken together. Memory is bounded by the number of paths.
///
/// # Errors
/// The errors of the filter itself, and an invalid pointer ([`ErrorKind::Spec`]).
pub fn why<'a, R: Read + Seek>(
    call: impl Into<Call<'a>>,
    mut input: R,
    pointer: Option<&str>,
) -> Result<Why, Error> {
    let call = call.into();
    let traced = pointer.map(TracedValue::new).transpose()?;
    let begin = input.stream_position().map_err(Error::read)?;
    let end = input.seek(SeekFrom::End(0)).map_err(Error::read)?;
    let input_bytes = end.saturating_sub(begin);
    let mut source = Source { input, begin };
    let (program, options) = (call.program(), call.options());
    let (whole, report) = source.filter(program, options, Output::default())?;
    let steps = steps::steps(program, options, &report);
    let counts = input_bytes.saturating_mul(steps.len() as u64) <= COUNTED;
    // Outputs of the filter may have longer names than those that its rules read.
    let limits = Limits::new();
    let key = limits.key().max(options.limits().key());
    let limits = limits.with_depth(options.limits().depth()).with_key(key);
    let look = LookOptions::new().with_limits(limits.clone()).with_exact(counts);
    let mut account = Account {
        len: input_bytes,
        look: Look::new(&look),
        limits,
        is_counted: false,
        depth: 0,
        postponed: Vec::new(),
        rules: Vec::new(),
        traced,
        counts,
    };
    for step in steps {
        account.step(&mut source, step)?;
    }
    let kept = report.budget_cuts.map(|cuts| cuts.kept).unwrap_or_default();
    Ok(account.finish(input_bytes, whole.len, kept))
}

/// The input, which is filtered several times.
struct Source<R> {
    input: R,
    begin: u64,
}

impl<R: Read + Seek> Source<R> {
    fn filter<'a>(
        &mut self,
        program: &Program,
        options: &CallOptions,
        output: Output<'a>,
    ) -> Result<(Output<'a>, Report), Error> {
        self.input.seek(SeekFrom::Start(self.begin)).map_err(Error::read)?;
        let mut filter = Filter::new(program.with_options(options), WriteSink::new(output));
        let report = filter.read_from(&mut self.input)?;
        Ok((filter.into_sink().into_inner(), report))
    }
}

/// An output that is counted while it is written.
#[derive(Default)]
struct Output<'a> {
    len: u64,
    look: Option<&'a mut Look>,
    /// Looks for the value that is asked about.
    probe: Option<ValueProbe>,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.len += bytes.len() as u64;
        // A look that fails is asked at the end.
        self.look = self.look.take().and_then(|look| look.write(bytes).is_ok().then_some(look));
        if let Some(probe) = &mut self.probe {
            probe.write(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The account of all rules so far.
struct Account {
    /// The length of the document after the last step.
    len: u64,
    /// The paths of all documents.
    look: Look,
    limits: Limits,
    /// The document after the last step is JSON, and `look` has counted it.
    is_counted: bool,
    /// The number of steps of its path in the input.
    depth: usize,
    /// The rules of steps that failed.
    postponed: Vec<String>,
    rules: Vec<RuleEffect>,
    traced: Option<TracedValue>,
    counts: bool,
}

impl Account {
    /// Runs the rules of a step and accounts for the last one.
    fn step<R: Read + Seek>(&mut self, source: &mut Source<R>, step: Step) -> Result<(), Error> {
        let Step { rule, detail, spec, options, comparison } = step;
        if let (Some(traced), Comparison::Extract(path)) = (&mut self.traced, &comparison) {
            traced.enter(path, &rule);
        }
        let has_path = match &comparison {
            Comparison::Extract(path) => self.look.enter(path),
            Comparison::Paths | Comparison::Elements => true,
            Comparison::Lengths => false,
        };
        let before = self.len;
        let probe = self.traced.as_ref().and_then(|traced| traced.probe(&self.limits));
        let output = Output { len: 0, look: Some(&mut self.look), probe };
        let ran =
            Program::compile(&spec).and_then(|program| source.filter(&program, &options, output));
        let (after, probe, is_json) = match ran {
            Ok((Output { len, look, probe }, _)) => {
                (len, probe, look.is_some_and(|look| look.end().is_ok()))
            }
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
            // Rules that do not compile or fail without later ones are explained together with the next one.
            Err(_) => {
                self.look.next_document(false);
                self.postponed.extend(Some(rule).filter(|rule| !rule.is_empty()));
                return Ok(());
            }
        };
        if rule.is_empty() {
            self.white_space(after);
        } else {
            self.postponed.push(rule);
            let rule = std::mem::take(&mut self.postponed).join(" + ");
            let mut effect = RuleEffect { text: detail, ..RuleEffect::new(&rule) };
            let (paths, root) = self.look.paths();
            let counted: u64 = paths.nodes().iter().map(|node| node.figures.bytes).sum();
            if has_path && is_json && self.is_counted && counted == after {
                effect.fill(difference::difference(paths, root, self.depth), self.counts);
            } else {
                self.lengths(&mut effect, after);
            }
            self.rules.push(effect);
            self.len = after;
        }
        if let Some(traced) = &mut self.traced {
            let rule = self.rules.last().map_or(WHITE_SPACE, |effect| &effect.rule);
            let change = match comparison {
                Comparison::Lengths if rule != WHITE_SPACE => DocumentChange::Form,
                Comparison::Elements if after != before => DocumentChange::Elements,
                _ => DocumentChange::Members,
            };
            traced.step(probe.and_then(ValueProbe::end), rule, change);
        }
        if let Comparison::Extract(path) = &comparison {
            self.depth += path.0.len();
        }
        self.is_counted = is_json;
        self.look.next_document(true);
        Ok(())
    }

    /// Accounts for a document without white space, or for the output with the white space that is kept.
    fn white_space(&mut self, len: u64) {
        if let Some(first) = self.rules.first_mut().filter(|rule| rule.rule == WHITE_SPACE) {
            // With `when`, the step that chooses the branch changes nothing.
            let kept = len.saturating_sub(self.len);
            first.removed_bytes = first.removed_bytes.saturating_sub(kept);
            first.tokens = first.removed_bytes / BYTES_PER_TOKEN;
            self.len += kept;
            return;
        }
        let mut effect = RuleEffect::new(WHITE_SPACE);
        self.lengths(&mut effect, len);
        self.rules.push(effect);
        self.len = len;
    }

    /// Accounts for the difference of two lengths.
    fn lengths(&self, effect: &mut RuleEffect, after: u64) {
        effect.removed_bytes = self.len.saturating_sub(after);
        effect.added_bytes = after.saturating_sub(self.len);
        effect.tokens = effect.removed_bytes / BYTES_PER_TOKEN;
    }

    /// Returns the result. `output_bytes`: of the whole program. `kept`: what its budget kept.
    fn finish(mut self, input_bytes: u64, output_bytes: u64, kept: Vec<KeptParts>) -> Why {
        if !self.postponed.is_empty() || self.len != output_bytes {
            // The rules together do something else than one after the other.
            let rule = if self.postponed.is_empty() {
                "all rules together".to_owned()
            } else {
                std::mem::take(&mut self.postponed).join(" + ")
            };
            let mut effect = RuleEffect::new(&rule);
            self.lengths(&mut effect, output_bytes);
            if let Some(traced) = &mut self.traced {
                traced.step(None, &rule, DocumentChange::Form);
            }
            self.rules.push(effect);
        }
        let value = self.traced.take().map(|traced| traced.fate(&self.rules));
        let sum = |field: fn(&RuleEffect) -> u64| self.rules.iter().map(field).sum();
        Why {
            version: 1,
            input_bytes,
            output_bytes,
            removed_bytes: sum(|rule| rule.removed_bytes),
            added_bytes: sum(|rule| rule.added_bytes),
            tokens_counted: self.counts,
            value,
            kept,
            rules: self.rules,
        }
    }
}

impl RuleEffect {
    fn new(rule: &str) -> Self {
        Self {
            rule: rule.to_owned(),
            text: String::new(),
            count: 0,
            removed_bytes: 0,
            added_bytes: 0,
            tokens: 0,
            paths: Vec::new(),
        }
    }

    /// Takes the effects at paths over. `counts`: their tokens are counted.
    fn fill(&mut self, paths: Vec<PathEffect>, counts: bool) {
        self.paths = paths;
        for path in &mut self.paths {
            if !counts {
                path.tokens = path.removed_bytes / BYTES_PER_TOKEN;
            }
            self.count += path.count;
            self.removed_bytes += path.removed_bytes;
            self.added_bytes += path.added_bytes;
            self.tokens += path.tokens;
        }
    }
}
