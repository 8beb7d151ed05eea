//! The shape of a scalar: an address, a hash, a date, a long text, or a short one.
//!
//! Shapes are read from at most the first [`READ`] bytes of a value.

/// The bytes of a value that its shape depends on.
pub(super) const READ: usize = 512;

/// The bytes from which a text is long.
const LONG: u64 = 300;

/// The appearance of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Bool,
    Number,
    Url,
    Uuid,
    /// Hexadecimal digits, with or without the name of the algorithm.
    Hash,
    Date,
    /// A number in a string.
    NumberText,
    Email,
    /// Base64, or another long text without spaces.
    Opaque,
    /// More than [`LONG`] bytes.
    Long,
    /// A sentence or two.
    Text,
    Short,
}

impl Shape {
    pub(super) const ALL: [Self; 12] = [
        Self::Bool,
        Self::Number,
        Self::Url,
        Self::Uuid,
        Self::Hash,
        Self::Date,
        Self::NumberText,
        Self::Email,
        Self::Opaque,
        Self::Long,
        Self::Text,
        Self::Short,
    ];

    /// Returns the shape of an unescaped string of `len` bytes, of which `text` has the first ones.
    pub(super) fn of_text(text: &str, len: u64) -> Self {
        let spaced = text.contains(' ');
        if is_url(text) {
            Self::Url
        } else if is_uuid(text) {
            Self::Uuid
        } else if is_hash(text) {
            Self::Hash
        } else if is_date(text) {
            Self::Date
        } else if is_number(text) {
            Self::NumberText
        } else if is_email(text) {
            Self::Email
        } else if (len > 120 && !spaced && text.is_ascii()) || is_base64(text) {
            Self::Opaque
        } else if len > LONG {
            Self::Long
        } else if len > 100 {
            Self::Text
        } else {
            Self::Short
        }
    }
}

fn is_url(text: &str) -> bool {
    if let Some((scheme, rest)) = text.split_once("://") {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+';
        return (2..=10).contains(&scheme.len())
            && scheme.bytes().all(letters)
            && !rest.is_empty()
            && !scheme.contains(' ');
    }
    ["/api/", "/rest/"].iter().any(|start| text.starts_with(start))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_hash(text: &str) -> bool {
    let digits = match text.split_once([':', '-']) {
        Some((name, digits)) if name.starts_with("sha") || name == "md5" => digits,
        _ => text,
    };
    digits.len() >= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `2026-02-27` and what follows it.
fn is_date(text: &str) -> bool {
    let mut bytes = text.bytes();
    let shape = b"dddd-dd-dd".iter().all(|wanted| match (wanted, bytes.next()) {
        (b'd', Some(byte)) => byte.is_ascii_digit(),
        (_, Some(byte)) => byte == b'-',
        (_, None) => false,
    });
    shape && matches!(bytes.next(), None | Some(b'T' | b' ')) && text.len() <= 40
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty()
        && digits.len() <= 40
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.bytes().filter(|byte| *byte == b'.').count() <= 1
        && !digits.starts_with('.')
        && !digits.ends_with('.')
}

fn is_email(text: &str) -> bool {
    match text.split_once('@') {
        Some((name, host)) => {
            !name.is_empty()
                && !text.contains(char::is_whitespace)
                && !host.contains(['@', '/', ':'])
                && host.split_once('.').is_some_and(|(_, end)| !end.is_empty())
        }
        None => false,
    }
}

/// Whether a text is base64, in one of its two alphabets. A path has more slashes.
pub(super) fn is_base64(text: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    text.len() >= 20
        && !(text.contains(['+', '/']) && text.contains(['-', '_']))
        && text.matches('/').count() * 16 <= text.len()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/_=-".contains(&byte))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

/// Estimates the tokens of a text, in tenths. Only used to compare members: digests and ids have more tokens per byte
/// than words.
pub(super) fn tenths_of_tokens(text: &str) -> u64 {
    let mut tenths = 0;
    let (mut run, mut kind) = (0_u64, RunKind::Space);
    for char in text.chars() {
        let next = RunKind::of(char);
        if next != kind {
            tenths += kind.tenths(run);
            (run, kind) = (0, next);
        }
        run += 1;
    }
    tenths + kind.tenths(run)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunKind {
    Letters,
    Digits,
    Signs,
    Space,
    Other,
}

impl RunKind {
    fn of(char: char) -> Self {
        match char {
            'a'..='z' | 'A'..='Z' => Self::Letters,
            '0'..='9' => Self::Digits,
            ' ' => Self::Space,
            _ if char.is_ascii() => Self::Signs,
            _ => Self::Other,
        }
    }

    fn tenths(self, run: u64) -> u64 {
        match self {
            Self::Letters => run.div_ceil(6) * 10,
            Self::Digits => run.div_ceil(3) * 10,
            Self::Signs => run.div_ceil(2) * 10,
            Self::Space => 0,
            Self::Other => run * 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, tenths_of_tokens};

    #[test]
    fn shapes_of_texts() {
        let cases = [
            ("https://a.example/x", Shape::Url),
            ("/rest/api/3/issue", Shape::Url),
            ("git+https://a.example", Shape::Url),
            ("see https://a.example", Shape::Short),
            ("874c55fb-673d-471b-a308-c5666a2ac26d", Shape::Uuid),
            ("sha256:3974e14a688c2b6d1b2285bcec367bcd", Shape::Hash),
            ("2026-02-27", Shape::Date),
            ("2026-02-27T20:44:47Z", Shape::Date),
            ("2026-02-27-x", Shape::Short),
            ("-12.50", Shape::NumberText),
            ("1.2.3", Shape::Short),
            ("mira@mail.example", Shape::Email),
            ("MDEwOlJlcG9zaXRvcnkxMjk2MjY5", Shape::Opaque),
            ("kubernetes-list-deployments", Shape::Short),
            ("/spaces/TEAM/pages/123456789/2024-01-01+Team+Notes", Shape::Short),
            ("/spaces/TEAM/pages/123456789/Notes", Shape::Short),
            ("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwY", Shape::Opaque),
            ("", Shape::Short),
        ];
        for (text, shape) in cases {
            assert_eq!(Shape::of_text(text, text.len() as u64), shape, "{text}");
        }
        let words = "word ".repeat(100);
        assert_eq!(Shape::of_text(&words, words.len() as u64), Shape::Long);
    }

    #[test]
    fn digests_cost_more_than_words() {
        let words = tenths_of_tokens("deployment of the service");
        assert!(tenths_of_tokens("44411c0dec5b6c2596c3e292b") > 2 * words);
        assert_eq!(tenths_of_tokens(""), 0);
    }
}
