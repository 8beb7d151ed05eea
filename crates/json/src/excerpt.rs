//! A place in a path or pattern, shown with a caret below it.
//!
//! Only the surroundings of the place are shown if the text is long. This module uses no other module.

/// A text, and the byte of it that a message is about.
#[derive(Clone, Copy)]
pub struct Excerpt<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Excerpt<'a> {
    /// Number of characters shown on each side of the place.
    const AROUND: usize = 40;

    /// Creates the excerpt around a byte of `text`.
    pub fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Returns the message with its place and the text on one line.
    pub fn line(self, what: &str, message: &str) -> String {
        let (shown, _) = self.around();
        format!("{what}: {message} (character {} of `{shown}`)", self.column() + 1)
    }

    /// Returns the text, and on a second line a caret under the character.
    pub fn caret(self) -> String {
        let (shown, column) = self.around();
        format!("{shown}\n{:column$}^", "")
    }

    /// Returns the number of characters before the place.
    fn column(self) -> usize {
        self.text.get(..self.at).unwrap_or(self.text).chars().count()
    }

    /// Returns the part of the text that fits on a line, and the column of the place in it.
    fn around(self) -> (String, usize) {
        let column = self.column();
        let skipped = column.saturating_sub(Self::AROUND);
        let mut chars = self.text.chars().skip(skipped);
        let mut shown = String::from(if skipped > 0 { "…" } else { "" });
        let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        shown.extend(chars.by_ref().take(column - skipped + Self::AROUND).map(plain));
        if chars.next().is_some() {
            shown.push('…');
        }
        (shown, column - skipped + usize::from(skipped > 0))
    }
}
