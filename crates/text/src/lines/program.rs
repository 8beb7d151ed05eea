//! [`TextProgram`]: a text spec compiled once.

use std::fmt;
use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind, RulePlace};
use tamis_json::limits::Limits;
use tamis_json::regex_budget::RegexBudget;

use super::entry_stage::EntryStage;
use super::head_tail::HeadTailLimits;
use super::line_patterns::LinePatterns;
use super::line_stage::LineStage;
use super::pattern_list::PatternList;
use super::pipeline::TextPipeline;
use super::report::TextReport;
use super::rule_ops::{self, CompiledRuleOps, DedupSpec, RuleOperations};
use super::terminal_row::FrameMode;
use crate::line_rules::{DedupMode, TextSpec};

/// A compiled [`TextSpec`]. Immutable, cheap to clone, shared by any number of threads.
///
/// ```
/// use tamis::text::{TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true).dedup(true))?;
/// let (output, report) = program.apply(b"\x1b[33mretrying\x1b[0m\nretrying\nretrying\ndone\n");
/// assert_eq!(output, b"retrying (x3)\ndone\n");
/// assert_eq!(report.lines_folded, 2);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone)]
pub struct TextProgram(Arc<CompiledText>);

#[derive(Default)]
pub(super) struct CompiledText {
    spec: TextSpec,
    patterns: LinePatterns,
    rule_ops: CompiledRuleOps,
    /// Whether input lines that look like a notice are marked. Off if there is no operation.
    pub(super) marks: bool,
    /// Whether output lines that look like a notice are marked. Off if the engine has marked them.
    pub(super) marks_output: bool,
}

impl TextProgram {
    /// Compiles a spec.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`](tamis_json::error::ErrorKind::Spec) if a pattern is invalid or empty; if a list has more than 10,000
    /// patterns, or compiles to more than 10 MiB, or both lists to more than 24 MiB; or if `keep_lines_matching` is an
    /// empty list. The message names the list and the position in the pattern.
    ///
    /// ```
    /// use tamis::text::{TextProgram, TextSpec};
    ///
    /// let error = TextProgram::compile(&TextSpec::new().strip_lines_matching("npm (warn")).unwrap_err();
    /// assert_eq!(error.to_string(), "strip_lines_matching: unclosed group (character 5 of `npm (warn`)");
    /// assert_eq!(error.excerpt(), Some("npm (warn\n    ^"));
    /// ```
    pub fn compile(spec: &TextSpec) -> Result<Self, Error> {
        Self::compile_with(spec, &RuleOperations::default(), &mut RegexBudget::new())
    }

    /// Compiles a spec together with operations that only rules can declare. The patterns are charged to `allowance`.
    pub fn compile_with(
        spec: &TextSpec,
        operations: &RuleOperations,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        // No `..`: a new field has to be compiled here, or named as one that is used where the text is filtered.
        let TextSpec {
            strip_ansi: _,
            strip_lines_matching,
            keep_lines_matching,
            dedup,
            max_lines: _,
            on_empty: _,
        } = spec;
        let strip = match strip_lines_matching.as_deref() {
            None | Some([]) => None,
            Some(texts) => Some(PatternList::compile("strip_lines_matching", texts, allowance)?),
        };
        let keep = match keep_lines_matching.as_deref() {
            None => None,
            Some([]) => {
                let message = "keep_lines_matching is empty, which would remove every line; omit it to keep all lines";
                let place = RulePlace {
                    rule: "keep_lines_matching",
                    entry: 0,
                    is_key: false,
                    at: 0,
                    message: message.to_owned(),
                };
                return Err(Error::new(ErrorKind::Spec, message).in_rule(place));
            }
            Some(texts) => Some(PatternList::compile("keep_lines_matching", texts, allowance)?),
        };
        let mut operations = operations.clone();
        if operations.dedup.is_none() {
            operations.dedup = match dedup {
                DedupMode::Off => None,
                scope => Some(DedupSpec {
                    everywhere: *scope == DedupMode::Everywhere,
                    ..DedupSpec::default()
                }),
            };
        }
        let patterns = LinePatterns { strip, keep };
        let is_nothing = *spec == TextSpec::new() && operations.is_nothing();
        let marks_output = !is_nothing && !operations.marks;
        let (rule_ops, patterns) = CompiledRuleOps::new(operations, patterns, allowance)?;
        Ok(Self(Arc::new(CompiledText {
            spec: spec.clone(),
            patterns,
            rule_ops,
            marks: !is_nothing,
            marks_output,
        })))
    }

    /// Returns a program that shows the text as a terminal does, and marks nothing.
    pub fn rendering() -> Self {
        let spec = TextSpec::new().strip_ansi(true);
        Self(Arc::new(CompiledText { spec, ..CompiledText::default() }))
    }

    /// Returns a program without operations: it counts, and keeps every byte.
    pub fn passing() -> Self {
        Self(Arc::new(CompiledText::default()))
    }

    /// Returns a program that only marks lines that look like a notice.
    pub fn marking() -> Self {
        Self(Arc::new(CompiledText { marks: true, marks_output: true, ..CompiledText::default() }))
    }

    /// Returns the spec that this program was compiled from.
    #[must_use]
    pub fn spec(&self) -> &TextSpec {
        &self.0.spec
    }

    /// Filters a text in memory, with default [`Limits`].
    #[must_use]
    pub fn apply(&self, text: &[u8]) -> (Vec<u8>, TextReport) {
        let mut pipeline = TextPipeline::new(self, &Limits::new());
        let mut output = Vec::new();
        pipeline.write(text, &mut output);
        pipeline.end(&mut output);
        let report = pipeline.settle(&mut output);
        (output, report)
    }

    pub(super) fn compiled(&self) -> &Arc<CompiledText> {
        &self.0
    }
}

impl fmt::Debug for TextProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextProgram").field(self.spec()).finish()
    }
}

impl CompiledText {
    /// Whether escape sequences, carriage returns and backspaces are applied as a terminal applies them.
    pub(super) fn plays_terminal(&self) -> bool {
        self.spec.strip_ansi
    }

    /// Returns which overwritten texts become lines.
    pub(super) fn frames(&self) -> FrameMode {
        if self.rule_ops.keeps_frames { FrameMode::All } else { FrameMode::Failures }
    }

    pub(super) fn head_tail_limits(&self, limits: &Limits) -> HeadTailLimits {
        let CompiledRuleOps { head, tail, uncut, .. } = self.rule_ops;
        // `max_lines` of a text filter is a plain limit.
        let keeps_messages = head > 0 || tail > 0 || uncut > 0;
        let held = rule_ops::held(limits);
        // `max_lines` is a head.
        let head = if head == 0 { self.spec.max_lines } else { head };
        HeadTailLimits { head, tail, uncut, held, keeps_messages }
    }

    /// Returns the patterns of lines that are never left out.
    pub(super) fn messages(&self) -> Option<Arc<PatternList>> {
        self.rule_ops.messages.clone()
    }

    /// Creates the stages before the patterns.
    pub(super) fn front(&self, limits: &Limits) -> Vec<Box<dyn LineStage>> {
        self.rule_ops.front(limits)
    }

    /// Creates the stages after the patterns.
    pub(super) fn back(&self, limits: &Limits) -> Vec<Box<dyn EntryStage>> {
        self.rule_ops.back(limits)
    }

    pub(super) fn on_empty(&self) -> Option<&str> {
        self.spec.on_empty.as_deref()
    }

    /// Whether the patterns keep a complete line.
    #[inline]
    pub(super) fn keeps(&self, line: &[u8]) -> bool {
        self.patterns.keeps(line)
    }

    /// Whether the beginning of an open line is written on release, before the line has ended.
    ///
    /// It may be a question, so rules for commands write it unless its beginning proves that the line is removed. A
    /// text filter writes it only if its beginning proves that the line is kept.
    pub(super) fn keeps_early(&self, head: &[u8]) -> bool {
        if !self.rule_ops.keeps_doubtful {
            return self.keeps_long(head);
        }
        self.patterns.keeps_early(head) && self.rule_ops.outside.keeps_early(head)
    }

    /// Whether a line is written that is too long to be held and begins with `head`.
    ///
    /// If `head` does not decide, a text filter removes the line, because it may contain what the filter has to hide.
    /// A rule for commands keeps it, because it may contain a failure.
    pub(super) fn keeps_long(&self, head: &[u8]) -> bool {
        self.patterns.keeps_long(head, self.rule_ops.keeps_doubtful)
    }
}
