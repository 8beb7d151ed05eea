//! JSON as events: the resumable machine, what it asks of its handler, and the writer.
//!
//! Knows no rule. The [`machine`] walks the tokens of a window, validates, and asks its [`Handler`] what it wants of
//! each value; [`Interest`] says how little work a value needs.

pub(crate) mod bom;
pub(crate) mod key;
pub(crate) mod levels;
pub(crate) mod machine;
mod path_tracker;
mod scalar;
pub(crate) mod writer;

use crate::error::Raise;
use crate::path::trie::{NameTable, NodeId, Trie};
use key::RawKey;

/// What a value is, known from its first byte (for strings: from the second).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Object,
    Array,
    String,
    /// `""`; told from other strings only where [`machine::MachineConfig::detect_empty_strings`] asks for it.
    EmptyString,
    Number,
    Bool,
    Null,
}

impl ValueKind {
    pub(crate) fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// Where a value stands in its parent.
#[derive(Clone, Copy)]
pub(crate) enum ValueSlot<'a> {
    /// The document itself.
    Top,
    /// A member of the object that was entered last.
    Member(RawKey<'a>),
    /// An element of the array that was entered last, counted from 0.
    Element(u64),
}

/// A member with a good scalar, both at hand. Its colon is right behind its key; white space is nowhere in it but between
/// colon and value.
#[derive(Clone, Copy)]
pub(crate) struct MemberSpan<'a> {
    pub(crate) text: &'a [u8],
    /// Position of the key's opening quote, and behind its closing one.
    pub(crate) key: usize,
    pub(crate) key_end: usize,
    /// Position of the value's first byte, and behind its last one.
    pub(crate) value: usize,
    pub(crate) end: usize,
}

/// Which members with scalars are not simply kept.
#[derive(Clone, Copy)]
pub(crate) struct ExcludedMembers<'a> {
    /// Those of these names, children of a node of this trie: they go where paths end. `None`: no name matters.
    pub(crate) names: Option<(&'a NameTable, &'a Trie)>,
    /// Those that are null.
    pub(crate) nulls: bool,
    /// Those that are empty strings.
    pub(crate) empty: bool,
}

/// Takes members without further questions, where all that is wanted of them is their bytes.
pub(crate) trait MemberTaker {
    /// Takes a member of the object that was entered last, given what the table has for its name.
    fn take(&mut self, child: NodeId, member: MemberSpan<'_>) -> TakeResult;
}

/// What became of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakeResult {
    /// Nothing was done: the machine must ask as usual.
    No,
    /// It was taken, and others may be.
    More,
    /// It was taken, and nothing else of its object is wanted.
    Last,
}

/// Takes nothing.
struct NoTaker;

impl MemberTaker for NoTaker {
    fn take(&mut self, _: NodeId, _: MemberSpan<'_>) -> TakeResult {
        TakeResult::No
    }
}

/// What a handler wants of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Nothing.
    Skip,
    /// Nothing, and nothing of what follows in the same container either.
    SkipRest,
    /// Its bytes, through [`Handler::raw`], then [`Handler::copied`].
    Copy,
    /// The same, with the member's key and colon in front, as they were spelled.
    CopyMember,
    /// To be asked about each of its members or elements, then [`Handler::close`]. Containers only.
    Inspect,
    /// To be asked again, after the machine has made a copy of itself at this value; see
    /// [`machine::Machine::take_checkpoint`].
    Mark,
    /// The end of the run: nothing more is read.
    Stop,
}

/// Why a handler ends a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// It failed.
    Error(Raise),
    /// What was decided since the checkpoint was wrong: go back there.
    Rewind,
    /// The decision that was waited for has come, but too many bytes after the checkpoint.
    Overdue,
}

impl From<Raise> for Halt {
    fn from(raise: Raise) -> Self {
        Self::Error(raise)
    }
}

/// Takes the events of a document, in document order.
///
/// A handler is asked about a value when the value's first byte is known to be good; what is behind it may still turn
/// out bad. It then sees the bytes before the error and nothing else.
pub(crate) trait Handler {
    /// A value begins, told by the byte at this offset. Scalars must not be answered with [`Interest::Inspect`].
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Halt>;

    /// The names of all members of the object that was entered last that are of interest, whatever their values; the
    /// machine spares itself the question about others. `None`: it must ask.
    #[inline]
    fn wanted(&self) -> Option<&NameTable> {
        None
    }

    /// Whether nothing more is wanted of the object that was entered last: the answer to every member would be
    /// [`Interest::SkipRest`].
    #[inline]
    fn is_done(&self) -> bool {
        false
    }

    /// A member begins whose name is in [`wanted`](Self::wanted): the answer of [`value`](Self::value), given what that
    /// table has for it.
    #[inline]
    fn found(
        &mut self,
        child: NodeId,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Halt> {
        _ = child;
        self.value(slot, kind, offset)
    }

    /// The names that are [`wanted`](Self::wanted), with someone who takes members of these names at once.
    #[inline]
    fn taking(&mut self) -> Option<(&NameTable, impl MemberTaker)> {
        None::<(&NameTable, NoTaker)>
    }

    /// What of the container that was entered last must be asked about, if all other members with scalars are kept as they
    /// are; of an array, all elements that are scalars. `None`: the machine must ask about each.
    #[inline]
    fn excluded(&self) -> Option<ExcludedMembers<'_>> {
        None
    }

    /// Members or elements that are kept as they are, commas between them and all, without white space; more of them may
    /// come through [`raw`](Self::raw).
    #[inline]
    fn keep(&mut self, members: &[u8]) {
        _ = members;
    }

    /// The container that was entered last ends; its closing bracket is at this offset.
    fn close(&mut self, offset: u64) -> Result<(), Halt>;

    /// Bytes of a value that is copied: white space outside strings is already gone, unless it is kept.
    fn raw(&mut self, bytes: &[u8]);

    /// The value that was copied has ended; it is known by the byte at this offset.
    fn copied(&mut self, offset: u64) -> Result<(), Halt> {
        _ = offset;
        Ok(())
    }

    /// White space in front of what comes next; only where white space is kept.
    fn lead(&mut self, bytes: &[u8]) {
        _ = bytes;
    }

    /// What stands between a key and the value that comes next, colon included; only where white space is kept.
    fn gap(&mut self, bytes: &[u8]) {
        _ = bytes;
    }

    /// Whether the members of the object that was entered last can be decided without their keys, if those are longer
    /// than `limit` bytes, as spelled.
    fn takes_long_keys(&self, limit: usize) -> bool {
        _ = limit;
        false
    }
}
