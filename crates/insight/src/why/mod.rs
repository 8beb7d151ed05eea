//! Explains which rule of a filter removed which bytes of a document, and what became of one value.
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
//! is filtered once for each rule: with the first rule, with the first two, and so on. Each output is then compared with
//! the one before it.

// `steps` divides the rules, `spool` keeps the outputs. `merge` compares two outputs member by member; for a select and
// an `extract`, `taken` compares with the list of what they take (`select`). `ledger` is the account of one rule; `trace`
// follows one value through all of them.

mod json_cursor;
mod ledger;
mod merge;
mod report;
mod select;
mod spool;
mod steps;
mod taken;
#[cfg(test)]
mod tests;
mod trace;

use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

use ledger::{Fate, Ledger, PathId, Paths};
use merge::Merge;
pub use report::{PathEffect, RuleEffect, ValueFate, ValueOutcome, Why};
use select::Unit;
use spool::{Cursor, Spool};
use steps::{Comparison, Step};
use tamis::Report;
use tamis::WriteSink;
use tamis::{Call, CallOptions, Filter, Program};
use tamis_json::error::{Error, ErrorKind};
use tamis_json::path::Path;
use trace::{Outcome, Traced};

/// The largest input whose tokens are counted. Those of longer ones are estimated.
const COUNTED: u64 = 16 << 20;
/// The first rule of every filter.
const WHITE_SPACE: &str = "white space";
/// An estimate, for bytes that are not counted.
const BYTES_PER_TOKEN: u64 = 4;

/// Filters the document of `input`, from its current position on, and explains which rule removed which bytes.
///
/// `call` is a [`&Program`](Program), or a program [with options](Program::with_options). With a `pointer` (RFC 6901, into
/// the input) the result also says what became of the value there; of several members with that name the first is meant.
///
/// The document is read once for each rule, and for each entry of `exclude`, `where`, `patches` and `json_strings`; of
/// lists with more than 32 entries, neighbours are taken together. Two outputs at a time wait in memory, then in temporary
/// files, up to [`Limits::held`](tamis::Limits::held) and [`Limits::spill`](tamis::Limits::spill).
///
/// # Errors
/// The errors of the filter itself, an invalid pointer ([`ErrorKind::Spec`]), and outputs that exceed the limits.
pub fn why<'a, R: Read + Seek>(
    call: impl Into<Call<'a>>,
    mut input: R,
    pointer: Option<&str>,
) -> Result<Why, Error> {
    let call = call.into();
    let traced = match pointer {
        None => None,
        Some(text) => {
            let parsed = Path::pointer(text);
            let path = parsed.map_err(|error| Error::spec(error.line("why", text)))?;
            Some(Traced::new(path))
        }
    };
    let begin = input.stream_position().map_err(Error::read)?;
    let end = input.seek(SeekFrom::End(0)).map_err(Error::read)?;
    let mut source = Source { input, begin };
    let (program, options) = (call.program(), call.options());
    let (output, report) = source.filter(program, options)?;
    let steps = steps::steps(program, options, &report);
    let mut account = Account::new(end.saturating_sub(begin), &report, traced);
    for step in steps {
        // Rules that do not compile or fail without later ones are explained together with the next one.
        let ran =
            Program::compile(&step.spec).and_then(|program| source.filter(&program, &step.options));
        match ran {
            Ok((after, _)) => account.step(step, after)?,
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
            Err(_) => account.postpone(&step),
        }
    }
    account.finish(&output, pointer)
}

/// The input, which is filtered several times.
struct Source<R> {
    input: R,
    begin: u64,
}

impl<R: Read + Seek> Source<R> {
    fn filter(
        &mut self,
        program: &Program,
        options: &CallOptions,
    ) -> Result<(Spool, Report), Error> {
        self.input.seek(SeekFrom::Start(self.begin)).map_err(Error::read)?;
        let sink = WriteSink::new(Spool::new(options.limits()));
        let mut filter = Filter::new(program.with_options(options), sink);
        let ran = filter.read_from(&mut self.input);
        let output = filter.into_sink().into_inner();
        match ran {
            Ok(report) => Ok((output, report)),
            Err(error) => Err(output.blame(error)),
        }
    }
}

/// The account of all rules so far.
struct Account {
    input_bytes: u64,
    paths: Paths,
    /// The path of the payload.
    root: Option<PathId>,
    /// The document after the last step, which is valid JSON unless it is the last one.
    document: Option<Spool>,
    /// The length of the document after the last step.
    len: u64,
    /// The rules of steps that failed.
    postponed: Vec<String>,
    rules: Vec<RuleEffect>,
    traced: Option<Traced>,
    counts: bool,
}

impl Account {
    fn new(input_bytes: u64, report: &Report, traced: Option<Traced>) -> Self {
        let mut paths = Paths::new();
        let root = report
            .root
            .as_ref()
            .map(|root| root.names().fold(Paths::DOCUMENT, |path, name| paths.member(path, &name)));
        let counts = input_bytes <= COUNTED;
        Self {
            input_bytes,
            paths,
            root,
            document: None,
            len: input_bytes,
            postponed: Vec::new(),
            rules: Vec::new(),
            traced,
            counts,
        }
    }

    /// Leaves the rules of a step to the next one.
    fn postpone(&mut self, step: &Step) {
        if !step.rule.is_empty() {
            self.postponed.push(step.rule.clone());
        }
    }

    /// Accounts for the document after a step.
    fn step(&mut self, step: Step, after: Spool) -> Result<(), Error> {
        let Step { rule, detail, comparison, .. } = step;
        if rule.is_empty() {
            self.white_space(after);
            return Ok(());
        }
        self.postponed.push(rule);
        let rule = std::mem::take(&mut self.postponed).join(" + ");
        let mut effect = RuleEffect {
            rule,
            text: detail,
            count: 0,
            removed_bytes: 0,
            added_bytes: 0,
            tokens: 0,
            paths: Vec::new(),
        };
        match (&self.document, &comparison) {
            (Some(before), Comparison::Merge(_) | Comparison::Extract(_)) => {
                let offset = self.traced.as_ref().and_then(Traced::offset);
                let mut ledger = Ledger::new(&mut self.paths, self.counts, offset);
                compare(&comparison, before, &after, &mut ledger, self.root);
                before.check()?;
                after.check()?;
                let fate = ledger.fate;
                effect.fill(ledger);
                let is_exact =
                    before.len() + effect.added_bytes == after.len() + effect.removed_bytes;
                debug_assert!(is_exact, "{effect:?}: {} to {}", before.len(), after.len());
                if is_exact {
                    self.follow(fate, &effect);
                } else {
                    effect = RuleEffect { count: 0, paths: Vec::new(), ..effect };
                    self.lengths(&mut effect, after.len());
                }
            }
            (before, _) => {
                let is_same = before.as_ref().is_some_and(|before| are_equal(before, &after));
                self.lengths(&mut effect, after.len());
                if let Some(traced) = self.traced.as_mut().filter(|_| !is_same) {
                    traced.lose(&effect.rule);
                }
            }
        }
        self.len = after.len();
        self.rules.push(effect);
        self.document = Some(after);
        Ok(())
    }

    /// Accounts for a document without white space, or for the output with the white space that is kept.
    fn white_space(&mut self, after: Spool) {
        let len = after.len();
        if let Some(first) = self.rules.first_mut().filter(|rule| rule.rule == WHITE_SPACE) {
            // With `when`, the step that chooses the branch changes nothing.
            let kept = len.saturating_sub(self.len);
            first.removed_bytes = first.removed_bytes.saturating_sub(kept);
            first.tokens = first.removed_bytes / BYTES_PER_TOKEN;
            self.len += kept;
            return;
        }
        let mut effect = RuleEffect::white_space();
        self.lengths(&mut effect, len);
        self.rules.push(effect);
        if let Some(traced) = &mut self.traced {
            traced.find(&after);
        }
        self.len = len;
        self.document = Some(after);
    }

    /// Accounts for the difference of two lengths.
    fn lengths(&self, effect: &mut RuleEffect, after: u64) {
        effect.removed_bytes = self.len.saturating_sub(after);
        effect.added_bytes = after.saturating_sub(self.len);
        effect.tokens = effect.removed_bytes / BYTES_PER_TOKEN;
    }

    fn follow(&mut self, fate: Option<Fate>, effect: &RuleEffect) {
        if let Some(traced) = &mut self.traced {
            traced.follow(fate, &effect.rule);
        }
    }

    /// Returns the result. `output`: of the whole program.
    fn finish(mut self, output: &Spool, pointer: Option<&str>) -> Result<Why, Error> {
        let output_bytes = output.len();
        let is_complete = self.postponed.is_empty() && self.len == output_bytes;
        if !is_complete {
            // The rules together do something else than one after the other.
            let rule = if self.postponed.is_empty() {
                "all rules together".to_owned()
            } else {
                std::mem::take(&mut self.postponed).join(" + ")
            };
            let mut effect = RuleEffect { rule, ..RuleEffect::white_space() };
            self.lengths(&mut effect, output_bytes);
            if let Some(traced) = &mut self.traced {
                traced.lose(&effect.rule);
            }
            self.rules.push(effect);
        }
        let outcome = self.traced.take().map(|traced| traced.outcome(self.document.as_ref()));
        let value = outcome.map(|outcome| self.fate(outcome, pointer.unwrap_or_default()));
        let sum = |field: fn(&RuleEffect) -> u64| self.rules.iter().map(field).sum();
        Ok(Why {
            version: 1,
            input_bytes: self.input_bytes,
            output_bytes,
            removed_bytes: sum(|rule| rule.removed_bytes),
            added_bytes: sum(|rule| rule.added_bytes),
            tokens_counted: self.counts,
            value,
            rules: self.rules,
        })
    }

    /// Returns the public form of an outcome.
    fn fate(&self, outcome: Outcome, pointer: &str) -> ValueFate {
        let (outcome, rule, output_pointer) = match outcome {
            Outcome::Missing => (ValueOutcome::Missing, None, None),
            Outcome::Kept { at, mut changed_by } => match changed_by.pop() {
                Some(rule) => (ValueOutcome::Changed, Some(rule), Some(at)),
                None => (ValueOutcome::Kept, None, Some(at)),
            },
            Outcome::InPart(rule) => (ValueOutcome::KeptInPart, Some(rule), None),
            Outcome::Removed(rule) => (ValueOutcome::Removed, Some(rule), None),
            Outcome::Rewritten(rule) => (ValueOutcome::Rewritten, Some(rule), None),
        };
        let effect = self.rules.iter().find(|effect| Some(&effect.rule) == rule.as_ref());
        let text = effect.map(|effect| effect.text.clone()).filter(|text| !text.is_empty());
        ValueFate { pointer: pointer.to_owned(), outcome, rule, text, output_pointer }
    }
}

impl RuleEffect {
    fn white_space() -> Self {
        Self {
            rule: WHITE_SPACE.to_owned(),
            text: String::new(),
            count: 0,
            removed_bytes: 0,
            added_bytes: 0,
            tokens: 0,
            paths: Vec::new(),
        }
    }

    /// Takes the account of a rule over.
    fn fill(&mut self, ledger: Ledger<'_>) {
        let (paths, lines) = ledger.finish();
        self.paths = lines
            .into_iter()
            .map(|(path, line)| PathEffect {
                path: paths.text(path),
                count: line.count,
                removed_bytes: line.removed,
                added_bytes: line.added,
                tokens: line.tokens,
            })
            .collect();
        self.paths.sort_by(|one, other| {
            let bytes = other.removed_bytes.cmp(&one.removed_bytes);
            bytes.then_with(|| one.path.cmp(&other.path))
        });
        for path in &self.paths {
            self.count += path.count;
            self.removed_bytes += path.removed_bytes;
            self.added_bytes += path.added_bytes;
            self.tokens += path.tokens;
        }
    }
}

/// Compares two documents.
fn compare(
    comparison: &Comparison,
    before: &Spool,
    after: &Spool,
    ledger: &mut Ledger<'_>,
    root: Option<PathId>,
) {
    match comparison {
        Comparison::Merge(effect) => Merge::new(before, after, ledger, effect, root).run(),
        Comparison::Extract(path) => {
            let place: Rc<[_]> = path.0.as_slice().into();
            let mut unit = Some(Unit { place, key: None, start: 0, len: after.len() });
            let mut cursor = Cursor::new(before);
            taken::compare(Paths::DOCUMENT, &mut cursor, ledger, |_| unit.take());
        }
        Comparison::Lengths => {}
    }
}

fn are_equal(one: &Spool, other: &Spool) -> bool {
    let len = one.len();
    let common = || Cursor::new(one).common(0..len, &mut Cursor::new(other), 0..len);
    len == other.len() && common() == len
}
