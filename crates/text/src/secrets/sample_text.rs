//! Makes the texts of samples.
//!
//! They are made when the tests run: `{A36}` stands for 36 letters and digits. So no file contains a text that looks like a
//! credential.

/// Makes the text of a sample, and the range of its secret: between brackets, or all of it.
pub(super) fn made(sample: &str, random: &mut Random) -> (String, std::ops::Range<usize>) {
    let (mut text, mut from, mut to) = (String::new(), None, None);
    let mut rest = sample;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '[' => from = Some(text.len()),
            ']' => to = Some(text.len()),
            '{' => {
                // Any other brace is itself.
                let inside = rest.split_once('}').and_then(|(inside, after)| {
                    let (class, count) = inside.split_at_checked(1)?;
                    Some((class, count.parse().ok()?, after))
                });
                let Some((class, count, after)): Option<(_, usize, _)> = inside else {
                    text.push('{');
                    continue;
                };
                let class: &[u8] = match class {
                    "A" => b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789",
                    "T" => b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_",
                    "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                    "L" => b"abcdefghijklmnopqrstuvwxyz",
                    "h" | "H" => b"0123456789abcdef",
                    "D" => b"123456789",
                    _ => unreachable!("{sample}"),
                };
                for _ in 0..count {
                    text.push(char::from(class[random.below(class.len())]));
                }
                rest = after;
            }
            other => text.push(other),
        }
    }
    let (begin, end) = (from.unwrap_or(0), to.unwrap_or(text.len()));
    (text, begin..end)
}

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % count as u64) as usize
    }
}
