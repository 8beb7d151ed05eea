//! Validates UTF-8 across windows: complete runs by the kernel, a sequence cut by the end of a window byte by byte.
//!
//! The kernels look up three half bytes: both of one byte, and the high one of the next. Each lookup says which errors these
//! four bits allow, and an error that all three allow is one. It covers sequences of two bytes, and where a continuation
//! follows another. Whether the latter is right depends on the two bytes before. (Keiser and Lemire, "Validating UTF-8 In
//! Less Than One Instruction Per Byte", 2021, section 6.)
//!
//! The place of an error is the first byte that no valid sequence could have there, so that it does not depend on where
//! the input was cut.

/// A byte that must be a continuation is not, or the other way round.
const TOO_SHORT: u8 = 1;
const TOO_LONG: u8 = 1 << 1;
/// Three bytes for a code point that needs two.
const OVERLONG_3: u8 = 1 << 2;
/// Above U+10FFFF.
const TOO_LARGE: u8 = 1 << 3;
const SURROGATE: u8 = 1 << 4;
const OVERLONG_2: u8 = 1 << 5;
/// Above U+10FFFF after another lead byte, or four bytes for a code point that needs three.
const TOO_LARGE_OR_OVERLONG_4: u8 = 1 << 6;
/// A continuation after a continuation, which is the only right one of these.
pub(super) const TWO_CONTINUATIONS: u8 = 1 << 7;
/// The low half of the first byte says nothing about these.
const ANY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS;

/// The errors that the high half of the first byte allows.
pub(super) const FIRST_HIGH: [u8; 16] = {
    const OVER: u8 = TOO_SHORT | TOO_LARGE | TOO_LARGE_OR_OVERLONG_4;
    const CONT: u8 = TWO_CONTINUATIONS;
    const E: u8 = TOO_SHORT | OVERLONG_3 | SURROGATE;
    let ascii = TOO_LONG;
    [
        ascii,
        ascii,
        ascii,
        ascii,
        ascii,
        ascii,
        ascii,
        ascii,
        CONT,
        CONT,
        CONT,
        CONT,
        TOO_SHORT | OVERLONG_2,
        TOO_SHORT,
        E,
        OVER,
    ]
};

/// The errors that the low half of the first byte allows.
pub(super) const FIRST_LOW: [u8; 16] = {
    const BIG: u8 = ANY | TOO_LARGE | TOO_LARGE_OR_OVERLONG_4;
    [
        ANY | OVERLONG_2 | OVERLONG_3 | TOO_LARGE_OR_OVERLONG_4,
        ANY | OVERLONG_2,
        ANY,
        ANY,
        ANY | TOO_LARGE,
        BIG,
        BIG,
        BIG,
        BIG,
        BIG,
        BIG,
        BIG,
        BIG,
        BIG | SURROGATE,
        BIG,
        BIG,
    ]
};

/// The errors that the high half of the second byte allows.
pub(super) const SECOND_HIGH: [u8; 16] = {
    const CONT: u8 = TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS;
    const LATE: u8 = CONT | SURROGATE | TOO_LARGE;
    let no = TOO_SHORT;
    [
        no,
        no,
        no,
        no,
        no,
        no,
        no,
        no,
        CONT | OVERLONG_3 | TOO_LARGE_OR_OVERLONG_4,
        CONT | OVERLONG_3 | TOO_LARGE,
        LATE,
        LATE,
        no,
        no,
        no,
        no,
    ]
};

/// A byte from this on needs two more after it, and one from `LEAD_4` on three.
pub(super) const LEAD_3: u8 = 0xE0;
pub(super) const LEAD_4: u8 = 0xF0;

/// Calls `read` for each block of a text, and for a last one that is filled up with spaces. A sequence that the text does not
/// complete is followed by one of these.
#[inline(always)]
pub(super) fn each_block<const BLOCK: usize>(text: &[u8], mut read: impl FnMut(&[u8; BLOCK])) {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    blocks.iter().for_each(&mut read);
    let mut last = [b' '; BLOCK];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    read(&last);
}

/// The bytes of a sequence that has begun and not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Utf8State {
    part: [u8; 4],
    len: usize,
}

impl Utf8State {
    pub(super) fn is_partial(&self) -> bool {
        self.len != 0
    }

    /// Checks the next bytes; `Err` contains the position of the first invalid one. `is_utf8`: whether a text is valid.
    #[inline(never)]
    pub(super) fn check(
        &mut self,
        bytes: &[u8],
        is_utf8: impl Fn(&[u8]) -> bool,
    ) -> Result<(), usize> {
        let mut at = 0;
        while self.is_partial() {
            let Some(byte) = bytes.get(at) else { return Ok(()) };
            self.push(*byte).map_err(|()| at)?;
            at += 1;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let whole = rest.get(..rest.len() - cut_off(rest)).unwrap_or_default();
        at += if is_utf8(whole) {
            whole.len()
        } else {
            // Rare: an error. The standard library says where the sequence begins.
            std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len)
        };
        for (offset, byte) in bytes.get(at..).unwrap_or_default().iter().enumerate() {
            self.push(*byte).map_err(|()| at + offset)?;
        }
        Ok(())
    }

    /// Adds one byte to a sequence; `Err` if the byte is invalid there.
    fn push(&mut self, byte: u8) -> Result<(), ()> {
        let Some(slot) = self.part.get_mut(self.len) else { return Err(()) };
        *slot = byte;
        self.len += 1;
        match std::str::from_utf8(self.part.get(..self.len).unwrap_or_default()) {
            Ok(_) => self.len = 0,
            Err(error) if error.error_len().is_none() => {}
            Err(_) => return Err(()),
        }
        Ok(())
    }
}

/// Returns how many bytes at the end begin an incomplete sequence.
fn cut_off(bytes: &[u8]) -> usize {
    for (byte, have) in bytes.iter().rev().zip(1..=3) {
        let wanted = match byte {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            0x80.. => continue,
            _ => 1,
        };
        return if wanted > have { have } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::Utf8State;
    use crate::scan::Scanner;

    const BYTES: [u8; 15] =
        [b'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc3, 0xe0, 0xed, 0xf0, 0xf4, 0xf5];

    /// Returns every sequence of `length` of these bytes.
    fn sequences(length: usize) -> impl Iterator<Item = Vec<u8>> {
        (0..BYTES.len().pow(length as u32)).map(move |number| {
            let digits = (0..length).scan(number, |rest, _| {
                let byte = BYTES[*rest % BYTES.len()];
                *rest /= BYTES.len();
                Some(byte)
            });
            digits.collect()
        })
    }

    /// Every kernel agrees with the standard library about every sequence of up to four of the interesting bytes, at the
    /// edges of its vectors and at the end.
    #[test]
    fn kernels_agree_with_the_standard_library() {
        for (isa, scanner) in Scanner::present() {
            for sequence in (1..=4).flat_map(sequences) {
                let is_valid = std::str::from_utf8(&sequence).is_ok();
                for at in [0, 13, 14, 15, 30, 31, 61, 62, 63, 64] {
                    for after in [0, 1, 70] {
                        let text = [&[b'a'; 64][..at], &sequence, &[b'a'; 70][..after]].concat();
                        assert_eq!(
                            scanner.is_utf8(&text),
                            is_valid,
                            "{} {sequence:02x?} at {at}, before {after}",
                            isa.name(),
                        );
                    }
                }
            }
        }
    }

    /// Likewise about every code point, with others around it, and about the same bytes with one bit changed.
    #[test]
    fn kernels_know_every_code_point() {
        for (isa, scanner) in Scanner::present() {
            let mut text = Vec::new();
            for code in ('\0'..=char::MAX).step_by(7) {
                text.extend(code.to_string().bytes());
                if text.len() < 1_000 {
                    continue;
                }
                assert!(scanner.is_utf8(&text), "{} before {code:?}", isa.name());
                let at = code as usize % text.len();
                text[at] ^= 1 << (code as usize % 8);
                let is_valid = std::str::from_utf8(&text).is_ok();
                assert_eq!(scanner.is_utf8(&text), is_valid, "{} changed at {at}", isa.name());
                text.clear();
            }
        }
    }

    /// Every sequence of up to three bytes from the interesting ones, at every cut, against the definition: the first
    /// byte with which no valid text begins.
    #[test]
    fn the_first_byte_that_no_text_could_have_there() {
        let is_utf8 = |text: &[u8]| std::str::from_utf8(text).is_ok();
        let viable = |text: &[u8]| match std::str::from_utf8(text) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        for case in (1..=4).flat_map(sequences) {
            let expected = (1..=case.len()).find(|end| !viable(&case[..*end])).map(|end| end - 1);
            for cut in 0..=case.len() {
                let mut utf8 = Utf8State::default();
                let begun = utf8.check(&case[..cut], is_utf8);
                let rest = |()| utf8.check(&case[cut..], is_utf8).map_err(|at| cut + at);
                let found = begun.and_then(rest).err();
                assert_eq!(found, expected, "{case:02x?} cut at {cut}");
                let complete = std::str::from_utf8(&case).is_ok();
                assert_eq!(expected.is_none() && !utf8.is_partial(), complete);
            }
        }
    }
}
