//! Counts what one rendering copies and calls, so that a template cannot make it long or large.
//!
//! The engine copies a value wherever a template names it; a loop that names the whole item copies the whole item each
//! time. Its functions are bare function pointers, so what is left is kept for the thread, for as long as one rendering
//! runs. Two things are counted: the work of looking at values, and the bytes of the copies and texts that are made. When a
//! copy goes the engine does not say, so all that were made count as if they were still there.

use std::cell::Cell;

use gtmpl_ng::Value;

/// What one rendering may copy, in units: the bytes of strings, and [`NODE`] for each value.
const UNITS: u64 = 512 << 20;
/// What a value costs besides its text.
pub(super) const NODE: u64 = 64;

/// Bytes that the copies and the text of one rendering may have.
const KEPT: u64 = 64 << 20;
/// Bytes of a copy that are not counted: a loop makes many small ones, one after the other.
const SMALL: u64 = 256;

thread_local! {
    /// What is left; none once it was exceeded.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    static ROOM: Cell<u64> = const { Cell::new(0) };
}

/// A rendering that is metered until this is dropped.
pub(super) struct Metered(());

impl Metered {
    pub(super) fn start() -> Self {
        LEFT.set(Some(UNITS));
        ROOM.set(KEPT);
        Self(())
    }

    /// More was asked for than there was.
    pub(super) fn is_exceeded(&self) -> bool {
        LEFT.get().is_none()
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        LEFT.set(None);
    }
}

/// Takes so many bytes that are made. Whether that much was left.
pub(super) fn keep(bytes: u64) -> bool {
    match ROOM.get().checked_sub(bytes) {
        Some(room) => {
            ROOM.set(room);
            true
        }
        None => {
            LEFT.set(None);
            false
        }
    }
}

/// Takes what a value weighs that is made. Whether that much was left.
pub(super) fn keep_value(value: &Value) -> bool {
    let Some(left) = LEFT.get() else { return false };
    charge(std::slice::from_ref(value))
        && LEFT.get().is_some_and(|rest| keep((left - rest).saturating_sub(SMALL)))
}

/// Whether so many bytes may be made, by one function.
pub(super) fn has_room(bytes: u64) -> bool {
    let fits = bytes <= ROOM.get();
    if !fits {
        LEFT.set(None);
    }
    fits
}

/// Takes the work of looking at these values. Whether that much was left.
pub(super) fn charge(values: &[Value]) -> bool {
    let Some(mut left) = LEFT.get() else { return false };
    // On the heap, and only where there is a container: values are as deep as the data.
    let mut waiting: Vec<&Value> = Vec::new();
    let mut current = values.iter();
    while let Some(value) = current.next().or_else(|| waiting.pop()) {
        let text = match value {
            Value::String(text) => text.len(),
            Value::Array(elements) => {
                waiting.extend(elements);
                0
            }
            Value::Map(members) | Value::Object(members) => {
                waiting.extend(members.values());
                members.keys().map(String::len).sum()
            }
            _ => 0,
        };
        match left.checked_sub(text as u64).and_then(|left| left.checked_sub(NODE)) {
            Some(rest) => left = rest,
            None => {
                LEFT.set(None);
                return false;
            }
        }
    }
    LEFT.set(Some(left));
    true
}
