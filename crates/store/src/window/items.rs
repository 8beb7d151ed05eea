//! Cuts the items of a window out of the document that the engine wrote.
//!
//! The engine reads no further than the last item and selects members. This stage leaves out the items before the first
//! one and what is around the array. Its input is valid minified JSON of one of these forms; everything else has no
//! array of items:
//!
//! ```text
//! [item,item,…]               an array
//! {"key":[item,item,…]}       the engine found the array in a member and dropped the other members
//! ```

use memchr::memchr2;

use super::WindowRange;
use super::report::WindowFacts;
use super::stage::Stage;

/// Where the stage is in the document.
///
/// ```text
/// Start ──[──▶ Items ──]──▶ After
///   │ {          ▲
///   ▼            │ [
///  Key ──:──▶ Value ──other──▶ NoItems
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemState {
    Start,
    /// In the only member's key.
    Key,
    /// Before the only member's value.
    Value,
    Items,
    /// After the array, or after the last item of the window.
    After,
    /// A document without an array of items passes unchanged if no items were asked for.
    Passing,
    NoItems,
}

/// The stage of `items` and `select`.
pub(super) struct ItemStage<N> {
    /// `None`: all items.
    range: Option<WindowRange>,
    /// Whether the array may be in a member.
    search: bool,
    next: N,
    state: ItemState,
    /// Open containers, inside the array.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Number of commas between items so far: the index of the current item.
    index: u64,
    /// Whether the current item has begun.
    in_item: bool,
    /// Whether the array has an item.
    has_item: bool,
    /// Whether an item was written.
    wrote: bool,
    /// The array was read to its end.
    ended: bool,
}

impl<N: Stage> ItemStage<N> {
    pub(super) fn new(range: Option<WindowRange>, search: bool, next: N) -> Self {
        Self {
            range,
            search,
            next,
            state: ItemState::Start,
            depth: 0,
            in_string: false,
            escaped: false,
            index: 0,
            in_item: false,
            has_item: false,
            wrote: false,
            ended: false,
        }
    }

    fn is_wanted(&self) -> bool {
        self.range.is_none_or(|range| {
            self.index >= range.first && range.last.is_none_or(|last| self.index <= last)
        })
    }

    /// Handles the bytes before the array. Returns how many were handled.
    fn find(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (ItemState::Start | ItemState::Value, b'[') => {
                    self.next.write(b"[");
                    ItemState::Items
                }
                (ItemState::Start, b'{') if self.search && self.range.is_some() => ItemState::Key,
                (ItemState::Start, _) if self.range.is_none() => {
                    self.state = ItemState::Passing;
                    return at;
                }
                (ItemState::Key, byte) => self.in_key(*byte),
                _ => ItemState::NoItems,
            };
            if matches!(self.state, ItemState::Items | ItemState::NoItems) {
                return at + 1;
            }
        }
        bytes.len()
    }

    fn in_key(&mut self, byte: u8) -> ItemState {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b':' if !self.in_string => return ItemState::Value,
            _ => {}
        }
        ItemState::Key
    }

    /// Handles the bytes of the array. Returns how many were handled.
    fn take_items(&mut self, bytes: &[u8]) -> usize {
        // The first byte of the current item that was not written.
        let mut mark = 0;
        let mut at = 0;
        while let Some(byte) = bytes.get(at).copied() {
            if self.in_string {
                at += self.skip_string(bytes.get(at..).unwrap_or_default());
                continue;
            }
            // Commas and the bracket of the array itself separate items.
            if self.depth == 0 && matches!(byte, b',' | b']') {
                self.end_item(bytes.get(mark..at).unwrap_or_default());
                at += 1;
                if byte == b']' {
                    self.ended = true;
                    self.finish();
                    return at;
                }
                self.index += 1;
                mark = at;
                // The engine stops at the last item, so this is a second safeguard.
                if self.range.and_then(|range| range.last).is_some_and(|last| self.index > last) {
                    self.finish();
                    return at;
                }
                continue;
            }
            self.has_item = true;
            match byte {
                b'"' => self.in_string = true,
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        self.write_item(bytes.get(mark..).unwrap_or_default());
        bytes.len()
    }

    /// Skips to the end of the open string, or of the bytes. Returns how many bytes were skipped.
    fn skip_string(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if std::mem::take(&mut self.escaped) {
            at = 1;
        }
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(found) = memchr2(b'"', b'\\', rest) else { return bytes.len() };
            at += found + 1;
            if rest.get(found) == Some(&b'"') {
                self.in_string = false;
                return at;
            }
            if at >= bytes.len() {
                self.escaped = true;
                return bytes.len();
            }
            at += 1;
        }
    }

    /// Writes a part of the current item.
    fn write_item(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || !self.is_wanted() {
            return;
        }
        if !self.in_item && std::mem::replace(&mut self.wrote, true) {
            self.next.write(b",");
        }
        self.in_item = true;
        self.next.write(bytes);
    }

    fn end_item(&mut self, bytes: &[u8]) {
        self.write_item(bytes);
        self.in_item = false;
    }

    fn finish(&mut self) {
        self.next.write(b"]");
        self.state = ItemState::After;
    }
}

impl<N: Stage> Stage for ItemStage<N> {
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = match self.state {
                ItemState::Start | ItemState::Key | ItemState::Value => self.find(bytes),
                ItemState::Items => self.take_items(bytes),
                ItemState::Passing => {
                    self.next.write(bytes);
                    return;
                }
                ItemState::After | ItemState::NoItems => return,
            };
            bytes = bytes.get(count..).unwrap_or_default();
        }
    }

    fn end(&mut self, facts: &mut WindowFacts) {
        if self.ended && !self.next.is_closed() {
            // `[]` has no item; otherwise there is one more than commas.
            facts.items = Some(self.index + u64::from(self.has_item));
        }
        let undecided =
            !matches!(self.state, ItemState::Items | ItemState::After | ItemState::Passing);
        facts.no_items = undecided && self.range.is_some();
        self.next.end(facts);
    }

    fn is_closed(&self) -> bool {
        matches!(self.state, ItemState::After | ItemState::NoItems) || self.next.is_closed()
    }
}
