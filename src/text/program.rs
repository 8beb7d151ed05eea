//! A text filter, compiled once.

use std::fmt;
use std::sync::Arc;

use super::cut::Most;
use super::entry::EntryStage;
use super::more::{self, More};
use super::patterns::Patterns;
use super::report::TextReport;
use super::sift::Sift;
use super::stage::LineStage;
use super::{TextRun, engine};
use crate::error::{Error, ErrorKind, RulePlace};
use crate::limits::Limits;
use crate::regex_budget::RegexBudget;
use crate::spec::{DedupMode, TextSpec};

/// A [`TextSpec`], compiled. Immutable, cheap to clone, shared by any number of threads.
///
/// ```
/// use tamis::{TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true).dedup(true))?;
/// let (output, report) = program.apply(b"\x1b[33mretrying\x1b[0m\nretrying\nretrying\ndone\n");
/// assert_eq!(output, b"retrying (x3)\ndone\n");
/// assert_eq!(report.lines_folded, 2);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone)]
pub struct TextProgram(Arc<Compiled>);

#[derive(Default)]
pub(super) struct Compiled {
    filter: TextSpec,
    sift: Sift,
    more: more::Compiled,
    /// Lines of the input that have the form of a notice are marked: not where there is no operation.
    pub(super) marks: bool,
    /// The same where the output is made: not if the engine has marked them.
    pub(super) marks_output: bool,
}

impl TextProgram {
    /// Compiles a filter.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`](crate::ErrorKind::Spec): a pattern that is none, is empty, or compiles to more than 10 MiB with
    /// its list, or more than 24 MiB with both; more than 10,000 in a list; a list to keep lines by that has no pattern. The
    /// message names the list, the pattern and the character.
    ///
    /// ```
    /// use tamis::{TextProgram, TextSpec};
    ///
    /// let error = TextProgram::compile(&TextSpec::new().strip_lines_matching("npm (warn")).unwrap_err();
    /// assert_eq!(error.to_string(), "strip_lines_matching: unclosed group (character 5 of `npm (warn`)");
    /// assert_eq!(error.excerpt(), Some("npm (warn\n    ^"));
    /// ```
    pub fn compile(filter: &TextSpec) -> Result<Self, Error> {
        Self::compile_with(filter, &More::default(), &mut RegexBudget::new())
    }

    /// The same with more operations, where other patterns have taken their part of the allowance.
    pub(crate) fn compile_with(
        filter: &TextSpec,
        more: &More,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let strip = match filter.strip_lines_matching.as_deref() {
            None | Some([]) => None,
            Some(texts) => Some(Patterns::compile("strip_lines_matching", texts, allowance)?),
        };
        let keep = match filter.keep_lines_matching.as_deref() {
            None => None,
            Some([]) => {
                let message = "keep_lines_matching has no pattern, so that no line would stay; leave it out to keep all";
                let place = RulePlace {
                    rule: "keep_lines_matching",
                    entry: 0,
                    is_key: false,
                    at: 0,
                    message: message.to_owned(),
                };
                return Err(Error::new(ErrorKind::Spec, message).in_rule(place));
            }
            Some(texts) => Some(Patterns::compile("keep_lines_matching", texts, allowance)?),
        };
        let mut more = more.clone();
        if more.dedup.is_none() {
            more.dedup = match filter.dedup {
                DedupMode::Off => None,
                scope => Some(more::Dedup {
                    everywhere: scope == DedupMode::Everywhere,
                    ..more::Dedup::default()
                }),
            };
        }
        let sift = Sift { strip, keep };
        let is_nothing = *filter == TextSpec::new() && more.is_nothing();
        let (compiled, sift) = more::Compiled::new(&more, sift, allowance)?;
        Ok(Self(Arc::new(Compiled {
            filter: filter.clone(),
            sift,
            more: compiled,
            marks: !is_nothing,
            marks_output: !is_nothing && !more.marks,
        })))
    }

    /// No operations: counts, and passes everything.
    #[cfg(feature = "command")]
    pub(crate) fn passing() -> Self {
        Self(Arc::new(Compiled::default()))
    }

    /// No operations, but lines that have the form of a notice are marked.
    #[cfg(feature = "command")]
    pub(crate) fn marking() -> Self {
        Self(Arc::new(Compiled { marks: true, marks_output: true, ..Compiled::default() }))
    }

    /// The filter that this program was compiled from.
    #[must_use]
    pub fn filter(&self) -> &TextSpec {
        &self.0.filter
    }

    /// Filters a text that is at hand.
    #[must_use]
    pub fn apply(&self, text: &[u8]) -> (Vec<u8>, TextReport) {
        let mut run = TextRun::new(self, Vec::new());
        run.write(text);
        run.end()
    }

    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        &self.0
    }
}

impl fmt::Debug for TextProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextProgram").field(self.filter()).finish()
    }
}

impl Compiled {
    pub(super) fn operations(&self, limits: &Limits) -> engine::Operations {
        let more::Compiled { head, tail, uncut, .. } = self.more;
        // `max_lines` is a head.
        let head = if head == 0 { self.filter.max_lines } else { head };
        engine::Operations {
            terminal: self.filter.strip_ansi,
            most: Most { head, tail, uncut, held: more::held(limits) },
        }
    }

    /// Stages before the patterns.
    pub(super) fn front(&self, limits: &Limits) -> Vec<Box<dyn LineStage>> {
        self.more.front(limits)
    }

    /// Stages after them.
    pub(super) fn back(&self, limits: &Limits) -> Vec<Box<dyn EntryStage>> {
        self.more.back(limits)
    }

    pub(super) fn on_empty(&self) -> Option<&str> {
        self.filter.on_empty.as_deref()
    }

    /// Whether a line stays.
    #[inline]
    pub(super) fn keeps(&self, line: &[u8]) -> bool {
        self.sift.keeps(line)
    }

    /// Whether the beginning of a line is shown, for which nobody waits any longer. It may be a question: a rule for commands
    /// lets it pass unless it is certain that the line goes.
    pub(super) fn keeps_early(&self, head: &[u8]) -> bool {
        if !self.more.keeps_doubtful {
            return self.keeps_long(head);
        }
        self.sift.keeps_early(head) && self.more.outside.keeps_early(head)
    }

    /// Whether a line stays of which more follows, too much to be held. Where patterns are not certain it goes (what is not to
    /// be seen may be in it), but for rules for commands: there, what failed may be in it.
    pub(super) fn keeps_long(&self, head: &[u8]) -> bool {
        self.sift.keeps_long(head, self.more.keeps_doubtful)
    }
}
