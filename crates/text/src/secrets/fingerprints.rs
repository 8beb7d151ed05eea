//! The texts with which secrets begin, and a table that finds them at the beginning of a word.

use std::sync::LazyLock;

use super::kinds::{ALNUM, Class, PASSWORD, RUN, WORD, class, has};
use super::percent::percent_encoded;
use super::table::KINDS;

/// The texts with which a word begins that may be a secret. Each anchor except [`URL`], [`TILDE`] and those of
/// [`LONG_ANCHORS`] contains one of them at the beginning of a word.
static FINGERPRINTS: &[&str] = &[
    "AKIA",
    "AKID",
    "ASIA",
    "ABIA",
    "ACCA",
    "aws_sec",
    "AWS_SEC",
    "secret_",
    "SECRET_A",
    "SecretAcc",
    "secretAc",
    "IQoJb3Jp",
    "FwoGZXIv",
    "FQoGZXIv",
    "ABSK",
    "bedrock-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_p",
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
    "gloas-",
    "GR134",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "xoxc-",
    "xoxd-",
    "xoxo-",
    "xoxe",
    "xapp-",
    "hooks.sl",
    "discord",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "sk_prod_",
    "rk_prod_",
    "whsec_",
    "sq0atp-",
    "sq0csp-",
    "EAA",
    "access_t",
    "sk-",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "npm_",
    "pypi-A",
    "rubygems_",
    "dckr_",
    "hf_",
    "api_org_",
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
    "atlasv1.",
    "pscale_",
    "sbp_",
    "sb_secr",
    "dp.pt.",
    "dp.st.",
    "dp.ct.",
    "dp.sa.",
    "dp.scim.",
    "dp.audit",
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
    "fo1_",
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
    "ops_eyJ",
    "AA",
    "Bearer",
    "bearer",
    "BEARER",
    "Basic",
    "basic",
    "BASIC",
    "AccountK",
    "SharedAc",
    "LS0tLS1C",
    "vcp_",
    "vci_",
    "vca_",
    "vcr_",
    "nvapi-",
    "pcsk_",
    "nfp_",
    "rnd_",
    "phx_",
    "napi_",
    "v1.0-",
    "sha256~",
    "sha256%7",
    "EZAK",
    "EZTK",
    "duffel_",
    "FLWSECK",
    "fio-u-",
    "rdme_",
    "shippo_",
    "tk-us-",
    "pat",
    "sat.",
    "gitlab_s",
    "API-",
    "ico-",
    "sm_pat_",
    "sm_aat_",
    "sm_sat_",
    "sl.",
    "AQ.Ab",
    "re_",
    "oy2",
    "A3-",
    "cmVmdGtu",
    "webhook.",
    "outlook.",
    "PuTTY-Us",
    "LS0tLSBC",
    "Ci0tLS0t",
    "CgotLS0t",
    "DQotLS0t",
    "sig=",
    "sig%",
    "BEGIN",
];

/// The anchor of passwords in URLs, which are found by the sign `@`.
const URL: &str = "://";

/// The anchor that is found by the sign `~`.
const TILDE: &str = "Q~";

/// The anchors that are found at the beginnings of very long runs ([`may_be_long_text`]).
const LONG_ANCHORS: &[&str] = &["", "M", "N", "O", "1//0"];

/// The most bytes before a place that the search finds to which the secret may begin, with room for escaped slashes.
pub(super) const BEFORE: usize = 640;

/// The most bytes before a sign `@` to which the URL with the password begins: a user name, a password and their signs.
pub(super) const URL_BEFORE: usize = PASSWORD + 512;

/// A place where an anchor may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnchorPlace {
    /// The index in [`KINDS`].
    pub(super) kind: usize,
    pub(super) anchor: &'static [u8],
    /// The position of the text in the anchor.
    pub(super) offset: usize,
}

/// The compiled table, shared by all filters.
pub(super) struct Fingerprints {
    /// For each hash of four bytes, the group of the texts that may begin with them. Most have the first group.
    table: Box<[u8; 1 << BITS]>,
    /// Groups of texts. The first one is empty.
    groups: Vec<Vec<TextPrefix>>,
    /// The text of two bytes, which is not in the table: too many bytes may follow it.
    pair: Option<TextPrefix>,
    /// For each text, the anchors that contain it, in the order of the kinds.
    places: Vec<Vec<AnchorPlace>>,
    /// The anchor of passwords in URLs.
    url: Vec<AnchorPlace>,
    tilde: Vec<AnchorPlace>,
    long: Vec<AnchorPlace>,
    /// For each byte, the anchors that begin with it.
    by_first: Vec<Vec<AnchorPlace>>,
    /// The characters of all anchors.
    anchors: Class,
}

/// The first eight bytes of a text.
#[derive(Clone, Copy, Debug)]
struct TextPrefix {
    /// Its bytes, and zeros.
    bytes: u64,
    /// All ones in the bytes that it has.
    mask: u64,
    /// The index in [`FINGERPRINTS`].
    text: usize,
}

impl TextPrefix {
    #[inline(always)]
    fn is_at(&self, eight: u64) -> bool {
        eight & self.mask == self.bytes
    }
}

/// The number of bits of a hash.
const BITS: u32 = 14;

/// Returns the hash of the first four bytes of eight.
#[inline(always)]
fn hash(eight: u64) -> usize {
    ((eight as u32).wrapping_mul(0x9E37_79B1) >> (u32::BITS - BITS)) as usize
}

/// Returns the first eight bytes, and zeros for those that are missing.
#[inline(always)]
fn first_eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte)),
    }
}

static COMPILED: LazyLock<Fingerprints> = LazyLock::new(Fingerprints::compile);

impl Fingerprints {
    pub(super) fn shared() -> &'static Self {
        &COMPILED
    }

    fn compile() -> Self {
        let mut compiled = Self {
            table: Box::new([0; 1 << BITS]),
            groups: vec![Vec::new()],
            pair: None,
            places: vec![Vec::new(); FINGERPRINTS.len()],
            url: Vec::new(),
            tilde: Vec::new(),
            long: Vec::new(),
            by_first: vec![Vec::new(); 256],
            anchors: 0,
        };
        for (kind, one) in KINDS.iter().enumerate() {
            for anchor in one.anchors {
                compiled.add_anchor(kind, anchor);
            }
        }
        for (index, text) in FINGERPRINTS.iter().enumerate() {
            let mask = u64::MAX >> (u64::BITS - 8 * text.len().min(8) as u32);
            compiled.add_text(TextPrefix {
                bytes: first_eight(text.as_bytes()),
                mask,
                text: index,
            });
        }
        compiled
    }

    fn add_anchor(&mut self, kind: usize, anchor: &'static str) {
        for byte in anchor.bytes() {
            self.anchors |= 1 << byte;
        }
        let place = |offset| AnchorPlace { kind, anchor: anchor.as_bytes(), offset };
        let first = anchor.bytes().next();
        match first {
            Some(first) => self.by_first.get_mut(usize::from(first)).into_iter().for_each(|list| {
                list.push(place(0));
            }),
            None => (0..=u8::MAX).zip(&mut self.by_first).for_each(|(byte, list)| {
                list.extend(has(ALNUM, byte).then(|| place(0)));
            }),
        }
        match anchor {
            URL => self.url.push(place(0)),
            TILDE => self.tilde.push(place(0)),
            _ if LONG_ANCHORS.contains(&anchor) => self.long.push(place(0)),
            _ => {}
        }
        let encoded = percent_encoded(anchor);
        for (spelled, is_encoded) in [(anchor, false), (encoded.as_str(), true)] {
            if !(is_encoded && encoded == anchor)
                && let Some((index, offset)) = text_of(spelled)
                && let Some(list) = self.places.get_mut(index)
                && !(is_encoded && (offset > 0 || list.iter().any(|place| place.kind == kind)))
            {
                list.push(place(offset));
            }
        }
    }

    /// Adds a text to the groups of each four bytes with which it may begin.
    fn add_text(&mut self, text: TextPrefix) {
        if text.mask == u64::from(u16::MAX) {
            self.pair = Some(text);
            return;
        }
        // After a text of three bytes, any byte of a run may come.
        let fourth = u64::from(u8::MAX) << 24;
        let any = (0..=u8::MAX).filter(|byte| text.mask & fourth == 0 && has(RUN, *byte));
        let mut hashes: Vec<_> = any.map(|byte| hash(text.bytes | u64::from(byte) << 24)).collect();
        if hashes.is_empty() {
            hashes.push(hash(text.bytes));
        }
        for hash in hashes {
            let Some(group) = self.table.get_mut(hash) else { continue };
            let mut texts = self.groups.get(usize::from(*group)).cloned().unwrap_or_default();
            texts.push(text);
            // A text of three bytes shares one group for all bytes after it.
            let same = |other: &Vec<TextPrefix>| {
                other.len() == texts.len()
                    && other.iter().zip(&texts).all(|(one, other)| one.text == other.text)
            };
            // It is most often one of the last.
            let known = self.groups.iter().rposition(same);
            let index = known.unwrap_or(self.groups.len());
            if known.is_none() {
                self.groups.push(texts);
            }
            *group = u8::try_from(index).unwrap_or(0);
        }
    }

    /// Returns whether a text may be at the beginning of a word, which is false for most words.
    #[inline(always)]
    pub(super) fn may_be_text(&self, word: &[u8]) -> bool {
        let eight = first_eight(word);
        let is_pair = self.pair.as_ref().is_some_and(|text| text.is_at(eight));
        is_pair | self.table.get(hash(eight)).is_none_or(|group| *group != 0)
    }

    /// Returns the index of the text at the beginning of `rest`.
    pub(super) fn text_at(&self, rest: &[u8]) -> Option<usize> {
        let eight = first_eight(rest);
        if let Some(pair) = self.pair.as_ref().filter(|text| text.is_at(eight)) {
            return Some(pair.text);
        }
        let group = self.groups.get(usize::from(*self.table.get(hash(eight))?))?;
        Some(group.iter().find(|text| text.is_at(eight))?.text)
    }

    /// Returns the index of the text that ends `bytes` and is followed by a blank in every secret, and where it begins.
    pub(super) fn text_before_blanks(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let blanks = bytes.iter().rev().take(8).take_while(|byte| matches!(byte, b' ' | b'\t'));
        let end = bytes.len() - blanks.count();
        let word = bytes.get(..end)?;
        if !matches!(word.last()?, b'r' | b'R' | b'c' | b'C') {
            return None;
        }
        [6, 5].into_iter().find_map(|len| {
            let begin = end.checked_sub(len)?;
            Some((self.text_at(word.get(begin..)?)?, begin))
        })
    }

    pub(super) fn places(&self, text: usize) -> &[AnchorPlace] {
        self.places.get(text).map_or(&[], Vec::as_slice)
    }

    /// Returns the anchor of passwords in URLs.
    pub(super) fn url(&self) -> &[AnchorPlace] {
        &self.url
    }

    /// Returns the anchor that is found by the sign `~`.
    pub(super) fn tilde(&self) -> &[AnchorPlace] {
        &self.tilde
    }

    /// Returns the anchors that are found at the beginnings of very long runs.
    pub(super) fn long(&self) -> &[AnchorPlace] {
        &self.long
    }

    pub(super) fn beginning_with(&self, byte: u8) -> &[AnchorPlace] {
        self.by_first.get(usize::from(byte)).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a character occurs in an anchor.
    pub(super) fn may_be_in_anchor(&self, byte: u8) -> bool {
        has(self.anchors, byte)
    }

    /// Returns whether the search may miss a secret because an escape spells this character.
    pub(super) fn may_hide(&self, byte: u8) -> bool {
        has(self.anchors | RUN | class(b" \t@\\"), byte)
    }
}

/// Returns whether a secret without a text at its beginning may begin a very long run, which is false for most: a refresh
/// token of Google, the base64 of a number, or a token of Azure.
#[inline]
pub(super) fn may_be_long_text(run: &[u8]) -> bool {
    match run {
        [b'1', b'/' | b'\\' | b'%', ..] | [b'M'..=b'O', b'D' | b'T' | b'j' | b'z', ..] => true,
        _ => [(52, &b"JQQJ"[..]), (76, b"AZDO")]
            .iter()
            .any(|(at, text)| run.get(*at..).is_some_and(|rest| rest.starts_with(text))),
    }
}

/// Returns the text that an anchor has at the beginning of a word, and its position.
fn text_of(anchor: &str) -> Option<(usize, usize)> {
    let anchor = anchor.as_bytes();
    let begins_word = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| anchor.get(before));
        before.is_none_or(|before| !has(WORD, *before))
    };
    (0..anchor.len()).filter(begins_word).find_map(|at| {
        let rest = anchor.get(at..)?;
        let text = FINGERPRINTS.iter().position(|text| rest.starts_with(text.as_bytes()))?;
        Some((text, at))
    })
}

#[cfg(test)]
mod tests {
    use super::{BEFORE, FINGERPRINTS, Fingerprints, LONG_ANCHORS, TILDE, URL, text_of};
    use crate::secrets::kinds::{RUN, WORD, has};
    use crate::secrets::search::AHEAD;
    use crate::secrets::table::KINDS;

    #[test]
    fn each_anchor_has_a_text_at_the_beginning_of_a_word() {
        for kind in KINDS {
            let has_text = |anchor: &&&str| {
                **anchor != URL && **anchor != TILDE && !LONG_ANCHORS.contains(*anchor)
            };
            for anchor in kind.anchors.iter().filter(has_text) {
                let Some((_, offset)) = text_of(anchor) else { panic!("{anchor}") };
                assert!(offset > 0 || kind.not_after & WORD == WORD, "{anchor}");
                assert!(anchor.len() - offset < AHEAD);
                // Each slash may have a backslash before it.
                assert!(anchor.len() + anchor.matches('/').count() < BEFORE);
                assert!(!anchor.contains(['"', '\\', ' ', '\n']), "{anchor}");
            }
        }
    }

    #[test]
    fn each_text_is_found_whatever_follows() {
        let found = Fingerprints::shared();
        assert!(found.groups.len() <= 256, "{} groups", found.groups.len());
        for (index, text) in FINGERPRINTS.iter().enumerate() {
            for after in (0..=u8::MAX).filter(|byte| has(RUN, *byte)) {
                let bytes = [text.as_bytes(), &[after; 8]].concat();
                assert_eq!(found.text_at(&bytes), Some(index), "{text} and {after:#x}");
            }
        }
        assert_eq!(found.text_at(b"github_rat_"), None);
        assert_eq!(found.text_at(b""), None);
    }

    #[test]
    fn no_text_is_the_beginning_of_another() {
        for (index, text) in FINGERPRINTS.iter().enumerate() {
            assert!(text.len() >= 2 && text.bytes().all(|byte| byte < 128), "{text}");
            assert!(text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic()));
            let others = FINGERPRINTS.iter().enumerate().filter(|(other, _)| *other != index);
            assert!(!others.into_iter().any(|(_, other)| other.starts_with(text)), "{text}");
        }
    }

    #[test]
    fn words_are_those_of_the_masks() {
        for byte in 0..=u8::MAX {
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            assert_eq!(has(WORD, byte), is_word, "{byte}");
        }
    }
}
