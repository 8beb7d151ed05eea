//! Which bytes of a text belong to words, and to long runs without white space: masks for the search for secrets.
//!
//! One block of 64 bytes, bit 0 on the left:
//!
//! ```text
//! bytes      "use ghp_16C7:a@b"
//! word        111 11111111 1 1      A to Z, a to z, 0 to 9 and the underscore
//! letter      111 111   1  1 1
//! run         111 11111111 1 1      words, and $ % + , - . / = ~
//! ```

use super::BLOCK;

/// The classes of one block, one bit per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordClasses {
    /// ASCII letters, digits and the underscore.
    pub word: u64,
    /// ASCII letters.
    pub letter: u64,
    /// The bytes of words, and `$ % + , - . / = ~`.
    pub run: u64,
    /// Spaces and tabs.
    pub blank: u64,
    pub dash: u64,
    /// The signs `@` and `~`.
    pub at: u64,
    /// The signs `:`, `=` and `>`, which a value may follow.
    pub colon: u64,
    /// The letters `d`, `e`, `h`, `n`, `t` and `y` after one of `e`, `o`, `r`, `s`, `t` and `w`, in either case: the last ones of names
    /// that a value may follow. Before the first byte of the block, any letter may be.
    pub name_end: u64,
    pub backslash: u64,
    /// The bytes `0`, `e`, `u` and `x`, which spell a character by its number after a backslash, and four that do not matter
    /// there: `5`, `` ` ``, `U` and `X`.
    pub spelling: u64,
}

/// The number of blocks whose classes are together in [`WordMasks`].
pub const WORD_BLOCKS: usize = 66;

/// The classes of neighbouring blocks, one array per class, so that the compiler makes vectors of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMasks {
    /// ASCII letters, digits and the underscore.
    pub word: [u64; WORD_BLOCKS],
    /// ASCII letters.
    pub letter: [u64; WORD_BLOCKS],
    /// The bytes of words, and `$ % + , - . / = ~`.
    pub run: [u64; WORD_BLOCKS],
    /// Spaces and tabs.
    pub blank: [u64; WORD_BLOCKS],
    /// The sign `-`.
    pub dash: [u64; WORD_BLOCKS],
    /// The signs `@` and `~`.
    pub at: [u64; WORD_BLOCKS],
    /// The signs that a value may follow.
    pub colon: [u64; WORD_BLOCKS],
    /// The last letters of names that a value may follow.
    pub name_end: [u64; WORD_BLOCKS],
    /// The sign `\`.
    pub backslash: [u64; WORD_BLOCKS],
    /// The sign `\` before a byte that may spell a character by its number, or at the end of a block.
    pub numeric_escape: [u64; WORD_BLOCKS],
}

impl WordMasks {
    /// Returns the masks of blocks without bytes.
    pub fn new() -> Self {
        const NONE: [u64; WORD_BLOCKS] = [0; WORD_BLOCKS];
        Self {
            word: NONE,
            letter: NONE,
            run: NONE,
            blank: NONE,
            dash: NONE,
            at: NONE,
            colon: NONE,
            name_end: NONE,
            backslash: NONE,
            numeric_escape: NONE,
        }
    }

    fn set(&mut self, block: usize, classes: WordClasses) {
        let WordClasses {
            word,
            letter,
            run,
            blank,
            dash,
            at,
            colon,
            name_end,
            backslash,
            spelling,
        } = classes;
        let numeric_escape = backslash & (spelling >> 1 | 1 << (u64::BITS - 1));
        for (masks, mask) in [
            (&mut self.word, word),
            (&mut self.letter, letter),
            (&mut self.run, run),
            (&mut self.blank, blank),
            (&mut self.dash, dash),
            (&mut self.at, at),
            (&mut self.colon, colon),
            (&mut self.name_end, name_end),
            (&mut self.backslash, backslash),
            (&mut self.numeric_escape, numeric_escape),
        ] {
            if let Some(place) = masks.get_mut(block) {
                *place = mask;
            }
        }
    }
}

/// Reads masks as soon as they are written. The method is compiled for the instruction set of the kernel, if it is inlined.
pub trait WordMasksReader {
    /// Reads the masks of all blocks, and may change them.
    fn read(self, masks: &mut WordMasks);
}

/// Classes of bytes for a lookup by both halves of a byte, see [`halves`](super::escapes::halves).
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
pub(super) mod halves {
    use crate::scan::escapes::halves::table;

    /// The classes of letters.
    pub(crate) const LETTER: u8 = 0b000_0011;
    /// The classes of words.
    pub(crate) const WORD: u8 = 0b000_1111;
    /// The classes of runs.
    pub(crate) const RUN: u8 = 0b111_1111;

    /// The upper and lower halves of each class, as sets of bits.
    const CLASSES: [(u16, u16); 7] = [
        (1 << 4 | 1 << 6, 0xfffe),              // A to O, a to o
        (1 << 5 | 1 << 7, 0b111_1111_1111),     // P to Z, p to z
        (1 << 3, 0b11_1111_1111),               // 0 to 9
        (1 << 5, 1 << 0xf),                     // _
        (1 << 2, 1 << 0x4 | 1 << 0x5 | 0xf800), // $ % + , - . /
        (1 << 3, 1 << 0xd),                     // =
        (1 << 7, 1 << 0xe),                     // ~
    ];

    pub(crate) const UPPER: [u8; 16] = table(&CLASSES, true);
    pub(crate) const LOWER: [u8; 16] = table(&CLASSES, false);

    /// The classes of the last letters of names, in a table of their own.
    pub(crate) const LAST: u8 = 0b0_0011;
    /// The classes of the letters before them.
    pub(crate) const SECOND_LAST: u8 = 0b0_1100;
    /// The class of signs.
    pub(crate) const COLON: u8 = 0b1_0000;
    /// The classes of bytes after a backslash.
    pub(crate) const SPELLING: u8 = 0b110_0000;

    const NAMES: [(u16, u16); 7] = [
        (1 << 4 | 1 << 6, 1 << 0x4 | 1 << 0x5 | 1 << 0x8 | 1 << 0xe), // d, e, h, n
        (1 << 5 | 1 << 7, 1 << 0x4 | 1 << 0x9),                       // t, y
        (1 << 4 | 1 << 6, 1 << 0x5 | 1 << 0xf),                       // e, o
        (1 << 5 | 1 << 7, 1 << 0x2 | 1 << 0x3 | 1 << 0x4 | 1 << 0x7), // r, s, t, w
        (1 << 3, 1 << 0xa | 1 << 0xd | 1 << 0xe),                     // : = >
        (1 << 3 | 1 << 6, 1 << 0x0 | 1 << 0x5),                       // 0, 5, `, e
        (1 << 5 | 1 << 7, 1 << 0x5 | 1 << 0x8),                       // U, X, u, x
    ];

    pub(crate) const NAMES_UPPER: [u8; 16] = table(&NAMES, true);
    pub(crate) const NAMES_LOWER: [u8; 16] = table(&NAMES, false);
}

/// Writes the classes of each block, from the block `first` on. All others have none.
#[inline(always)]
pub(super) fn classify_all(
    bytes: &[u8],
    first: usize,
    masks: &mut WordMasks,
    classify: impl Fn(&[u8; BLOCK]) -> WordClasses,
) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    (0..first).for_each(|block| masks.set(block, WordClasses::default()));
    let mut next = first;
    for block in blocks {
        masks.set(next, classify(block));
        next += 1;
    }
    let mut last = [0; BLOCK];
    if let Some(begin) = last.get_mut(..rest.len()) {
        begin.copy_from_slice(rest);
    }
    for block in next..WORD_BLOCKS {
        masks.set(block, if block == next { classify(&last) } else { WordClasses::default() });
    }
}

/// The definition, one byte at a time.
pub(super) fn classify_scalar(block: &[u8; BLOCK]) -> WordClasses {
    let mut classes = WordClasses::default();
    for (at, byte) in block.iter().enumerate() {
        let bit = |is: bool| u64::from(is) << at;
        let letter = byte.is_ascii_alphabetic();
        let word = letter || byte.is_ascii_digit() || *byte == b'_';
        let is_sign = matches!(byte, b'$' | b'%' | b'+' | b',' | b'-' | b'.' | b'/' | b'=' | b'~');
        classes.letter |= bit(letter);
        classes.word |= bit(word);
        classes.run |= bit(word || is_sign);
        classes.blank |= bit(matches!(byte, b' ' | b'\t'));
        classes.dash |= bit(*byte == b'-');
        classes.at |= bit(matches!(byte, b'@' | b'~'));
        classes.colon |= bit(matches!(byte, b':' | b'=' | b'>'));
        let before = at.checked_sub(1).and_then(|before| block.get(before));
        let is_before = |byte: &u8| matches!(byte | 0x20, b'e' | b'o' | b'r' | b's' | b't' | b'w');
        let is_last = matches!(byte | 0x20, b'd' | b'e' | b'h' | b'n' | b't' | b'y');
        classes.name_end |= bit(letter && is_last && before.is_none_or(is_before));
        classes.backslash |= bit(*byte == b'\\');
        let spelling = matches!(byte, b'0' | b'5' | b'`' | b'e' | b'U' | b'X' | b'u' | b'x');
        classes.spelling |= bit(spelling);
    }
    classes
}
