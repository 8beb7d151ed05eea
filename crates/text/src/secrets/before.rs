//! The characters before a place, which decide whether a secret may begin there.

/// The last characters before a place, as far as they matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before(u128);

/// The number of characters that matter.
pub(super) const REACH: usize = size_of::<u128>();

/// The most signs of an emphasis.
pub(super) const MOST_SIGNS: usize = 3;

/// The characters of base64 before a sign that show that it is one of base64, too.
const BLOB: usize = 12;

/// The letters of one-character escapes.
const ESCAPES: &[u8] = b"0abefnrtv";

impl Before {
    /// The beginning of a text, or of the contents of a string.
    pub(super) const EDGE: Self = Self(b'"' as u128);

    /// Adds a character.
    #[inline(always)]
    pub(super) fn push(&mut self, byte: u8) {
        self.0 = self.0 << 8 | u128::from(byte);
    }

    /// Returns the characters before the end of `text`, which follows these.
    pub(super) fn and(mut self, text: &[u8]) -> Self {
        let last = text.get(text.len().saturating_sub(REACH)..).unwrap_or_default();
        last.iter().for_each(|byte| self.push(*byte));
        self
    }

    /// Returns the last character.
    #[inline(always)]
    pub(super) fn last(self) -> u8 {
        self.back(0)
    }

    /// Returns the characters, the last one at the end.
    pub(super) fn bytes(self) -> [u8; REACH] {
        self.0.to_be_bytes()
    }

    /// Returns the character at a number of places before the last one.
    #[inline(always)]
    fn back(self, places: usize) -> u8 {
        (self.0 >> (8 * places.min(REACH - 1))) as u8
    }

    /// Returns whether the last characters are base64 in which `+` or `/` comes last: a dozen of its characters, among them a
    /// capital and a small letter or a digit. The names of a path have no capitals, or are shorter.
    pub(super) fn ends_base64(self) -> bool {
        let any = |test: fn(&u8) -> bool| (1..=BLOB).any(|at| test(&self.back(at)));
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        matches!(self.last(), b'+' | b'/')
            && (1..=BLOB).all(|at| is_sign(self.back(at)))
            && any(u8::is_ascii_uppercase)
            && any(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    }

    /// Returns whether the last characters are up to three hyphens and underscores with no word before them: the emphasis of
    /// Markdown, the sign of a removed line.
    pub(super) fn ends_opening_signs(self) -> bool {
        let is_sign = |at: &usize| matches!(self.back(*at), b'_' | b'-');
        let count = (0..MOST_SIGNS).take_while(is_sign).count();
        let is_free = !self.back(count).is_ascii_alphanumeric() && !is_sign(&count);
        count > 0 && (is_free || Self(self.0 >> (8 * count)).ends_escape())
    }

    /// Returns whether the last characters spell a line end or a tab.
    pub(super) fn ends_line_escape(self) -> bool {
        self.back(1) == b'\\' && matches!(self.last(), b'n' | b'r' | b't')
    }

    /// Returns whether the last characters spell another one, so that a word may begin after them: `\n`, `\x0a`, `\u000a`,
    /// `%0A`, or the sequence of a terminal such as `ESC [1;31m`. They are literal characters of a text that was escaped
    /// once more, such as JSON inside a string.
    pub(super) fn ends_escape(self) -> bool {
        let hex = |count: usize| (0..count).all(|at| self.back(at).is_ascii_hexdigit());
        let last = self.last();
        if self.back(1) == b'\\' {
            return ESCAPES.contains(&last);
        }
        if hex(2) && (self.back(2) == b'%' || (self.back(2) == b'x' && self.back(3) == b'\\')) {
            return true;
        }
        if hex(4) && self.back(4) == b'u' && self.back(5) == b'\\' {
            return true;
        }
        let is_parameter = |at: &usize| matches!(self.back(*at), b'0'..=b'9' | b';');
        let parameters = (1..REACH - 1).take_while(is_parameter).count();
        let is_open = self.back(parameters + 1) == b'[';
        last.is_ascii_alphabetic()
            && is_open
            && (parameters > 0 || self.back(parameters + 2) == 0x1b)
    }
}

#[cfg(test)]
mod tests {
    use super::Before;

    #[test]
    fn escapes_end_where_a_word_may_begin() {
        for (text, ends) in [
            (r"a\n", true),
            (r"\\t", true),
            (r"\q", false),
            (r"\x0a", true),
            ("x0a", false),
            (r"\u003d", true),
            ("u003d", false),
            ("%3D", true),
            ("%3G", false),
            ("[1;31m", true),
            ("\x1b[m", true),
            ("[m", false),
            ("[1;31", false),
            ("31m", false),
            ("n", false),
            ("", false),
        ] {
            assert_eq!(Before::EDGE.and(text.as_bytes()).ends_escape(), ends, "{text:?}");
        }
        assert_eq!(Before::EDGE.and(&[b'x'; 40]).last(), b'x');
    }

    #[test]
    fn base64_goes_on_after_its_signs() {
        for (text, ends) in [
            ("aB3dE5gH7jK9+", true),
            ("AAAAAAAAAAAAAAQ4/", true),
            ("aB3dE5gH7jK9", false),
            ("dE5gH7jK9+", false),
            ("services/hooks/", false),
            ("lorem a/", false),
            ("https://example.org/", false),
        ] {
            assert_eq!(Before::EDGE.and(text.as_bytes()).ends_base64(), ends, "{text:?}");
        }
    }

    #[test]
    fn signs_open_a_word_unless_one_is_before_them() {
        for (text, opens) in [
            ("_", true),
            (" ___", true),
            (" ____", false),
            ("\n-", true),
            ("(--", true),
            ("%3D_", true),
            (r"\n__", true),
            ("a_", false),
            ("a-", false),
            ("-_", true),
        ] {
            assert_eq!(Before::EDGE.and(text.as_bytes()).ends_opening_signs(), opens, "{text:?}");
        }
    }
}
