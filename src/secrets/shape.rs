//! Compares text with the shape of a kind.
//!
//! Parts are compared in order without going back: a run takes as many characters of its class as there are, and the next
//! part begins with a character that is not in that class. So a comparison reads each character once.

use super::before::Before;
use super::fingerprints::Fingerprints;
use super::kinds::{
    AFTER_AT, AFTER_PORT, CANDIDATE, Class, KINDS, Kind, Needs, PASSWORD, PEM, Part, SIGNS,
    URL_PASSWORD, has,
};
use super::words::{is_credentials, is_words};

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The text does not have the shape.
    No,
    /// The text ends before this is known.
    More,
    /// The secret is `from..to`.
    Found { from: usize, to: usize },
    /// The secret begins at `from`, and everything in `from..to` belongs to it. So do the characters after `to`, as far as
    /// `rest` goes.
    Long { from: usize, to: usize, rest: Rest },
}

/// The characters that belong to a secret whose end is not in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Class(Class),
    /// The block of a private key.
    PrivateKey,
}

/// Compares the text at `at`, where the anchor of the kind ends, with the kind's parts. `ended`: nothing follows the text.
pub(super) fn compare(kind: &Kind, text: &[u8], start: usize, at: usize, ended: bool) -> Match {
    compare_parts(kind, kind.parts, text, start, at, ended)
}

fn compare_parts(
    kind: &Kind,
    parts: &[Part],
    text: &[u8],
    start: usize,
    at: usize,
    ended: bool,
) -> Match {
    let (mut at, mut from, mut to) = (at, start, None);
    let byte = |at: usize| text.get(at).copied();
    for part in parts {
        match *part {
            Part::From => from = at,
            Part::Password => match password_end(text, at, ended) {
                Ok(end) => (from, to, at) = (at, Some(end), end + 1),
                Err(result) => return result,
            },
            Part::Text(wanted) => {
                for wanted in wanted.bytes() {
                    match byte(at) {
                        Some(found) if found == wanted => at += 1,
                        None if !ended => return Match::More,
                        _ => return Match::No,
                    }
                }
            }
            Part::Run(class, min, max) => {
                let begin = at;
                while at - begin <= max && byte(at).is_some_and(|byte| has(class, byte)) {
                    at += 1;
                }
                let len = at - begin;
                if len > max {
                    // A hyphen or an underscore that is one too many may be the text after the secret.
                    let last = text.get(at - 1).copied().unwrap_or(0);
                    if min != max || !has(class & SIGNS, last) {
                        return Match::No;
                    }
                    at -= 1;
                }
                if byte(at).is_none() && !ended {
                    return Match::More;
                }
                if at - begin < min {
                    return Match::No;
                }
            }
            Part::Open(class, min) => {
                let begin = at;
                while byte(at).is_some_and(|byte| has(class, byte)) {
                    at += 1;
                    if at - begin >= CANDIDATE {
                        return Match::Long { from, to: at, rest: Rest::Class(class) };
                    }
                }
                if byte(at).is_none() && !ended {
                    return Match::More;
                }
                if at - begin < min {
                    return Match::No;
                }
            }
        }
    }
    let to = to.unwrap_or(at);
    let secret = text.get(from..to).unwrap_or_default();
    let fits = match kind.needs {
        Needs::Nothing => true,
        Needs::Digit => secret.iter().any(u8::is_ascii_digit),
        Needs::Mixed => {
            let any = |test: fn(&u8) -> bool| secret.iter().any(test);
            any(u8::is_ascii_digit) && any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase)
        }
        Needs::NoWords => !is_words(secret),
        Needs::Token => secret.iter().any(u8::is_ascii_digit) && !is_words(secret),
        Needs::Credentials => is_credentials(secret),
        Needs::PrivateKey => {
            let is_key = memchr::memmem::find(secret, b"PRIVATE KEY").is_some();
            if is_key {
                return Match::Long { from, to, rest: Rest::PrivateKey };
            }
            false
        }
    };
    if fits { Match::Found { from, to } } else { Match::No }
}

/// Compares the value of a member with the parts of a kind that come after its name.
pub(super) fn compare_value(kind: &Kind, value: &[u8]) -> Match {
    let after = kind.parts.iter().position(|part| matches!(part, Part::From));
    let parts = kind.parts.get(after.unwrap_or(0)..).unwrap_or_default();
    compare_parts(kind, parts, value, 0, 0, true)
}

/// Returns the kind of secret that the name of a member announces: it ends with an anchor of the kind.
pub(super) fn announced(name: &[u8]) -> Option<&'static Kind> {
    KINDS.iter().filter(|kind| kind.by_name).find(|kind| {
        kind.anchors.iter().any(|anchor| {
            let before = name.strip_suffix(anchor.as_bytes());
            before.is_some_and(|before| may_follow(kind, Before::EDGE.and(before)))
        })
    })
}

/// Returns the kind of the first secret of a text.
pub(super) fn first_secret(text: &[u8]) -> Option<&'static str> {
    let mut before = Before::EDGE;
    text.iter().enumerate().find_map(|(index, byte)| {
        let (found, kind) = find_at(text, index, before, true);
        before.push(*byte);
        matches!(found, Match::Found { .. } | Match::Long { .. }).then_some(kind)
    })
}

/// Returns the end of the password of a URL that begins at `from`: the last `@` before the host. `Err`: the text has no
/// password there, or more text decides.
fn password_end(text: &[u8], from: usize, ended: bool) -> Result<usize, Match> {
    let password = |byte: &u8| has(URL_PASSWORD, *byte) || !byte.is_ascii();
    let run = |at: usize, is_in: &dyn Fn(&u8) -> bool| {
        let rest = text.get(at..).unwrap_or_default();
        let len = rest.iter().take(PASSWORD + 1).take_while(|byte| is_in(byte)).count();
        (len, rest.get(len).copied())
    };
    let (len, next) = run(from, &password);
    let is_cut = len <= PASSWORD && next.is_none() && !ended;
    let secret = text.get(from..from + len).unwrap_or_default();
    // `$PASSWORD` is a variable. Digits before a character that is not ASCII are a port in a sentence.
    // So are those before the signs that end a host.
    let port = secret.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after_port = secret.get(port).copied();
    let is_port = (1..=5).contains(&port)
        && after_port.is_some_and(|byte| !byte.is_ascii() || has(AFTER_PORT, byte));
    if len == 0 || len > PASSWORD || next != Some(b'@') || secret.starts_with(b"$") || is_port {
        return Err(if is_cut { Match::More } else { Match::No });
    }
    let mut to = from + len;
    loop {
        let (len, next) = run(to + 1, &|byte| has(AFTER_AT, *byte));
        match next {
            Some(b'@') if to + 1 + len - from <= PASSWORD => to += 1 + len,
            None if !ended && to + 1 + len - from <= PASSWORD => return Err(Match::More),
            _ => return if is_digest(text, to + 1) { Err(Match::No) } else { Ok(to) },
        }
    }
}

/// Returns whether a digest is at a position, as in the name of an image: `nginx:1.25.3@sha256:…`.
fn is_digest(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    [&b"sha256:"[..], b"sha384:", b"sha512:"].iter().any(|name| rest.starts_with(name))
}

/// Returns whether a secret of this kind may come directly after these characters.
pub(super) fn may_follow(kind: &Kind, before: Before) -> bool {
    let last = before.last();
    (!has(kind.not_after, last) || before.ends_escape() || before.ends_opening_signs())
        && (kind.only_after == 0 || has(kind.only_after, last))
}

/// Compares the text at `index` with all kinds. Returns the result and the name of the kind.
pub(super) fn find_at(
    text: &[u8],
    index: usize,
    before: Before,
    ended: bool,
) -> (Match, &'static str) {
    let rest = text.get(index..).unwrap_or_default();
    let first = rest.first().copied().unwrap_or(0);
    for place in Fingerprints::shared().beginning_with(first) {
        let Some(kind) = KINDS.get(place.kind) else { continue };
        let is_whole = rest.starts_with(place.anchor);
        let is_begun = !ended && place.anchor.starts_with(rest);
        if !(is_whole || is_begun) || !may_follow(kind, before) {
            continue;
        }
        let found = match is_whole {
            true => compare(kind, text, index, index + place.anchor.len(), ended),
            false => Match::More,
        };
        if found != Match::No {
            return (found, kind.name);
        }
    }
    (Match::No, "")
}

/// The progress through the rest of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RestState {
    rest: Rest,
    /// How much of the last line of a private key was read: the characters of [`LAST`], then dashes.
    last: u8,
}

/// The beginning of the last line of a private key.
const LAST: &[u8] = b"-----END";

impl RestState {
    pub(super) fn new(rest: Rest) -> Self {
        Self { rest, last: 0 }
    }

    /// Returns whether the next character belongs to the secret. After `false` the secret has ended before it.
    pub(super) fn takes(&mut self, byte: u8) -> bool {
        match self.rest {
            Rest::Class(class) => has(class, byte),
            Rest::PrivateKey => self.takes_of_key(byte),
        }
    }

    fn takes_of_key(&mut self, byte: u8) -> bool {
        let begun = usize::from(self.last);
        if begun >= LAST.len() {
            // In the last line, whose end has five dashes.
            let dashes = begun - LAST.len();
            if dashes == 5 {
                return false;
            }
            self.last = (LAST.len() + if byte == b'-' { dashes + 1 } else { 0 }) as u8;
        } else if LAST.get(begun) == Some(&byte) {
            self.last += 1;
        } else if byte != b'-' || begun != 5 {
            self.last = u8::from(byte == b'-');
        }
        has(PEM, byte)
    }
}
