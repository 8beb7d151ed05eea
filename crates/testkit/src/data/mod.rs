//! Deterministic documents in the shapes of real API responses. The same shape and size gives the same bytes on every machine:
//! `Shape::known` has their lengths and hashes.
//!
//! Strings are escaped as by serde_json, floats are the shortest text of their value, and no value is written in two ways. So a
//! peer that parses values and serialises them again writes the same bytes as one that copies them.

#![allow(clippy::indexing_slicing, clippy::expect_used, reason = "a bench may panic")]

mod graphql;
mod issues;
mod numbers;
mod pretty;
mod random;
mod repositories;
pub mod specs;
mod unicode;

use random::Random;

/// The shape of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An array of repositories, compact: about 6 KB each, 80 members, most of them URLs.
    Repositories,
    /// The document of `Repositories`, indented by two spaces.
    Pretty,
    /// An array of issues, whose bodies are quoted code and logs: a backslash every few bytes.
    Issues,
    /// `data.organization.repositories.nodes` with pages in pages of pages, to depth 17; at the end
    /// `data.rateLimit.remaining`.
    Graphql,
    /// An array of measurements: arrays of 256 floats and of 128 integers.
    Numbers,
    /// An array of messages in five scripts, almost no ASCII in them.
    Unicode,
}

impl Shape {
    pub const ALL: [Self; 6] = [
        Self::Repositories,
        Self::Pretty,
        Self::Issues,
        Self::Graphql,
        Self::Numbers,
        Self::Unicode,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Repositories => "repositories",
            Self::Pretty => "pretty",
            Self::Issues => "issues",
            Self::Graphql => "graphql",
            Self::Numbers => "numbers",
            Self::Unicode => "unicode",
        }
    }

    /// Makes a document of this shape: the shortest with whole items that has at least `bytes` bytes. `Pretty` has about that
    /// many.
    pub fn document(self, bytes: usize) -> Vec<u8> {
        let text = match self {
            Self::Repositories => list(bytes, repositories::repository),
            Self::Pretty => pretty::indented(&list(bytes * 6 / 7, repositories::repository)),
            Self::Issues => list(bytes, issues::issue),
            Self::Graphql => graphql::answer(bytes),
            Self::Numbers => list(bytes, numbers::measurement),
            Self::Unicode => list(bytes, unicode::message),
        };
        if let Some(known) = self.known(bytes) {
            let made = (text.len(), hash(text.as_bytes()));
            let name = self.name();
            assert!(made == known, "{name} {bytes}: made ({}, 0x{:016X})", made.0, made.1);
        }
        text.into_bytes()
    }

    /// Length and hash of the documents of the three sizes.
    #[rustfmt::skip]
    fn known(self, bytes: usize) -> Option<(usize, u64)> {
        let [small, medium, large] = match self {
            Self::Repositories => [(124_448, 0x3B8E_8AA7_A145_44B4), (10_000_723, 0x316D_CFB6_8E50_9ADC), (200_004_121, 0x915A_0A88_50B3_7986)],
            Self::Pretty => [(121_356, 0xDD3F_4EA7_321D_B1E4), (9_683_602, 0x2E23_B12F_66E1_AECD), (193_585_474, 0x452F_2A7D_C79A_1DBD)],
            Self::Issues => [(124_152, 0x9A9C_2D65_2765_56A6), (10_000_406, 0xE080_7A47_45DD_2FC2), (200_002_508, 0x34DE_13AF_FEA8_D9B2)],
            Self::Graphql => [(126_552, 0xC858_0A7D_971A_AF6B), (10_019_801, 0x0263_948A_DA49_EFBD), (200_010_089, 0x3B0D_B81D_E36C_8747)],
            Self::Numbers => [(126_523, 0x3F40_4F95_EA49_591D), (10_003_359, 0x523F_93EA_4C8F_DC45), (200_002_961, 0x8800_D69F_6713_CCFD)],
            Self::Unicode => [(124_857, 0xB84A_06FE_23FF_CD03), (10_000_573, 0x3D10_51A4_C38F_991E), (200_000_127, 0xC3CF_BD72_8F10_20AB)],
        };
        match bytes {
            SMALL => Some(small),
            MEDIUM => Some(medium),
            LARGE => Some(large),
            _ => None,
        }
    }
}

/// Sizes of documents: one that fits into a cache, one that does not, and one that should not be held in a buffer.
pub const SMALL: usize = 124_000;
pub const MEDIUM: usize = 10_000_000;
pub const LARGE: usize = 200_000_000;

/// FNV-1a over eight bytes at a time, which is quick enough for 200 MB.
pub fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mix =
        |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(29);
    let hash =
        words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

/// An array of items until there are enough bytes.
fn list(bytes: usize, item: fn(&mut String, &mut Random)) -> String {
    let mut text = String::with_capacity(bytes + bytes / 8 + 8192);
    let mut random = Random(0x5EED);
    text.push('[');
    while text.len() < bytes {
        if text.len() > 1 {
            text.push(',');
        }
        item(&mut text, &mut random);
    }
    text.push(']');
    text
}
