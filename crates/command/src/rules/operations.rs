//! The declared operations of a rule for one exit condition, and their compilation.

use tamis_json::error::Error;
use tamis_json::regex_budget::RegexBudget;
use tamis_text::lines::rule_ops::{
    DedupSpec, GroupSpec, ReplaceSpec, RuleOperations, SectionSpec, StageFactory,
};

use tamis::text::TextProgram;
use tamis::text::TextSpec;

/// Declared operations. Operations that are not declared are `None`, so that an exit condition inherits them from the
/// rule.
#[derive(Clone, Debug, Default)]
pub(super) struct DeclaredOperations {
    pub(super) strip_ansi: Option<bool>,
    pub(super) keep_overwritten: Option<bool>,
    pub(super) strip: Option<Vec<String>>,
    pub(super) keep: Option<Vec<String>>,
    pub(super) failures: Option<Vec<SectionSpec>>,
    pub(super) sections: Option<Vec<SectionSpec>>,
    pub(super) strip_sections: Option<Vec<SectionSpec>>,
    pub(super) replace: Option<Vec<ReplaceSpec>>,
    pub(super) group: Option<GroupSpec>,
    /// `Some(None)` turns deduplication off, whatever the rule declares.
    pub(super) dedup: Option<Option<DedupSpec>>,
    pub(super) head: Option<u64>,
    pub(super) tail: Option<u64>,
    pub(super) max_lines: Option<u64>,
    pub(super) messages: Option<Vec<String>>,
    pub(super) on_empty: Option<String>,
    pub(super) engine: Option<StageFactory>,
}

impl DeclaredOperations {
    /// Whether the middle or the end of a long output is left out.
    pub(super) fn cut(&self) -> bool {
        self.head.is_some() || self.tail.is_some() || self.max_lines.is_some()
    }

    /// Adds the operations of the rule that are not declared here.
    pub(super) fn over(self, rule: &Self) -> Self {
        let Self {
            strip_ansi,
            keep_overwritten,
            strip,
            keep,
            failures,
            sections,
            strip_sections,
            replace,
            group,
            dedup,
            head,
            tail,
            max_lines,
            messages,
            on_empty,
            engine,
        } = self;
        let rule = rule.clone();
        Self {
            strip_ansi: strip_ansi.or(rule.strip_ansi),
            keep_overwritten: keep_overwritten.or(rule.keep_overwritten),
            strip: strip.or(rule.strip),
            keep: keep.or(rule.keep),
            failures: failures.or(rule.failures),
            sections: sections.or(rule.sections),
            strip_sections: strip_sections.or(rule.strip_sections),
            replace: replace.or(rule.replace),
            group: group.or(rule.group),
            dedup: dedup.or(rule.dedup),
            head: head.or(rule.head),
            tail: tail.or(rule.tail),
            max_lines: max_lines.or(rule.max_lines),
            messages: messages.or(rule.messages),
            on_empty: on_empty.or(rule.on_empty),
            engine: engine.or(rule.engine),
        }
    }

    /// Compiles the operations. EscapeState sequences and overwritten text are removed unless `strip_ansi` is `false`.
    pub(super) fn compile(&self, allowance: &mut RegexBudget) -> Result<TextProgram, Error> {
        let Self {
            strip_ansi,
            keep_overwritten,
            strip,
            keep,
            failures,
            sections,
            strip_sections,
            replace,
            group,
            dedup,
            head,
            tail,
            max_lines,
            messages,
            on_empty,
            engine,
        } = self.clone();
        let mut spec = TextSpec::new().strip_ansi(strip_ansi.unwrap_or(true));
        for pattern in strip.into_iter().flatten() {
            spec = spec.strip_lines_matching(pattern);
        }
        for pattern in keep.into_iter().flatten() {
            spec = spec.keep_lines_matching(pattern);
        }
        if let Some(text) = on_empty {
            spec = spec.on_empty(text);
        }
        let (head, tail, max_lines) =
            (head.unwrap_or(0), tail.unwrap_or(0), max_lines.unwrap_or(0));
        // By itself, `max_lines` is a head. With a head or a tail, texts of up to `max_lines` lines are kept whole.
        let by_itself = head == 0 && tail == 0;
        let operations = RuleOperations {
            failures: failures.unwrap_or_default(),
            sections: sections.unwrap_or_default(),
            strip_sections: strip_sections.unwrap_or_default(),
            replace: replace.unwrap_or_default(),
            group,
            dedup: dedup.flatten(),
            head: if by_itself { max_lines } else { head },
            tail,
            uncut: if by_itself { 0 } else { max_lines },
            messages: messages.unwrap_or_default(),
            engine,
            marks: false,
            keeps_frames: keep_overwritten.unwrap_or(false),
            keeps_doubtful: true,
        };
        TextProgram::compile_with(&spec, &operations, allowance)
    }
}
