//! What a rule does with lines, as it is declared for one way to end, and the program that this is.

use crate::error::Error;
use crate::regex_budget::RegexBudget;
use crate::spec::TextSpec;
use crate::text::TextProgram;
use crate::text::more::{Between, Dedup, GroupBy, MakeEngine, More, Swap};

/// Operations; one that is not declared is `None`, so that a variant takes it from its rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Operations {
    pub(super) strip_ansi: Option<bool>,
    pub(super) strip: Option<Vec<String>>,
    pub(super) keep: Option<Vec<String>>,
    pub(super) failures: Option<Vec<Between>>,
    pub(super) sections: Option<Vec<Between>>,
    pub(super) strip_sections: Option<Vec<Between>>,
    pub(super) replace: Option<Vec<Swap>>,
    pub(super) group: Option<GroupBy>,
    /// `Some(None)`: no lines become one, whatever the rule says.
    pub(super) dedup: Option<Option<Dedup>>,
    pub(super) head: Option<u64>,
    pub(super) tail: Option<u64>,
    pub(super) max_lines: Option<u64>,
    pub(super) on_empty: Option<String>,
    pub(super) engine: Option<MakeEngine>,
}

impl Operations {
    /// What is not declared here is that of the rule.
    pub(super) fn over(self, rule: &Self) -> Self {
        let Self {
            strip_ansi,
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
            on_empty,
            engine,
        } = self;
        let rule = rule.clone();
        Self {
            strip_ansi: strip_ansi.or(rule.strip_ansi),
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
            on_empty: on_empty.or(rule.on_empty),
            engine: engine.or(rule.engine),
        }
    }

    /// Compiles them. Escape sequences and returns go unless the rule says otherwise.
    pub(super) fn compile(&self, allowance: &mut RegexBudget) -> Result<TextProgram, Error> {
        let mut filter = TextSpec::new().strip_ansi(self.strip_ansi.unwrap_or(true));
        for pattern in self.strip.iter().flatten() {
            filter = filter.strip_lines_matching(pattern);
        }
        for pattern in self.keep.iter().flatten() {
            filter = filter.keep_lines_matching(pattern);
        }
        if let Some(text) = &self.on_empty {
            filter = filter.on_empty(text);
        }
        let (head, tail) = (self.head.unwrap_or(0), self.tail.unwrap_or(0));
        let max_lines = self.max_lines.unwrap_or(0);
        // Alone it is a head; beside a head or a tail, a text of so many lines stays whole.
        let alone = head == 0 && tail == 0;
        let more = More {
            failures: self.failures.clone().unwrap_or_default(),
            sections: self.sections.clone().unwrap_or_default(),
            strip_sections: self.strip_sections.clone().unwrap_or_default(),
            replace: self.replace.clone().unwrap_or_default(),
            group: self.group.clone(),
            dedup: self.dedup.clone().flatten(),
            head: if alone { max_lines } else { head },
            tail,
            uncut: if alone { 0 } else { max_lines },
            engine: self.engine.clone(),
            marks: false,
            keeps_doubtful: true,
        };
        TextProgram::compile_with(&filter, &more, allowance)
    }
}
