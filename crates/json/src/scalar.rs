//! Numbers and literals, checked byte by byte and resumable at every byte.
//!
//! ```text
//! number    Minus ─▶ Zero ──────┬─▶ Dot ─▶ Fraction ─┬─▶ E ─▶ Sign ─▶ Exponent
//!             └────▶ Integer ───┘         └──────────┘    └───────────▶
//! literal   Word("true", 1) ─▶ … ─▶ Word("true", 4)
//! ```

/// The state within a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarState {
    Minus,
    Zero,
    Integer,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
    /// The literal, and how many of its bytes were seen.
    Word(&'static [u8], usize),
}

/// The result of checking some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarStep {
    /// The scalar ended before this position.
    Ended(usize),
    /// The byte at this position is invalid.
    Bad(usize),
    /// All bytes belong to the scalar, and more may follow.
    More(ScalarState),
}

impl ScalarState {
    /// Returns the state after the first byte of a scalar.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Integer),
            b't' => Some(Self::Word(b"true", 1)),
            b'f' => Some(Self::Word(b"false", 1)),
            b'n' => Some(Self::Word(b"null", 1)),
            _ => None,
        }
    }

    /// Whether the scalar may end in this state.
    pub(super) fn is_complete(self) -> bool {
        match self {
            Self::Zero | Self::Integer | Self::Fraction | Self::Exponent => true,
            Self::Minus | Self::Dot | Self::E | Self::Sign => false,
            Self::Word(word, seen) => seen == word.len(),
        }
    }

    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') => Self::Integer,
            (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Dot,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::Dot | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            (Self::Word(word, seen), byte) if word.get(seen) == Some(&byte) => {
                Self::Word(word, seen + 1)
            }
            _ => return None,
        })
    }

    /// Continues with the bytes from `at`.
    #[inline]
    pub(super) fn run(mut self, bytes: &[u8], mut at: usize) -> ScalarStep {
        while let Some(byte) = bytes.get(at) {
            match self.next(*byte) {
                Some(next) => self = next,
                None if self.is_complete() && ends_scalar(*byte) => return ScalarStep::Ended(at),
                None => return ScalarStep::Bad(at),
            }
            at += 1;
        }
        ScalarStep::More(self)
    }
}

/// White space and structural characters. A quote ends a scalar, too; the walk then reports the quote.
#[inline]
fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'[' | b']' | b'{' | b'}' | b'"')
}

/// Checks a scalar that begins at `at` and whose first byte is `byte`. Usual forms need no state machine.
#[inline]
pub(super) fn scan(bytes: &[u8], at: usize, byte: u8) -> ScalarStep {
    if (byte.is_ascii_digit() || byte == b'-')
        && let Some(end) = number(bytes, at)
    {
        return ScalarStep::Ended(end);
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let word = match byte {
        b't' => rest.first_chunk() == Some(b"true"),
        b'n' => rest.first_chunk() == Some(b"null"),
        b'f' => rest.first_chunk() == Some(b"false"),
        _ => false,
    };
    let len = if byte == b'f' { 5 } else { 4 };
    if word && rest.get(len).is_some_and(|end| ends_scalar(*end)) {
        return ScalarStep::Ended(at + len);
    }
    match ScalarState::begin(byte) {
        Some(scalar) => scalar.run(bytes, at + 1),
        None => ScalarStep::Bad(at),
    }
}

/// Whether `at..end` is a literal or an integer of at most eight digits, without a branch that depends on the form.
/// `false` does not mean that the scalar is invalid; [`scan`] decides that.
#[inline(always)]
pub(super) fn is_short(bytes: &[u8], at: usize, end: usize) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let word = |text: &[u8]| text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let len = end.wrapping_sub(at);
    let Some(bytes) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) else { return false };
    if !(1..=8).contains(&len) {
        return false;
    }
    let keep = u64::MAX >> (64 - 8 * len);
    let found = u64::from_le_bytes(*bytes) & keep;
    // The high half of a digit is 3, before and after adding 6.
    let (high, zeros, six) = ((EACH * 0xF0) & keep, (EACH * 0x30) & keep, (EACH * 6) & keep);
    let digits = (found & high == zeros) & (found.wrapping_add(six) & high == zeros);
    let integer = digits & ((len == 1) | (found & 0xFF != u64::from(b'0')));
    let four = (len == 4) & ((found == word(b"null")) | (found == word(b"true")));
    integer | four | ((len == 5) & (found == word(b"false")))
}

/// Whether `at..end` is a number of at most sixteen bytes without an exponent, without a branch that depends on its
/// form. `false` does not mean that the number is invalid; [`scan`] decides that.
#[inline(always)]
pub(super) fn is_decimal(bytes: &[u8], at: usize, end: usize) -> bool {
    const LONGEST: usize = 16;
    let len = end.wrapping_sub(at);
    let Some(text) = bytes.get(at..).and_then(<[u8]>::first_chunk::<LONGEST>) else { return false };
    if !(1..=LONGEST).contains(&len) {
        return false;
    }
    let [low, high] = halves(text);
    let digits = digit_mask(low) | digit_mask(high) << 8;
    let inside = u64::MAX >> (64 - len);
    let sign = u64::from(low as u8 == b'-');
    // Apart from a leading sign, the only byte that is not a digit may be one point between digits.
    let others = !digits & inside & !sign;
    let point = others.trailing_zeros() as usize % LONGEST;
    let is_point = text.get(point) == Some(&b'.');
    let lone = others & others.wrapping_sub(1) == 0;
    let between = (point > sign as usize) & (point + 1 < len);
    let parts = (others == 0) | (lone & is_point & between);
    // No digit follows a leading zero.
    let leading = (low >> (8 * sign)) as u8;
    let padded = (leading == b'0') & (digits & inside & (2 << sign) != 0);
    parts & !padded & (len > sign as usize)
}

#[inline(always)]
fn halves(text: &[u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(*text);
    [both as u64, (both >> 64) as u64]
}

/// Returns which of eight bytes are digits; bit 0 is the first byte.
#[inline(always)]
fn digit_mask(eight: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Digits become 0 to 9. Larger values have the top bit set after adding 0x76, or had it before.
    let low = eight ^ (EACH * 0x30);
    let others = ((low & (EACH * 0x7F)) + EACH * 0x76) | low;
    // Moves the eight top bits into one byte.
    (!others >> 7 & EACH).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Returns the end of a number, reading eight digits at a time. `None`: it is not a number, or it may continue.
#[inline]
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at + usize::from(bytes.get(at) == Some(&b'-'));
    end = if bytes.get(end) == Some(&b'0') { end + 1 } else { digits(bytes, end)? };
    if bytes.get(end) == Some(&b'.') {
        end = digits(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
        end = digits(bytes, end + 1 + usize::from(sign))?;
    }
    bytes.get(end).is_some_and(|byte| ends_scalar(*byte)).then_some(end)
}

/// Returns the end of a run of at least one digit.
#[inline]
fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut end = at;
    while let Some(eight) = bytes.get(end..).and_then(<[u8]>::first_chunk) {
        let eight = u64::from_le_bytes(*eight);
        // The high half of a digit is 3, before and after adding 6. A carry moves up, away from the first other byte.
        let more = eight.wrapping_add(EACH * 6);
        let other =
            (eight & (EACH * 0xF0) ^ (EACH * 0x30)) | (more & (EACH * 0xF0) ^ (EACH * 0x30));
        end += other.trailing_zeros() as usize / 8;
        if other != 0 {
            return (end > at).then_some(end);
        }
    }
    while bytes.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    (end > at).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::{ScalarState, ScalarStep, is_decimal, is_short, scan};

    /// The fast path agrees with the state machine, and both agree with the reference, at every split.
    #[test]
    fn agrees_with_the_reference_at_every_split() {
        const BYTES: &[u8] = b"-019.eE+trufalsn, \"";
        let mut texts: Vec<Vec<u8>> =
            ["true", "false", "null", "-0.0e+0", "120.50E-17", "1e5", "nulll", "truee"]
                .iter()
                .map(|text| text.as_bytes().to_vec())
                .collect();
        for a in BYTES {
            for b in BYTES {
                for c in BYTES {
                    for d in BYTES {
                        texts.push(vec![*a, *b, *c, *d]);
                    }
                }
            }
        }
        for text in &texts {
            let Some(first) = ScalarState::begin(text[0]) else {
                assert_eq!(scan(text, 0, text[0]), ScalarStep::Bad(0));
                continue;
            };
            let whole = first.run(text, 1);
            for end in 1..text.len() {
                let mut padded = text[..end].to_vec();
                padded.extend_from_slice(b",\"key\":");
                if is_short(&padded, 0, end) {
                    let ended = ScalarStep::Ended(end);
                    assert_eq!(first.run(&padded, 1), ended, "{}", padded.escape_ascii());
                }
            }
            assert_eq!(scan(text, 0, text[0]), whole, "{}", text.escape_ascii());
            for cut in 1..text.len() {
                let split = match first.run(&text[..cut], 1) {
                    ScalarStep::More(state) => state.run(text, cut),
                    done => done,
                };
                assert_eq!(split, whole, "{} at {cut}", text.escape_ascii());
            }
            let accepted = match whole {
                ScalarStep::Ended(end) => Some(end),
                ScalarStep::More(state) if state.is_complete() => Some(text.len()),
                _ => None,
            };
            if let Some(end) = accepted {
                assert!(
                    serde_json::from_slice::<&serde_json::value::RawValue>(&text[..end]).is_ok()
                );
            } else {
                let reference = serde_json::from_slice::<&serde_json::value::RawValue>(text);
                assert!(reference.is_err(), "{}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn short_ones_are_recognised() {
        let padded = |text: &str| format!("{text},                ");
        for text in ["0", "7", "10", "12345678", "true", "false", "null"] {
            assert!(is_short(padded(text).as_bytes(), 0, text.len()), "{text}");
        }
        for text in ["01", "-1", "1.5", "123456789", "nul", "null\0", "true ", "/", ":", "1:", ""] {
            assert!(!is_short(padded(text).as_bytes(), 0, text.len()), "{text}");
        }
        for text in ["0", "1234567890123456", "-1", "-0", "0.0", "-0.5", "1.5", "-12345.123456789"]
        {
            assert!(is_decimal(padded(text).as_bytes(), 0, text.len()), "{text}");
        }
        for text in ["", "-", "null", "1e5", "12345678901234567", "1/2", "0x1", "1:", "true"] {
            assert!(!is_decimal(padded(text).as_bytes(), 0, text.len()), "{text}");
        }
        assert!(!is_decimal(b"1,", 0, 1));
        assert!(!is_short(b"1,", 0, 1));
    }

    /// The fast checks read eight and sixteen bytes at once. They refuse scalars after which the text is too short for
    /// that, and ranges that are empty or outside the text.
    #[test]
    fn the_end_of_the_text() {
        for scalar in ["7", "1234567", "12345678", "null", "false"] {
            for more in 0..20 {
                let text = format!("[{scalar}{}", &",                   "[..more]);
                let (bytes, end) = (text.as_bytes(), 1 + scalar.len());
                assert_eq!(is_short(bytes, 1, end), text.len() > 8, "{text:?}");
                let digits = scalar.starts_with(|first: char| first.is_ascii_digit());
                assert_eq!(is_decimal(bytes, 1, end), digits && text.len() > 16, "{text:?}");
            }
        }
        let text = b"[1,22,333,4444,55555,666666]";
        for at in 0..text.len() + 3 {
            for end in (0..at + 1).chain(text.len() + 1..text.len() + 20) {
                assert!(!is_short(text, at, end) && !is_decimal(text, at, end), "{at}..{end}");
            }
        }
        for at in 0..text.len() {
            for end in at + 1..=text.len() {
                let good = text[at..end].iter().all(u8::is_ascii_digit);
                assert!(good || !is_short(text, at, end), "{at}..{end}");
                assert!(good || !is_decimal(text, at, end), "{at}..{end}");
            }
        }
    }

    /// A literal or number that is cut by the end of the text may continue. Everything else is decided.
    #[test]
    fn scalars_at_the_end_of_the_text() {
        for text in ["true", "tru", "null", "n", "-", "0", "12", "1.", "1.5", "1e", "1e+", "1e5"] {
            let ScalarStep::More(state) = scan(text.as_bytes(), 0, text.as_bytes()[0]) else {
                panic!("{text}");
            };
            let complete = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(state.is_complete(), complete, "{text}");
        }
        for (text, at) in [("01", 1), ("-a", 1), ("1.e", 2), ("1e+-", 3), ("trua", 3), ("truee", 4)]
        {
            let step = scan(text.as_bytes(), 0, text.as_bytes()[0]);
            assert_eq!(step, ScalarStep::Bad(at), "{text}");
        }
        for end in [" ", "\n", "\r", "\t", ",", ":", "[", "]", "{", "}", "\""] {
            for scalar in ["true", "0", "-1.5e+3"] {
                let text = format!("{scalar}{end}");
                let step = scan(text.as_bytes(), 0, text.as_bytes()[0]);
                assert_eq!(step, ScalarStep::Ended(scalar.len()), "{text}");
            }
        }
    }

    /// The fast checks accept only valid scalars, for any bytes.
    #[test]
    fn decimals_are_good() {
        const BYTES: &[u8] = b"-0019.e:";
        let mut recognised = 0;
        for len in 1..=6 {
            for number in 0..BYTES.len().pow(len) {
                let text: Vec<u8> = (0..len)
                    .map(|place| BYTES[number / BYTES.len().pow(place) % BYTES.len()])
                    .collect();
                let padded = [&text[..], b",                "].concat();
                let good = ScalarState::begin(text[0])
                    .is_some_and(|first| first.run(&padded, 1) == ScalarStep::Ended(text.len()));
                let decimal = is_decimal(&padded, 0, text.len());
                assert_eq!(decimal, good && !text.contains(&b'e'), "{}", text.escape_ascii());
                recognised += usize::from(decimal);
            }
        }
        assert!(recognised > 5_000, "{recognised}");
    }

    /// Numbers of any length with any byte at any position: reading eight bytes at a time agrees with reading one by
    /// one.
    #[test]
    fn long_numbers_are_read_as_short_ones() {
        let number = b"-12345678901234567.0123456789012345678E+10203040506070809,\"a\":1";
        for length in 1..=number.len() {
            let text = &number[number.len() - length..];
            for at in 0..text.len().min(40) {
                for byte in 0..=255 {
                    let mut text = text.to_vec();
                    text[at] = byte;
                    let Some(first) = ScalarState::begin(text[0]) else { continue };
                    let (fast, slow) = (scan(&text, 0, text[0]), first.run(&text, 1));
                    assert_eq!(fast, slow, "{}", text.escape_ascii());
                    let cut = &text[..at];
                    if !cut.is_empty() {
                        assert_eq!(scan(cut, 0, cut[0]), first.run(cut, 1));
                    }
                }
            }
        }
    }
}
