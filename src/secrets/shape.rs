//! Compares text with the shape of a kind.
//!
//! Parts are compared in order without going back: a run takes as many characters of its class as there are, and the next
//! part begins with a character that is not in that class. So a comparison reads each character once.

use super::before::Before;
use super::fingerprints::Fingerprints;
use super::kinds::{
    AFTER_AT, CANDIDATE, Class, KINDS, Kind, Needs, PASSWORD, PEM, Part, URL_PASSWORD, has,
};

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
    let (mut at, mut from, mut to) = (at, start, None);
    let byte = |at: usize| text.get(at).copied();
    for part in kind.parts {
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
                    return Match::No;
                }
                if byte(at).is_none() && !ended {
                    return Match::More;
                }
                if len < min {
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
    let any = |test: fn(&u8) -> bool| secret.iter().any(test);
    let fits = match kind.needs {
        Needs::Nothing => true,
        Needs::Digit => any(u8::is_ascii_digit),
        Needs::Mixed => {
            any(u8::is_ascii_digit) && any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase)
        }
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
    let port = secret.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_port = port > 0 && secret.get(port).is_some_and(|byte| !byte.is_ascii());
    if len == 0 || len > PASSWORD || next != Some(b'@') || secret.starts_with(b"$") || is_port {
        return Err(if is_cut { Match::More } else { Match::No });
    }
    let mut to = from + len;
    loop {
        let (len, next) = run(to + 1, &|byte| has(AFTER_AT, *byte));
        match next {
            Some(b'@') if to + 1 + len - from <= PASSWORD => to += 1 + len,
            None if !ended && to + 1 + len - from <= PASSWORD => return Err(Match::More),
            _ => return Ok(to),
        }
    }
}

/// Returns whether a secret of this kind may come directly after these characters.
pub(super) fn may_follow(kind: &Kind, before: Before) -> bool {
    let last = before.last();
    (!has(kind.not_after, last) || before.ends_escape())
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
        if !may_follow(kind, before) {
            continue;
        }
        let found = if rest.starts_with(place.anchor) {
            compare(kind, text, index, index + place.anchor.len(), ended)
        } else if !ended && place.anchor.starts_with(rest) {
            Match::More
        } else {
            Match::No
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
