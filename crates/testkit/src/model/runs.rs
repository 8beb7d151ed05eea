//! Random documents that mostly consist of input for the fast loops: numbers of every form, indented or oddly spaced members,
//! containers nested deeper than 64 levels, any of it across the end of a block or a window.

use crate::prng::Choices;

const NAMES: [&str; 16] = [
    "a",
    "b",
    "c",
    "0",
    "1",
    "00",
    "items",
    "data",
    "abcdefg",
    "abcdefgh",
    "abcdefghi",
    "é",
    "日本",
    "",
    "abcdefgX",
    "ab",
];
const SCALARS: [&str; 20] = [
    "null",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-0.0",
    "1.10",
    "12345678",
    "123456789",
    "1234567890123456",
    "12345678901234567",
    "0.5e-7",
    "1E400",
    "\"\"",
    "\"\"",
    "\"x\"",
    "\"a,b:c{}[]\"",
    "\"é😀\"",
    "\"a somewhat longer text, with no escape at all\"",
];
/// Depths: more than the bits of one word, and of two.
const DEPTHS: [usize; 8] = [3, 30, 62, 63, 64, 65, 70, 129];
/// The approximate maximum length of a document. The model is slow on longer ones.
const LONGEST: usize = 16 << 10;

/// The places of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Compact,
    /// One line for each value, and a space after colons.
    Pretty,
    /// Only after values.
    AfterValues,
    Anywhere,
    /// None, except in a few places.
    Rare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    BeforeColon,
    AfterColon,
    BeforeComma,
    Line,
}

/// A document of runs in a random style.
pub fn document(prng: &mut impl Choices) -> String {
    let style = match prng.below(6) {
        0 | 1 => Style::Compact,
        2 => Style::Pretty,
        3 => Style::AfterValues,
        4 => Style::Anywhere,
        _ => Style::Rare,
    };
    let longest = prng.pick(&[4, 20, 20, 300]);
    let escapes = prng.one_in(4);
    let budget = prng.pick(&[30, 100, 300, 1000]);
    let shift = prng.below(NAMES.len());
    let mut runs = Runs { out: String::new(), style, escapes, longest, budget, shift };
    let wrapped = prng.one_in(2);
    if wrapped {
        // Moves the rest to a random place within a window.
        let pad = "x".repeat(prng.below(4200));
        runs.out.push_str(&format!("{{\"pad\":\"{pad}\",\"items\":"));
    }
    runs.out.push('[');
    let mut number = 0;
    while runs.budget > 0 && runs.out.len() < LONGEST {
        runs.comma(prng, number);
        match prng.below(12) {
            0 => runs.value(prng, 1),
            1 => runs.nest(prng),
            _ => runs.object(prng, 1),
        }
        runs.budget = runs.budget.saturating_sub(1);
        number += 1;
    }
    runs.out.push(']');
    if wrapped {
        runs.out.push_str(",\"c\":");
        runs.array(prng, 2);
        runs.out.push('}');
    }
    runs.out
}

struct Runs {
    out: String,
    style: Style,
    escapes: bool,
    /// The maximum number of children of one container.
    longest: usize,
    /// The number of values that may still be written.
    budget: usize,
    /// The name of every first member, so that objects are alike.
    shift: usize,
}

impl Runs {
    fn gap(&mut self, prng: &mut impl Choices, gap: Gap) {
        let white = match (self.style, gap) {
            (Style::Pretty, Gap::Line) => prng.pick(&["\n  ", "\n    ", "\n"]),
            (Style::Pretty, Gap::AfterColon) => " ",
            (Style::AfterValues, Gap::BeforeComma) => prng.pick(&["", " ", "\r\n"]),
            (Style::Anywhere, _) => prng.pick(&["", "", " ", "\t", "\r\n", "\n\n\n"]),
            (Style::Rare, _) if prng.one_in(60) => prng.pick(&[" ", "\t", "\r\n"]),
            _ => "",
        };
        self.out.push_str(white);
    }

    /// Writes the text before the child at this index.
    fn comma(&mut self, prng: &mut impl Choices, number: usize) {
        if number > 0 {
            self.gap(prng, Gap::BeforeComma);
            self.out.push(',');
        }
        self.gap(prng, Gap::Line);
    }

    fn close(&mut self, prng: &mut impl Choices, bracket: char) {
        self.gap(prng, Gap::BeforeComma);
        self.gap(prng, Gap::Line);
        self.out.push(bracket);
    }

    fn digits(&mut self, prng: &mut impl Choices, count: usize) {
        self.out.extend((0..count).map(|_| prng.pick(&['0', '1', '5', '9'])));
    }

    fn number(&mut self, prng: &mut impl Choices) {
        self.out.push_str(prng.pick(&["", "", "", "-"]));
        let first = prng.pick(&["0", "1", "1", "2", "9", "9"]);
        self.out.push_str(first);
        if first != "0" {
            let most = if prng.one_in(20) { 120 } else { 18 };
            let count = prng.below(most);
            self.digits(prng, count);
        }
        if prng.one_in(2) {
            self.out.push('.');
            let count = 1 + prng.below(17);
            self.digits(prng, count);
        }
        if prng.one_in(8) {
            self.out.push_str(prng.pick(&["e", "E", "e+", "E-"]));
            let count = 1 + prng.below(10);
            self.digits(prng, count);
        }
    }

    fn scalar(&mut self, prng: &mut impl Choices) {
        match prng.below(12) {
            0..=3 => self.number(prng),
            4 => {
                let most = if prng.one_in(30) { 5000 } else { 90 };
                self.out.push_str(&format!("\"{}\"", "s".repeat(prng.below(most))));
            }
            5 if self.escapes => {
                self.out.push_str(prng.pick(&[r#""\"""#, r#""\\""#, r#""\u0061""#]))
            }
            _ => self.out.push_str(prng.pick(&SCALARS)),
        }
    }

    fn value(&mut self, prng: &mut impl Choices, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        match prng.below(9) {
            _ if self.budget == 0 || depth > 4 => self.scalar(prng),
            0 | 1 => self.array(prng, depth + 1),
            2 | 3 => self.object(prng, depth + 1),
            _ => self.scalar(prng),
        }
    }

    fn count(&self, prng: &mut impl Choices) -> usize {
        let most = if prng.one_in(3) { self.longest } else { 6 };
        prng.below(most)
    }

    fn array(&mut self, prng: &mut impl Choices, depth: usize) {
        self.out.push('[');
        let kind = prng.below(3);
        for number in 0..self.count(prng) {
            self.comma(prng, number);
            match kind {
                0 => self.value(prng, depth),
                1 if !prng.one_in(12) => self.number(prng),
                _ => self.scalar(prng),
            }
        }
        self.close(prng, ']');
    }

    fn key(&mut self, prng: &mut impl Choices, number: usize) {
        let place = self.shift + number;
        let name = NAMES[place % NAMES.len()];
        self.out.push('"');
        if self.escapes && prng.one_in(4) {
            self.out.extend(name.chars().map(|char| format!("\\u{:04x}", u32::from(char))));
        } else {
            self.out.push_str(name);
        }
        // There are no duplicates, because for some rules the model does not define their result.
        if number >= NAMES.len() {
            self.out.push_str(&format!("_{number}"));
        }
        self.out.push('"');
        self.gap(prng, Gap::BeforeColon);
        self.out.push(':');
        self.gap(prng, Gap::AfterColon);
    }

    fn object(&mut self, prng: &mut impl Choices, depth: usize) {
        self.out.push('{');
        for number in 0..self.count(prng) {
            self.comma(prng, number);
            self.key(prng, number);
            self.value(prng, depth);
        }
        self.close(prng, '}');
    }

    /// Containers nested in one another, some with siblings.
    fn nest(&mut self, prng: &mut impl Choices) {
        let mut ends = Vec::new();
        for _ in 0..prng.pick(&DEPTHS) {
            if prng.one_in(2) {
                self.out.push_str(prng.pick(&["[", "[", "[1,", "[-0.5,\"x\","]));
                ends.push(prng.pick(&["]", "]", ",2]", ",[]]"]));
            } else {
                self.out.push('{');
                self.key(prng, 0);
                ends.push(prng.pick(&["}", "}", ",\"z\":[1,2]}", ",\"z\":null}"]));
            }
        }
        self.scalar(prng);
        self.out.extend(ends.iter().rev().copied());
    }
}
