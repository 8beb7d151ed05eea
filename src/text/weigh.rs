//! What a pattern costs before it is compiled: from its syntax tree, without a class being spelled out.
//!
//! Knows syntax, no automaton. `read` bounds what reading the pattern takes: a class of two characters (`\w`) is hundreds of
//! ranges, and to ignore case each character of a range is looked up. `guess` is about what it compiles to, repetitions
//! counted; it chooses the limit that is tried first, and promises nothing. `repeated` says what matching may take: each character
//! inside a repetition is a place that a text can keep the automaton in, beside all the others.

use std::convert::Infallible;

use regex_syntax::ast::{
    Ast, ClassPerlKind, ClassSetItem, Flag, Flags, GroupKind, RepetitionKind, RepetitionRange,
    Visitor, visit,
};

/// Bytes for a character of a pattern: about those of a state of the automaton, so that a literal weighs what it compiles to.
pub(super) const CHARACTER: usize = 32;
/// Bytes of a range of characters in a class, and what one compiles to.
const RANGE: usize = 8;
const STATES: usize = 72;
/// Ranges of classes, rounded up: of Unicode's properties the longest, `\d`, `\s`, of ASCII, any character.
const PROPERTY: usize = 800;
const DIGIT: usize = 80;
const SPACE: usize = 12;
const ASCII: usize = 8;
const ANY: usize = 10;
/// Characters of a property that are looked up to ignore case.
const FOLDED: usize = 128 << 10;
/// A range that joins a class is put in order among those that are there: so many are as much work as a byte.
const ORDERED: usize = 16;

/// What a pattern costs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) read: usize,
    pub(super) guess: usize,
    /// Characters and classes inside repetitions, as often as they may come.
    pub(super) repeated: usize,
}

impl Weight {
    pub(super) fn of(text: &str, ast: &Ast) -> Self {
        let read = text.len().saturating_mul(CHARACTER);
        let weigh = Weigh {
            weight: Self { read, ..Self::default() },
            times: vec![1],
            folds: false,
            class: 0,
        };
        let Ok(weight) = visit(ast, weigh);
        weight
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            guess: self.guess.saturating_add(other.guess),
            repeated: self.repeated.saturating_add(other.repeated),
        }
    }
}

struct Weigh {
    weight: Weight,
    /// How often what is visited is repeated, by depth.
    times: Vec<usize>,
    /// Case is ignored from somewhere in front of here on.
    folds: bool,
    /// Ranges of the class that is visited.
    class: usize,
}

impl Weigh {
    fn add(&mut self, ranges: usize) {
        let times = self.times.last().copied().unwrap_or(1);
        let guess = (STATES * ranges).saturating_mul(times);
        self.weight = self.weight.and(Weight { read: RANGE * ranges, guess, repeated: 0 });
    }

    /// A character, or a class.
    fn place(&mut self) {
        if let [_, .., times] = self.times.as_slice() {
            self.weight.repeated = self.weight.repeated.saturating_add(*times);
        }
    }

    /// Characters are looked up for their other case: each is about as much work as two bytes.
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

impl Visitor for Weigh {
    type Output = Weight;
    type Err = Infallible;

    fn finish(self) -> Result<Weight, Infallible> {
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
