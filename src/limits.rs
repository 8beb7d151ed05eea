//! How much a run may hold, and the one meter that is asked before anything is held.
//!
//! Knows nothing of documents. What waits for a decision is charged to the meter before it is stored; what else is kept
//! for a while (the open path, a key, a value that is needed twice) is bounded by the limit that names it.

use crate::error::{ErrorKind, Raise};

/// Upper bounds of one run. Each is a promise to the host: beyond it the run fails with
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) and never grows instead.
///
/// ```
/// use tamis::Limits;
///
/// let limits = Limits::new().with_depth(64).with_spill(0); // never touch the disk
/// assert_eq!(limits.depth(), 64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    depth: usize,
    key: usize,
    held: u64,
    spill: u64,
    item: u64,
    line: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

impl Limits {
    /// The defaults that each setter names.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            depth: 1024,
            key: 64 << 10,
            held: 4 << 20,
            spill: 1 << 30,
            item: 16 << 20,
            line: 64 << 10,
        }
    }

    /// Containers that may be open at once.
    ///
    /// ### Default
    /// 1,024.
    ///
    /// ### Caveat
    /// Costs one bit a level for the grammar and a few words for the place in errors; nothing recurses on it.
    #[must_use]
    pub const fn with_depth(mut self, containers: usize) -> Self {
        self.depth = containers;
        self
    }

    /// Bytes of one member name, as spelled between its quotes, that may have to be held until its fate is known.
    ///
    /// ### Default
    /// 64 KiB.
    ///
    /// ### Caveat
    /// A longer name is no error where it goes with its value unread: inside a value that is dropped or kept whole, and
    /// where only selected members stay. Where white space is kept, as much of it may stand between two tokens.
    #[must_use]
    pub const fn with_key(mut self, bytes: usize) -> Self {
        self.key = bytes;
        self
    }

    /// Bytes that wait in memory for a decision (the branch of `when`, the payload of `root: auto`, the fallback of a missed
    /// select, patches that may still fail).
    ///
    /// ### Default
    /// 4 MiB; what is more goes to a temporary file.
    #[must_use]
    pub const fn with_held(mut self, bytes: u64) -> Self {
        self.held = bytes;
        self
    }

    /// Bytes that may wait in an anonymous temporary file after memory is full.
    ///
    /// ### Default
    /// 1 GiB. 0 never touches the disk.
    ///
    /// ### Caveat
    /// Spilled bytes are the input as it came, unredacted. The file has no name and goes with the process.
    #[must_use]
    pub const fn with_spill(mut self, bytes: u64) -> Self {
        self.spill = bytes;
        self
    }

    /// Bytes of values that must be read twice: a selected value inside another, or one that two members ask for. Those
    /// inside one another count together. So many bytes has a value that a branch asks for, and so many take what is left of a
    /// document whose patches do not stream, and the pieces that it is split into. The same holds for the fields of a JSON answer that are its
    /// [`Content`](crate::Content), with what each takes beside its text.
    ///
    /// ### Default
    /// 16 MiB.
    #[must_use]
    pub const fn with_item(mut self, bytes: u64) -> Self {
        self.item = bytes;
        self
    }

    /// Bytes of one line of text, without its line end and what `strip_ansi` removes, that are held until its fate is
    /// known ([`TextSpec`](crate::TextSpec)).
    ///
    /// ### Default
    /// 64 KiB.
    ///
    /// ### Caveat
    /// A longer line is no error. Where lines are chosen by patterns it is removed, unless the patterns are certain after
    /// that many bytes that it stays; in the output of a command it stays, unless they are certain that it goes. Where lines
    /// are not chosen, it passes as it comes, equal to no other line. Below about 100 bytes, a line that may begin like a
    /// notice of tamis is marked as if it were one.
    #[must_use]
    pub const fn with_line(mut self, bytes: usize) -> Self {
        self.line = bytes;
        self
    }

    /// Containers that may be open at once.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Bytes of a member name that may be held.
    #[must_use]
    pub const fn key(&self) -> usize {
        self.key
    }

    /// Bytes that may wait in memory.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.held
    }

    /// Bytes that may wait in a temporary file.
    #[must_use]
    pub const fn spill(&self) -> u64 {
        self.spill
    }

    /// Bytes of one value that must be read twice.
    #[must_use]
    pub const fn item(&self) -> u64 {
        self.item
    }

    /// Bytes of one line of text that may be held.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }
}

/// Accounts for held bytes: charged before they are stored, released when they go, and the peak kept for the report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    now: u64,
    peak: u64,
}

impl Meter {
    /// Charges `bytes` on top of `already` against the limit called `name`.
    pub(crate) fn charge(
        &mut self,
        name: &'static str,
        limit: u64,
        already: u64,
        bytes: u64,
    ) -> Result<(), Raise> {
        if already.saturating_add(bytes) > limit {
            return Err(Raise::new(
                ErrorKind::Limit,
                format!("more than {limit} bytes would have to be held (limit `{name}`)"),
            ));
        }
        self.now += bytes;
        self.peak = self.peak.max(self.now);
        Ok(())
    }

    pub(crate) fn release(&mut self, bytes: u64) {
        self.now = self.now.saturating_sub(bytes);
    }

    /// Takes on what another meter was charged, beside what this one was.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.now += other.now;
        self.peak = self.peak.max(other.peak);
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }
}
