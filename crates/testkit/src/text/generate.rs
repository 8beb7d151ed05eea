//! Generated filters and texts: patterns that are known to decide a long line by its beginning or not, and significant bytes.

use super::model::{Declared, Dedup, Pattern};
use crate::prng::Choices;

const NEVER: usize = usize::MAX;

/// Patterns, and the lengths from which they decide a line.
const PATTERNS: [Pattern; 12] = [
    Pattern { text: "^a", sure: true, exact_from: 5 },
    Pattern { text: "b", sure: true, exact_from: NEVER },
    Pattern { text: "a$", sure: false, exact_from: NEVER },
    Pattern { text: "^$", sure: false, exact_from: 4 },
    Pattern { text: r"^a?b\b", sure: false, exact_from: 6 },
    Pattern { text: "é", sure: true, exact_from: NEVER },
    Pattern { text: "^é", sure: true, exact_from: 6 },
    Pattern { text: r"^\s*$", sure: false, exact_from: NEVER },
    Pattern { text: "(?m)^ab", sure: true, exact_from: 6 },
    Pattern { text: "m|^3", sure: true, exact_from: NEVER },
    Pattern { text: r"a{2,}", sure: true, exact_from: NEVER },
    Pattern { text: r"^[^b]b", sure: true, exact_from: 9 },
];

fn patterns(prng: &mut impl Choices) -> Vec<Pattern> {
    let count = if prng.one_in(2) { 0 } else { 1 + prng.below(2) };
    (0..count).map(|_| prng.pick(&PATTERNS)).collect()
}

/// A filter.
pub fn declared(prng: &mut impl Choices) -> Declared {
    Declared {
        strip_ansi: !prng.one_in(3),
        strip: patterns(prng),
        keep: patterns(prng),
        dedup: prng.pick(&[Dedup::Off, Dedup::Neighbours, Dedup::Everywhere]),
        max_lines: if prng.one_in(2) { 0 } else { 1 + prng.below(4) },
        on_empty: prng.one_in(2).then_some("nothing\n"),
    }
}

/// Significant bytes. Those that are common in lines are repeated.
pub fn text(prng: &mut impl Choices) -> Vec<u8> {
    const PIECES: [&[u8]; 53] = [
        b"\x1b[K",
        b"\x1b[2K",
        b"\x1b[G",
        b"\x1b[2G",
        b"\x1b[2D",
        b"\x1b[2C",
        b"\t",
        "あ".as_bytes(),
        b"\x00",
        b"\x08",
        b"\x08",
        b"\x08\x08a",
        "\u{9b}".as_bytes(),
        "\u{9d}0;".as_bytes(),
        "\u{9c}".as_bytes(),
        "\u{85}".as_bytes(),
        b"\x9b",
        b"\x90",
        b"\x9c",
        b"[tamis a",
        b"... 3 lines left out",
        b"a longer line, of which there may be two\n",
        b"a longer line, of which there may be two\n  b\n",
        b"\x1b",
        b"\x1b[",
        b"\x1b]0;",
        b"\x1bP",
        b"\x1b[3m",
        b"\x1b\\",
        b"[",
        b"]",
        b"\\",
        b"\x07",
        b"\x18",
        b" ",
        b";",
        b"3",
        b"m",
        b"a",
        b"a",
        b"b",
        b"aa",
        b"ab",
        b"\r",
        b"\r\n",
        b"\n",
        b"\n",
        b"a\n",
        b"a\n",
        b"\n\n\n",
        "é".as_bytes(),
        b"\xff",
        b"\xc3",
    ];
    let mut text = Vec::new();
    for _ in 0..prng.below(30) {
        text.extend_from_slice(prng.pick(&PIECES));
    }
    text
}
