//! Escape sequences (ECMA-48, and what xterm adds): where one ends that has begun.
//!
//! Knows bytes and nothing of lines. One enum value is all that is kept between chunks, so a sequence of any length costs
//! no memory.
//!
//! ```text
//! ESC ─┬─ [ ──▶ Parameters ──▶ Intermediates ──▶ a final byte @…~
//!      ├─ ] ──▶ Osc ──────────▶ BEL, or ESC \
//!      ├─ P X ^ _ ──▶ String ─▶ ESC \
//!      ├─ space…/ ──▶ Short ──▶ a final byte 0…~
//!      └─ another byte 0…~: that is all
//! ```
//!
//! CAN and SUB end a sequence and go with it, ESC begins another. Any other byte that a sequence cannot have at its place
//! ends it and is text: what is broken hides as little as may be. A carriage return ends those that take text (OSC and the
//! like) as well; a line feed never gets here, see [`Ansi::reset`].

use super::{CR, ESC};

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// How far a sequence is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ansi {
    /// There is none.
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// Behind ESC and intermediate bytes.
    Short,
    /// In a control sequence.
    Parameters,
    /// In a control sequence, behind its parameters.
    Intermediates,
    /// In an operating system command, which BEL ends, too.
    Osc,
    /// In a device control string, a privacy message, or the like.
    String,
}

impl Ansi {
    pub(super) fn is_open(self) -> bool {
        self != Self::Text
    }

    /// ESC came.
    pub(super) fn begin(&mut self) {
        *self = Self::Escape;
    }

    /// The line ended: so did the sequence.
    pub(super) fn reset(&mut self) {
        *self = Self::Text;
    }

    /// How many of these bytes belong to the sequence. It is over if they are not all, and perhaps if they are.
    pub(super) fn eat(&mut self, bytes: &[u8]) -> usize {
        let mut eaten = 0;
        for byte in bytes {
            let (state, belongs) = self.step(*byte);
            *self = state;
            eaten += usize::from(belongs);
            if !self.is_open() {
                break;
            }
        }
        eaten
    }

    /// What a byte makes of the sequence, and whether it is part of one.
    fn step(self, byte: u8) -> (Self, bool) {
        const GOES_ON: bool = true;
        const TEXT: (Ansi, bool) = (Ansi::Text, false);
        const LAST: (Ansi, bool) = (Ansi::Text, true);
        match (self, byte) {
            (Self::Text, _) => TEXT,
            (_, ESC) => (Self::Escape, GOES_ON),
            (_, CAN | SUB) => LAST,

            (Self::Escape, b'[') => (Self::Parameters, GOES_ON),
            (Self::Escape, b']') => (Self::Osc, GOES_ON),
            (Self::Escape, b'P' | b'X' | b'^' | b'_') => (Self::String, GOES_ON),
            (Self::Escape | Self::Short, b' '..=b'/') => (Self::Short, GOES_ON),
            (Self::Escape | Self::Short, b'0'..=b'~') => LAST,

            (Self::Parameters, b'0'..=b'?') => (Self::Parameters, GOES_ON),
            (Self::Parameters | Self::Intermediates, b' '..=b'/') => (Self::Intermediates, GOES_ON),
            (Self::Parameters | Self::Intermediates, b'@'..=b'~') => LAST,

            (Self::Osc, BEL) => LAST,
            (Self::Osc | Self::String, CR) => TEXT,
            (Self::Osc | Self::String, _) => (self, GOES_ON),

            (Self::Escape | Self::Short | Self::Parameters | Self::Intermediates, _) => TEXT,
        }
    }
}
