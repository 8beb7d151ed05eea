//! Reads the verbs of a `printf` format.

use super::value::GoValue;

/// Widths and precisions beyond this are refused, as in Go.
const MAX_NUMBER: i128 = 1_000_000;

/// The flags, width and precision of a verb.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VerbFlags {
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%#v`: values as Go's source code spells them.
    pub(super) source: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

/// Reads a format, and keeps which value is next.
pub(super) struct FormatReader<'f> {
    pub(super) rest: &'f str,
    pub(super) next: usize,
    count: usize,
    /// No value was chosen by its index.
    pub(super) is_ordered: bool,
    /// The verb that is being read has no wrong index.
    pub(super) is_good: bool,
}

impl<'f> FormatReader<'f> {
    /// Reads `format`, for which there are `count` values.
    pub(super) fn new(format: &'f str, count: usize) -> Self {
        Self { rest: format, next: 0, count, is_ordered: true, is_good: true }
    }

    pub(super) fn take(&mut self, char: char) -> bool {
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn flags(&mut self, flags: &mut VerbFlags) {
        loop {
            match self.rest.as_bytes().first() {
                Some(b'#') => flags.sharp = true,
                Some(b'0') => flags.zero = true,
                Some(b'+') => flags.plus = true,
                Some(b'-') => flags.minus = true,
                Some(b' ') => flags.space = true,
                _ => return,
            }
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
    }

    /// Reads a number. One that is too large consumes the format, as in Go.
    pub(super) fn number(&mut self) -> Option<usize> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at_checked(length)?;
        let mut number = None;
        for digit in digits.bytes() {
            let before = number.unwrap_or(0);
            if before as i128 > MAX_NUMBER {
                self.rest = "";
                return None;
            }
            number = Some(before * 10 + usize::from(digit - b'0'));
        }
        self.rest = rest;
        number
    }

    /// Reads the width or precision that is the next value.
    pub(super) fn star(&mut self, values: &[GoValue<'_>]) -> Option<i128> {
        let value = values.get(self.next)?;
        self.next += 1;
        value.as_integer().filter(|number| (-MAX_NUMBER..=MAX_NUMBER).contains(number))
    }

    /// Reads the index of a value: `[1]`. Returns whether there was one that is well-formed.
    pub(super) fn index(&mut self) -> bool {
        let Some(inside) = self.rest.strip_prefix('[') else { return false };
        self.is_ordered = false;
        let Some((digits, after)) = inside.split_once(']').filter(|_| self.rest.len() >= 3) else {
            self.is_good = false;
            self.rest = inside;
            return false;
        };
        self.rest = after;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let index = digits.parse::<usize>().ok().filter(|_| is_number);
        match index.and_then(|index| index.checked_sub(1)).filter(|index| *index < self.count) {
            Some(index) => {
                self.next = index;
                true
            }
            None => {
                self.is_good = false;
                is_number
            }
        }
    }
}
