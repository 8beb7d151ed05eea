//! [`Label`]: the key under which a value is written.

use tamis_json::ValueSlot;
use tamis_json::key::RawKey;

/// The label of an emitted value.
#[derive(Clone, Copy)]
pub(super) enum Label<'a> {
    /// No label: an element, or the document.
    None,
    /// The member's key as spelled in the input.
    Spelled(RawKey<'a>),
    /// A key of the spec, as JSON.
    Given(&'a [u8]),
}

impl<'a> From<ValueSlot<'a>> for Label<'a> {
    fn from(slot: ValueSlot<'a>) -> Self {
        match slot {
            ValueSlot::Member(key) => Self::Spelled(key),
            ValueSlot::Top | ValueSlot::Element(_) => Self::None,
        }
    }
}
