//! The current place in the document as a JSON Pointer. Used only for errors.
//!
//! There is one frame per open container. A key is remembered by its position in the chunk, which costs nothing. It is
//! copied only when the chunk ends while its member is open, and at most [`SHOWN`] bytes of it.

use super::key;
use crate::test_work::{WorkKind, count, words};

/// Maximum number of bytes of a key in a path.
const SHOWN: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct PathTracker {
    /// The open containers, outermost first.
    frames: Vec<PathFrame>,
    /// Copies of keys as spelled, from the outermost frame to the innermost.
    keys: Vec<u8>,
    /// The first frames, this many, have no key in the current chunk.
    settled: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct PathFrame {
    /// The index of the current element.
    index: u64,
    key: KeyLocation,
    /// Length of `keys` without the keys of this frame and all inner ones.
    mark: usize,
}

/// The location of the key of the current member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KeyLocation {
    #[default]
    None,
    /// In the chunk; the position is that of its opening quote.
    Chunk(usize),
    /// In `keys`, without its opening quote, with this many bytes.
    Copied(usize),
}

impl PathTracker {
    /// Forgets all containers.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.keys.clear();
        self.settled = 0;
    }

    /// Becomes a copy of another tracker, in its own allocations.
    pub(super) fn copy_from(&mut self, other: &Self) {
        let Self { frames, keys, settled } = other;
        self.frames.clone_from(frames);
        self.keys.clone_from(keys);
        self.settled = *settled;
    }

    /// Returns the frame of the innermost open container.
    #[inline(always)]
    fn top(&mut self) -> Option<&mut PathFrame> {
        self.frames.last_mut()
    }

    #[inline]
    pub(super) fn push(&mut self) {
        self.frames.push(PathFrame { index: 0, key: KeyLocation::None, mark: self.keys.len() });
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.forget_key();
        self.frames.pop();
        // The key of the innermost frame changes.
        self.settled = self.settled.min(self.frames.len().saturating_sub(1));
    }

    /// Forgets the copy of the innermost container's key, if there is one.
    #[inline(always)]
    fn forget_key(&mut self) {
        let Self { frames, keys, .. } = self;
        if let Some(PathFrame { key: KeyLocation::Copied(_), mark, .. }) = frames.last() {
            keys.truncate(*mark);
        }
    }

    /// Begins a member whose key has its opening quote at this position of the chunk.
    #[inline]
    pub(super) fn key(&mut self, at: usize) {
        self.forget_key();
        if let Some(top) = self.top() {
            top.key = KeyLocation::Chunk(at);
        }
    }

    #[inline]
    pub(super) fn next_element(&mut self) {
        self.skip_elements(1);
    }

    #[inline]
    pub(super) fn skip_elements(&mut self, count: usize) {
        if let Some(top) = self.top() {
            top.index += count as u64;
        }
    }

    #[inline]
    pub(super) fn index(&self) -> u64 {
        self.frames.last().map_or(0, |top| top.index)
    }

    /// Adds bytes to a key that began in an earlier chunk.
    pub(super) fn more_key(&mut self, bytes: &[u8]) {
        let Self { frames, keys, .. } = self;
        if let Some(PathFrame { key: KeyLocation::Copied(len), .. }) = frames.last_mut() {
            let room = SHOWN.saturating_sub(*len);
            let more = bytes.get(..room).unwrap_or(bytes);
            keys.extend_from_slice(more);
            *len += more.len();
        }
    }

    /// Copies the keys that are needed after the end of this chunk.
    pub(super) fn settle(&mut self, chunk: &[u8]) {
        let Self { frames, keys, settled } = self;
        for frame in frames.iter_mut().skip(*settled) {
            count(WorkKind::Hold, 1);
            if let KeyLocation::Chunk(at) = frame.key {
                frame.mark = keys.len();
                let spelled = chunk.get(at + 1..).unwrap_or_default();
                let shown = spelled.get(..SHOWN).unwrap_or(spelled);
                count(WorkKind::Hold, words(shown.len()));
                keys.extend_from_slice(shown);
                frame.key = KeyLocation::Copied(shown.len());
            } else if frame.key == KeyLocation::None {
                frame.mark = keys.len();
            }
        }
        // The key of the innermost frame changes.
        *settled = frames.len().saturating_sub(1);
    }

    /// Returns the pointer to the innermost container, or with `child` to its current member or element. `object`
    /// returns for each depth from 1 whether that container is an object.
    pub(super) fn pointer(
        &self,
        chunk: &[u8],
        depth: usize,
        child: bool,
        object: impl Fn(usize) -> bool,
    ) -> String {
        let mut pointer = String::new();
        let frames = self.frames.iter().take(depth);
        let shown = if child { depth } else { depth.saturating_sub(1) };
        for (number, frame) in frames.take(shown).enumerate() {
            pointer.push('/');
            if !object(number + 1) {
                pointer.push_str(&frame.index.to_string());
                continue;
            }
            let spelled = match frame.key {
                KeyLocation::None => &[],
                KeyLocation::Chunk(at) => chunk.get(at + 1..).unwrap_or_default(),
                KeyLocation::Copied(len) => {
                    self.keys.get(frame.mark..frame.mark + len).unwrap_or_default()
                }
            };
            push_name(&mut pointer, spelled);
        }
        pointer
    }
}

/// Appends the name that `spelled` spells, up to its closing quote or [`SHOWN`] bytes, escaped for a pointer.
fn push_name(pointer: &mut String, spelled: &[u8]) {
    let mut end = 0;
    while let Some(byte) = spelled.get(end) {
        match byte {
            b'"' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
        if end >= SHOWN {
            break;
        }
    }
    let cut = end >= SHOWN;
    let raw = spelled.get(..end.min(SHOWN)).unwrap_or(spelled);
    let name = key::unescape(raw).unwrap_or_else(|| raw.to_vec());
    for char in String::from_utf8_lossy(&name).chars() {
        match char {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(char),
        }
    }
    if cut {
        pointer.push('…');
    }
}
