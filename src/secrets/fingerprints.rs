//! Finds the places where a secret may begin, with one search for short texts that occur in the anchors.
//!
//! The search hashes three bytes at every second position, and looks up one bit:
//!
//! ```text
//! ... t o k e n   g h p _ 1 6 C 7 ...
//!     └─┬─┘
//!       └─▶ hash of 17 bits ─▶ bit of the table: 1 in places where a text may be
//!         └─┬─┘
//! ```
//!
//! A text is found at an even position by its first three bytes, and at an odd one by the three bytes after its first. Where a
//! bit is set, the text is compared. The code needs no vector instructions, and takes about half a cycle per byte.

use std::sync::LazyLock;

use super::kinds::{Class, KINDS, has};

/// The texts that are searched for. Each anchor contains one of them. The first [`ESCAPES`] are spellings in JSON: the
/// beginning of an escape for an ASCII character, which may be a character of an anchor, and `://` with escaped slashes.
static FINGERPRINTS: &[&str] = &[
    r"\u00",
    r":\/",
    r":/\/",
    "AKI",
    "ASIA",
    "ABIA",
    "ACCA",
    "aws_sec",
    "AWS_SEC",
    "SecretAcc",
    "ABSK",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "b_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glptt-",
    "glsoat-",
    "glcbt-",
    "glffct-",
    "glft-",
    "glimt-",
    "glagent-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "xoxe",
    "xapp-",
    "hooks.sl",
    "discord",
    "k_live_",
    "k_test_",
    "whsec_",
    "sq0",
    "token$",
    "sk-",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "npm_",
    "pypi-A",
    "rubygems_",
    "ckr_",
    "hf_",
    "dop_v",
    "doo_v",
    "dor_v",
    "SG.",
    "key-",
    "xkeysib",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "ATATT",
    "ATCTT",
    "ATBB",
    "lin_",
    "ntn_",
    "figd_",
    "dapi",
    "hvs.",
    "hvb.",
    "hvr.",
    ".atlasv",
    "pscale_",
    "sbp_",
    "dp.",
    "glsa_",
    "glc_",
    "NRAK-",
    "sntry",
    "PMAK-",
    "pul-",
    "AGE-SE",
    "r8_",
    "gsk_",
    "xai-",
    "pplx-",
    "lsv2_",
    "tskey-",
    "fm1_",
    "fm2_",
    "HRKU-",
    "CCIPAT",
    "AKCp",
    "CLOJARS",
    "dt0c01",
    "LTAI",
    "CFPAT",
    "pnu_",
    "sgp_",
    "tfp_",
    "eyJ",
    "EAACE",
    ":AA",
    "Beare",
    "beare",
    "BEARE",
    "Basic",
    "basic",
    "BASIC",
    "AccountK",
    "sig=",
    "://",
    "-----BEG",
];

const ESCAPES: usize = 3;

/// The most bytes that an anchor has before a place that the search finds, with room for escaped slashes.
pub(super) const BEFORE: usize = 64;

/// The longest text that is searched for.
pub(super) const LONGEST: usize = 9;

/// A place where an anchor may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnchorPlace {
    /// The index in [`KINDS`].
    pub(super) kind: usize,
    pub(super) anchor: &'static [u8],
    /// The position of the text in the anchor.
    pub(super) offset: usize,
}

/// The compiled search, shared by all filters.
pub(super) struct Fingerprints {
    table: Box<[u64; WORDS]>,
    /// For each byte, the first three bytes and the index of each text that begins with it.
    texts_by_first: Vec<Vec<(u32, usize)>>,
    /// For each text, the anchors that contain it, in the order of the kinds.
    places: Vec<Vec<AnchorPlace>>,
    /// For each byte, the anchors that begin with it.
    by_first: Vec<Vec<AnchorPlace>>,
    /// The characters of all anchors.
    alphabet: Class,
}

/// The characters that may follow a text of three characters in a secret, and the beginning of an escape.
const FOLLOWING: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!'()*+,;=%&:/\\";

/// The number of bits of a hash.
const BITS: u32 = 17;
const WORDS: usize = 1 << (BITS - 6);

/// Returns the hash of the lowest three bytes.
#[inline(always)]
fn hash(bytes: u64) -> usize {
    ((bytes as u32 & 0xFF_FFFF).wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

static COMPILED: LazyLock<Fingerprints> = LazyLock::new(Fingerprints::compile);

/// The text that was found at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hit {
    /// The beginning of an escape for an ASCII character.
    Escape,
    /// The beginning of `://` with an escape.
    Slashes,
    /// The text with this number.
    Text(usize),
}

impl Fingerprints {
    pub(super) fn shared() -> &'static Self {
        &COMPILED
    }

    fn compile() -> Self {
        let mut places = vec![Vec::new(); FINGERPRINTS.len()];
        let mut by_first = vec![Vec::new(); 256];
        let mut alphabet = 0;
        for (kind, one) in KINDS.iter().enumerate() {
            for anchor in one.anchors {
                for byte in anchor.bytes() {
                    alphabet |= 1 << byte;
                }
                let place = |offset| AnchorPlace { kind, anchor: anchor.as_bytes(), offset };
                let first = anchor.bytes().next().map_or(0, usize::from);
                if let Some(list) = by_first.get_mut(first) {
                    list.push(place(0));
                }
                let mut found =
                    FINGERPRINTS.iter().enumerate().skip(ESCAPES).filter_map(|(index, text)| {
                        anchor.find(text).map(|offset| (index, offset))
                    });
                if let Some((index, offset)) = found.next()
                    && let Some(list) = places.get_mut(index)
                {
                    list.push(place(offset));
                }
            }
        }
        let mut table = Box::new([0; WORDS]);
        let mut set = |bytes: u64| {
            let hash = hash(bytes);
            if let Some(word) = table.get_mut(hash >> 6) {
                *word |= 1 << (hash & 63);
            }
        };
        let mut texts_by_first = vec![Vec::new(); 256];
        for (index, text) in FINGERPRINTS.iter().enumerate() {
            let at = |place| text.as_bytes().get(place).map(|byte| u64::from(*byte));
            let [first, second, third] = [0, 1, 2].map(|place| at(place).unwrap_or(0));
            set(first | second << 8 | third << 16);
            match at(3) {
                Some(fourth) => set(second | third << 8 | fourth << 16),
                None => FOLLOWING
                    .iter()
                    .for_each(|any| set(second | third << 8 | u64::from(*any) << 16)),
            }
            if let Some(list) = texts_by_first.get_mut(first as usize) {
                list.push(((first | second << 8 | third << 16) as u32, index));
            }
        }
        Self { table, texts_by_first, places, by_first, alphabet }
    }

    /// Returns the first place at or after `from` that may be part of an anchor.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> Option<(Hit, usize)> {
        let mut at = from;
        while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let eight = u64::from_le_bytes(*eight);
            // Three positions, each with the two bytes after it.
            let mut marks =
                self.bit(eight) | self.bit(eight >> 16) << 2 | self.bit(eight >> 32) << 4;
            while marks != 0 {
                let even = at + marks.trailing_zeros() as usize;
                marks &= marks - 1;
                let odd = even.checked_sub(1).filter(|odd| *odd >= from);
                let found = odd.and_then(|odd| self.text_at(bytes, odd));
                if let Some(found) = found.or_else(|| self.text_at(bytes, even)) {
                    return Some(found);
                }
            }
            at += 6;
        }
        let begin = at.saturating_sub(1).max(from);
        (begin..bytes.len()).find_map(|at| self.text_at(bytes, at))
    }

    #[inline(always)]
    fn bit(&self, bytes: u64) -> u64 {
        let hash = hash(bytes);
        self.table.get(hash >> 6).map_or(0, |word| word >> (hash & 63) & 1)
    }

    /// Returns the text that begins at a position.
    #[inline(never)]
    fn text_at(&self, bytes: &[u8], at: usize) -> Option<(Hit, usize)> {
        let rest = bytes.get(at..)?;
        let [first, second, third] = *rest.first_chunk::<3>()?;
        let begin = u32::from_le_bytes([first, second, third, 0]);
        let texts = self.texts_by_first.get(usize::from(first))?;
        let begins = |(text, index): &&(u32, usize)| {
            *text == begin
                && FINGERPRINTS.get(*index).is_some_and(|text| rest.starts_with(text.as_bytes()))
        };
        let (_, index) = texts.iter().find(begins)?;
        let hit = match *index {
            0 => Hit::Escape,
            1..ESCAPES => Hit::Slashes,
            index => Hit::Text(index),
        };
        Some((hit, at))
    }

    pub(super) fn places(&self, text: usize) -> &[AnchorPlace] {
        self.places.get(text).map_or(&[], Vec::as_slice)
    }

    pub(super) fn beginning_with(&self, byte: u8) -> &[AnchorPlace] {
        self.by_first.get(usize::from(byte)).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a character occurs in an anchor.
    pub(super) fn may_be_in_anchor(&self, byte: u8) -> bool {
        has(self.alphabet, byte)
    }

    /// Returns the length of the longest end of the text that is the beginning of an anchor.
    #[cfg(feature = "text")]
    pub(super) fn partial_anchor(&self, text: &[u8]) -> usize {
        let longest = text.len().min(BEFORE);
        let is_beginning = |len: &usize| {
            let Some(end) = text.get(text.len() - len..) else { return false };
            let first = end.first().copied().unwrap_or(0);
            self.beginning_with(first).iter().any(|place| place.anchor.starts_with(end))
        };
        (1..=longest).rev().find(is_beginning).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{BEFORE, ESCAPES, FINGERPRINTS, LONGEST};
    use crate::secrets::kinds::KINDS;

    #[test]
    fn each_anchor_contains_a_text_that_is_searched_for() {
        for kind in KINDS {
            for anchor in kind.anchors {
                let found = FINGERPRINTS.iter().skip(ESCAPES).any(|text| anchor.contains(text));
                assert!(found, "{anchor}");
                // Each slash may have a backslash before it.
                assert!(anchor.len() + anchor.matches('/').count() < BEFORE);
                assert!(!anchor.contains(['"', '\\', ' ', '\n']), "{anchor}");
            }
        }
    }

    #[test]
    fn no_text_is_the_beginning_of_another() {
        for (index, text) in FINGERPRINTS.iter().enumerate() {
            assert!(text.len() <= LONGEST && text.len() >= 3, "{text}");
            let others = FINGERPRINTS.iter().enumerate().filter(|(other, _)| *other != index);
            assert!(!others.into_iter().any(|(_, other)| other.starts_with(text)), "{text}");
        }
    }
}
