//! Estimates what a pattern costs, from its syntax tree and before anything is expanded.
//!
//! The size limit of the `regex` crate is not enough. It applies to the compiled program, but the crate first parses
//! and translates the whole pattern, and that is unbounded: `\pL` expands to hundreds of ranges, and with `(?i)`
//! every character of a range is looked up. Nor does the crate report the size of a program, which is needed to
//! charge an [`RegexBudget`](tamis_json::regex_budget::RegexBudget). So three numbers are computed here:
//! - `read` bounds the memory and work for parsing and translating the pattern.
//! - `guess` approximates the size of the program, including counted repetitions. It is the size limit that is tried
//!   first, and guarantees nothing.
//! - `repeated` bounds the cost of matching: a text can keep the automaton in each character inside a repetition at
//!   once.

use std::convert::Infallible;

use regex_syntax::ast::{
    Ast, ClassPerlKind, ClassSetItem, Flag, Flags, GroupKind, RepetitionKind, RepetitionRange,
    Visitor, visit,
};

/// Bytes for a character of a pattern: about the size of a state of the automaton, so that a literal costs what it
/// compiles to.
pub(super) const CHARACTER: usize = 32;
/// Bytes of a range in a class, before and after compilation.
const RANGE: usize = 8;
const STATES: usize = 72;
/// Numbers of ranges, rounded up: the longest Unicode property, `\d`, `\s`, ASCII classes, any character.
const PROPERTY: usize = 800;
const DIGIT: usize = 80;
const SPACE: usize = 12;
const ASCII: usize = 8;
const ANY: usize = 10;
/// Characters of a property that are looked up to ignore case.
const FOLDED: usize = 128 << 10;
/// Existing ranges of a class that cost one byte of work when another range is added, because ranges are kept sorted.
const ORDERED: usize = 16;

/// The cost of a pattern, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PatternCost {
    pub(super) read: usize,
    pub(super) guess: usize,
    /// Number of characters and classes inside repetitions, each counted as often as it may repeat.
    pub(super) repeated: usize,
}

impl PatternCost {
    pub(super) fn of(text: &str, ast: &Ast) -> Self {
        let read = text.len().saturating_mul(CHARACTER);
        let weigh = CostVisitor {
            weight: Self { read, ..Self::default() },
            times: vec![1],
            folds: false,
            class: 0,
        };
        let Ok(weight) = visit(ast, weigh);
        weight
    }

    /// Returns the sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            guess: self.guess.saturating_add(other.guess),
            repeated: self.repeated.saturating_add(other.repeated),
        }
    }
}

struct CostVisitor {
    weight: PatternCost,
    /// Repetition count of the visited node, by nesting depth.
    times: Vec<usize>,
    /// Whether case is ignored from some earlier point on.
    folds: bool,
    /// Number of ranges of the visited class.
    class: usize,
}

impl CostVisitor {
    fn add(&mut self, ranges: usize) {
        let times = self.times.last().copied().unwrap_or(1);
        let guess = (STATES * ranges).saturating_mul(times);
        self.weight = self.weight.and(PatternCost { read: RANGE * ranges, guess, repeated: 0 });
    }

    /// Counts a character or class.
    fn place(&mut self) {
        if let [_, .., times] = self.times.as_slice() {
            self.weight.repeated = self.weight.repeated.saturating_add(*times);
        }
    }

    /// Counts characters that are looked up to ignore case. Each is about as much work as two bytes.
    fn fold(&mut self, characters: usize) {
        if self.folds {
            self.weight.read = self.weight.read.saturating_add(characters.saturating_mul(2));
        }
    }

    fn flags(&mut self, flags: &Flags) {
        self.folds |= flags.flag_state(Flag::CaseInsensitive) == Some(true);
    }

    fn perl(&mut self, kind: &ClassPerlKind) -> usize {
        let ranges = match kind {
            ClassPerlKind::Digit => DIGIT,
            ClassPerlKind::Space => SPACE,
            ClassPerlKind::Word => PROPERTY,
        };
        self.add(ranges);
        ranges
    }

    fn property(&mut self) -> usize {
        self.add(PROPERTY);
        self.fold(FOLDED);
        PROPERTY
    }
}

impl Visitor for CostVisitor {
    type Output = PatternCost;
    type Err = Infallible;

    fn finish(self) -> Result<PatternCost, Infallible> {
        Ok(self.weight)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        if matches!(
            ast,
            Ast::Literal(_)
                | Ast::Dot(_)
                | Ast::ClassUnicode(_)
                | Ast::ClassPerl(_)
                | Ast::ClassBracketed(_)
        ) {
            self.place();
        }
        match ast {
            Ast::Empty(_) | Ast::Assertion(_) | Ast::Alternation(_) | Ast::Concat(_) => {}
            Ast::Flags(set) => self.flags(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.flags(flags);
                }
            }
            Ast::Literal(_) => self.add(1),
            Ast::Dot(_) => self.add(ANY),
            Ast::ClassUnicode(_) => _ = self.property(),
            Ast::ClassPerl(class) => _ = self.perl(&class.kind),
            Ast::ClassBracketed(class) => {
                self.class = 0;
                if class.negated {
                    self.add(ANY);
                }
            }
            Ast::Repetition(repetition) => {
                let own = match &repetition.op.kind {
                    RepetitionKind::Range(
                        RepetitionRange::Exactly(most)
                        | RepetitionRange::AtLeast(most)
                        | RepetitionRange::Bounded(_, most),
                    ) => usize::try_from(*most).unwrap_or(usize::MAX).max(1),
                    _ => 1,
                };
                let times = self.times.last().copied().unwrap_or(1);
                self.times.push(times.saturating_mul(own));
            }
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Infallible> {
        if matches!(ast, Ast::Repetition(_)) {
            self.times.pop();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        let ranges = match item {
            ClassSetItem::Empty(_) | ClassSetItem::Bracketed(_) | ClassSetItem::Union(_) => 0,
            ClassSetItem::Literal(_) => {
                self.add(1);
                1
            }
            ClassSetItem::Range(range) => {
                let characters = u32::from(range.end.c).saturating_sub(u32::from(range.start.c));
                self.add(1);
                self.fold(usize::try_from(characters).unwrap_or(usize::MAX));
                1
            }
            ClassSetItem::Ascii(_) => {
                self.add(ASCII);
                ASCII
            }
            ClassSetItem::Unicode(_) => self.property(),
            ClassSetItem::Perl(class) => self.perl(&class.kind),
        };
        if ranges > 0 {
            self.class = self.class.saturating_add(ranges);
            self.weight.read = self.weight.read.saturating_add(self.class / ORDERED);
        }
        Ok(())
    }
}
