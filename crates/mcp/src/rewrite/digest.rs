//! A digest of a text, to compare texts that are read in chunks.

use tamis::Sink;

/// The length of a text, and its FNV-1a hash, which does not depend on the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    length: u64,
    hash: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self { length: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Digest {
    pub(super) fn add(&mut self, chunk: &[u8]) {
        self.length += chunk.len() as u64;
        for byte in chunk {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Writes to another sink, and digests what is written.
pub(super) struct DigestSink<'a> {
    pub(super) out: &'a mut dyn Sink,
    pub(super) digest: Digest,
}

impl Sink for DigestSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.digest.add(bytes);
        self.out.write(bytes);
    }
}
