//! Validates UTF-8 across windows: complete runs by `simdutf8`, a sequence cut by the end of a window byte by byte.
//!
//! The place of an error is the first byte that no valid sequence could have there, so that it does not depend on where
//! the input was cut.

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

    /// Checks the next bytes; `Err` contains the position of the first invalid one.
    #[inline(never)]
    pub(super) fn check(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut at = 0;
        while self.is_partial() {
            let Some(byte) = bytes.get(at) else { return Ok(()) };
            self.push(*byte).map_err(|()| at)?;
            at += 1;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let whole = rest.get(..rest.len() - cut_off(rest)).unwrap_or_default();
        at += match simdutf8::basic::from_utf8(whole) {
            Ok(_) => whole.len(),
            // Rare: an error. The standard library says where the sequence begins.
            Err(_) => std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len),
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

    /// Every sequence of up to three bytes from the interesting ones, at every cut, against the definition: the first
    /// byte with which no valid text begins.
    #[test]
    fn the_first_byte_that_no_text_could_have_there() {
        const BYTES: [u8; 15] = [
            b'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc3, 0xe0, 0xed, 0xf0, 0xf4,
            0xf5,
        ];
        let viable = |text: &[u8]| match std::str::from_utf8(text) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        let mut cases = vec![vec![]];
        for _ in 0..4 {
            cases = cases
                .iter()
                .flat_map(|case| {
                    BYTES.iter().map(move |byte| {
                        let mut longer: Vec<u8> = case.clone();
                        longer.push(*byte);
                        longer
                    })
                })
                .collect();
            for case in &cases {
                let expected =
                    (1..=case.len()).find(|end| !viable(&case[..*end])).map(|end| end - 1);
                for cut in 0..=case.len() {
                    let mut utf8 = Utf8State::default();
                    let found = utf8
                        .check(&case[..cut])
                        .and_then(|()| utf8.check(&case[cut..]).map_err(|at| cut + at))
                        .err();
                    assert_eq!(found, expected, "{case:02x?} cut at {cut}");
                    let complete = std::str::from_utf8(case).is_ok();
                    assert_eq!(expected.is_none() && !utf8.is_partial(), complete);
                }
            }
        }
    }
}
