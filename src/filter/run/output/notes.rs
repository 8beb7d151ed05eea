//! Notes in held text, which carry what is needed to make the next, shorter form.
//!
//! A note begins with a control character, which minified JSON never contains. Notes are not written and do not count
//! as length, except for the text of a mark between its two control characters.
//!
//! [`ItemBudget`](super::budget::ItemBudget) adds the notes about the payload. [`ShorterForms`](super::shorten) keeps
//! them in each form, and adds those about omitted children and marks. Example of a form with notes (`W`, `P`, `G`, `I`
//! and `M` are the control characters) and of the text that it stands for:
//!
//! ```text
//! W{"a":[1G2GM,{"_omitted":{"items":2,"of":3}}M]P,"items":[7]I{"items":4,"of":5}IM,"_omitted":{"items":4,"of":5}M}
//!  {"a":[1    ,{"_omitted":{"items":2,"of":3}} ] ,"items":[7]                     ,"_omitted":{"items":4,"of":5} }
//! ```

/// The next child is on the path to the payload.
pub(super) const WAY: u8 = 0x01;
/// The next child is the payload.
pub(super) const PAYLOAD: u8 = 0x02;
/// Delimits the number of children left out here, in decimal digits.
pub(super) const GAP: u8 = 0x03;
/// Delimits the content of the payload's mark. At the end of the container that gets the mark.
pub(super) const ITEMS: u8 = 0x04;
/// Delimits the text of a mark, with its comma. The next form drops this text and writes its own.
pub(super) const MARK: u8 = 0x05;

/// The meaning of a control character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// [`WAY`].
    OnPath,
    /// [`PAYLOAD`].
    Payload,
    /// Ends at the next occurrence of its first character.
    Span(u8),
}

impl Note {
    /// Returns the note that begins with this byte.
    pub(super) fn of(byte: u8) -> Option<Self> {
        match byte {
            WAY => Some(Self::OnPath),
            PAYLOAD => Some(Self::Payload),
            GAP | ITEMS | MARK => Some(Self::Span(byte)),
            _ => None,
        }
    }
}

/// Appends a note with a text.
pub(super) fn span(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.push(kind);
}

/// Appends the note that children were left out.
pub(super) fn gap(out: &mut Vec<u8>, children: u64) {
    span(out, GAP, children.to_string().as_bytes());
}

/// Removes notes from a text that is written in pieces.
#[derive(Debug, Default)]
pub(super) struct NoteStripper {
    /// The open note.
    open: Option<u8>,
}

impl NoteStripper {
    /// Passes the text without notes to `take`, in parts. A note may be cut anywhere.
    pub(super) fn write(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            let note = bytes.iter().position(|byte| *byte <= MARK).unwrap_or(bytes.len());
            let (text, rest) = bytes.split_at(note);
            if self.open.is_none() && !text.is_empty() {
                take(text);
            }
            let Some((byte, rest)) = rest.split_first() else { return };
            // The text of a mark is output, so only its two delimiters are removed.
            match *byte {
                GAP | ITEMS if self.open == Some(*byte) => self.open = None,
                GAP | ITEMS => self.open = Some(*byte),
                _ => {}
            }
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ITEMS, MARK, NoteStripper, gap, span};

    #[test]
    fn notes_are_left_out() {
        let mut text = b"[1\x01,\x02[]".to_vec();
        gap(&mut text, 12);
        span(&mut text, ITEMS, b"{}");
        span(&mut text, MARK, b",3");
        text.push(b']');
        for size in 1..=text.len() {
            let (mut hidden, mut out) = (NoteStripper::default(), Vec::new());
            for piece in text.chunks(size) {
                hidden.write(piece, |piece| out.extend_from_slice(piece));
            }
            assert_eq!(out, b"[1,[],3]", "{size}");
        }
    }
}
