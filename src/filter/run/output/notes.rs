//! Notes in a text that is held: what has to be known of it to make the next, shorter form.
//!
//! A note begins with a control character, which minified JSON never has. Notes are not written and have no length; only
//! the text of a mark is, without the characters around it.

/// The child that comes next leads to the payload.
pub(super) const WAY: u8 = 0x01;
/// The child that comes next is the payload.
pub(super) const PAYLOAD: u8 = 0x02;
/// Around the number of children that were left out here.
pub(super) const GAP: u8 = 0x03;
/// Around what the mark of the payload says.
pub(super) const ITEMS: u8 = 0x04;
/// Around the text of a mark.
pub(super) const MARK: u8 = 0x05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    OnPath,
    Payload,
    /// It lasts until the character that it begins with comes again.
    Span(u8),
}

impl Note {
    /// The note that begins with this byte.
    pub(super) fn of(byte: u8) -> Option<Self> {
        match byte {
            WAY => Some(Self::OnPath),
            PAYLOAD => Some(Self::Payload),
            GAP | ITEMS | MARK => Some(Self::Span(byte)),
            _ => None,
        }
    }
}

/// Adds a note with a text.
pub(super) fn span(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.push(kind);
}

/// Adds the note that so many children were left out.
pub(super) fn gap(out: &mut Vec<u8>, children: u64) {
    span(out, GAP, children.to_string().as_bytes());
}

/// Leaves notes out of a text that is written in pieces.
#[derive(Debug, Default)]
pub(super) struct NoteStripper {
    /// The note that is open.
    open: Option<u8>,
}

impl NoteStripper {
    pub(super) fn write(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            let note = bytes.iter().position(|byte| *byte <= MARK).unwrap_or(bytes.len());
            let (text, behind) = bytes.split_at(note);
            if self.open.is_none() && !text.is_empty() {
                take(text);
            }
            let Some((byte, behind)) = behind.split_first() else { return };
            match *byte {
                GAP | ITEMS if self.open == Some(*byte) => self.open = None,
                GAP | ITEMS => self.open = Some(*byte),
                _ => {}
            }
            bytes = behind;
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
