//! JSON as events: the resumable machine, the trait of its handlers, and the writer.
//!
//! This module does not depend on rules. The [`machine`] walks the tokens of a window, validates them, and asks its
//! [`Handler`] about each value. The handler returns an [`Interest`], which says how little work the value needs.

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

/// The kind of a value, known from its first byte (for strings: from the second).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Object,
    Array,
    String,
    /// `""`. Reported as [`String`](Self::String) unless [`machine::MachineConfig::detect_empty_strings`] is set.
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

/// The place of a value in its parent.
#[derive(Clone, Copy)]
pub(crate) enum ValueSlot<'a> {
    /// The document itself.
    Top,
    /// A member of the object that was entered last.
    Member(RawKey<'a>),
    /// An element of the array that was entered last, counted from 0.
    Element(u64),
}

/// A complete member whose value is a valid scalar. The colon directly follows the key, and the only white space, if
/// any, is between colon and value. Positions are relative to `text`.
#[derive(Clone, Copy)]
pub(crate) struct MemberSpan<'a> {
    pub(crate) text: &'a [u8],
    /// Position of the key's opening quote, and of the colon.
    pub(crate) key: usize,
    pub(crate) key_end: usize,
    /// Position of the value's first byte, and after its last one.
    pub(crate) value: usize,
    pub(crate) end: usize,
}

/// The members with scalars, of a container that is otherwise kept, that the handler must be asked about or drops.
#[derive(Clone, Copy)]
pub(crate) struct ExcludedMembers<'a> {
    /// Members with a name in this table, which belongs to a node of the trie. A member is dropped where a path ends.
    /// `None`: names do not matter.
    pub(crate) names: Option<(&'a NameTable, &'a Trie)>,
    /// Members whose value is `null` are dropped.
    pub(crate) nulls: bool,
    /// Members whose value is an empty string are dropped.
    pub(crate) empty: bool,
}

/// Takes the bytes of wanted members directly, without a question per member.
pub(crate) trait MemberTaker {
    /// Takes a member of the object that was entered last. `child` is the table's entry for its name.
    fn take(&mut self, child: NodeId, member: MemberSpan<'_>) -> TakeResult;
}

/// The result of [`MemberTaker::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakeResult {
    /// Not taken: the machine must ask the handler.
    No,
    /// Taken, and more members may be wanted.
    More,
    /// Taken, and no other member of its object is wanted.
    Last,
}

/// A taker that takes no member.
struct NoTaker;

impl MemberTaker for NoTaker {
    fn take(&mut self, _: NodeId, _: MemberSpan<'_>) -> TakeResult {
        TakeResult::No
    }
}

/// The interest of a handler in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Drop the value.
    Skip,
    /// Drop the value and the rest of its container.
    SkipRest,
    /// Copy the value: pass its bytes to [`Handler::raw`], then call [`Handler::copied`].
    Copy,
    /// Copy the value like [`Copy`](Self::Copy), preceded by the member's key and colon as they are spelled.
    CopyMember,
    /// Ask about each of its members or elements, then call [`Handler::close`]. Only for containers.
    Inspect,
    /// Stop before the value. If it is a container, the run can be continued later: the machine then asks about the
    /// value again.
    Stop,
}

/// Receives the events of a document, in document order.
///
/// The machine asks a handler about a value as soon as the value's first byte is valid. The bytes after it may still be
/// invalid; the handler then receives the bytes before the error and no further call.
pub(crate) trait Handler {
    /// Returns the interest in a value. `offset` is the byte that decides its kind. Must not return
    /// [`Interest::Inspect`] for a scalar.
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise>;

    /// Returns the names of all wanted members of the object that was entered last. The machine then drops all other
    /// members without a question. `None`: it must ask about each.
    #[inline]
    fn wanted(&self) -> Option<&NameTable> {
        None
    }

    /// Whether nothing more is wanted of the object that was entered last, so that [`value`](Self::value) would return
    /// [`Interest::SkipRest`] for every member.
    #[inline]
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the interest in a member whose name is in [`wanted`](Self::wanted), like [`value`](Self::value). `child`
    /// is the table's entry for the name.
    #[inline]
    fn found(
        &mut self,
        child: NodeId,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        _ = child;
        self.value(slot, kind, offset)
    }

    /// Returns the names in [`wanted`](Self::wanted), with a taker for members of these names.
    #[inline]
    fn taking(&mut self) -> Option<(&NameTable, impl MemberTaker)> {
        None::<(&NameTable, NoTaker)>
    }

    /// Returns which members of the container that was entered last are not simply kept. All other members with scalars
    /// are kept unchanged; of an array, all scalar elements are kept. `None`: the machine must ask about each.
    #[inline]
    fn excluded(&self) -> Option<ExcludedMembers<'_>> {
        None
    }

    /// Receives kept members or elements with the commas between them, without white space. The rest of the run may
    /// follow through [`raw`](Self::raw).
    #[inline]
    fn keep(&mut self, members: &[u8]) {
        _ = members;
    }

    /// Ends the container that was entered last. Its closing bracket is at this offset.
    fn close(&mut self, offset: u64) -> Result<(), Raise>;

    /// Receives bytes of a copied value. White space outside strings is already removed, unless it is kept.
    fn raw(&mut self, bytes: &[u8]);

    /// Ends a copied value. The byte at this offset shows that it has ended.
    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        _ = offset;
        Ok(())
    }

    /// Receives white space before the next token. Only called if white space is kept.
    fn lead(&mut self, bytes: &[u8]) {
        _ = bytes;
    }

    /// Receives the bytes between a key and the next value, including the colon. Only called if white space is kept.
    fn gap(&mut self, bytes: &[u8]) {
        _ = bytes;
    }

    /// Whether members of the object that was entered last whose keys are longer than `limit` bytes, as spelled, can be
    /// handled without their keys.
    fn takes_long_keys(&self, limit: usize) -> bool {
        _ = limit;
        false
    }
}
