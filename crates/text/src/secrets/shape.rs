//! Compares text with the shape of a kind.
//!
//! Parts are compared in order without going back: a run takes as many characters of its class as there are, and the next
//! part begins with a character that is not in that class. So a comparison reads each character once.

use super::before::Before;
use super::before_text::{Earlier, has_context};
use super::fingerprints::Fingerprints;
use super::key_lines::{WIDEST, has_key};
use super::kinds::{
    AFTER_AT, AFTER_PORT, CANDIDATE, Class, Context, Kind, Needs, PASSWORD, Part, SIGNS,
    SecretLevel, URL_PASSWORD, class, has,
};
use super::names::{announced_by, kinds_of_name};
use super::percent::{Beginning, Spelled, Spelling, beginning, encoded};
use super::rest::Rest;
use super::table::KINDS;
use super::words::{
    from_base64, has_checksum, holds_private_key, is_credentials, is_encoded_token, is_login,
    is_placeholder, is_random, is_words,
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

/// Compares the text at `at`, where the anchor of the kind ends, with the kind's parts. The secret begins at `start` unless a
/// part says otherwise.
pub(super) fn compare(kind: &Kind, text: Spelled<'_>, start: usize, at: usize) -> Match {
    compare_parts(kind, kind.parts, text, start, at).unwrap_or(Match::No)
}

/// Compares the text after an anchor as [`compare`] does, in the spelling of the anchor. After one without encoded
/// characters, both spellings may follow.
pub(super) fn compare_after_anchor(
    kind: &Kind,
    text: &[u8],
    [start, at]: [usize; 2],
    spelling: Spelling,
    ended: bool,
) -> Match {
    match compare_parts(kind, kind.parts, Spelled { text, spelling, ended }, start, at) {
        // Characters of the secret may follow that are encoded.
        Ok(Match::Found { from, to })
            if spelling == Spelling::Plain && text.get(to) == Some(&b'%') && !has_end(kind) =>
        {
            let encoded = Spelled { text, spelling: Spelling::Percent, ended };
            match compare(kind, encoded, start, at) {
                Match::No => Match::Found { from, to },
                Match::Found { to: shorter, .. } if shorter < to => Match::Found { from, to },
                found => found,
            }
        }
        Ok(found) => found,
        // The password of a URL that is not encoded may have encoded signs.
        Err(other) if spelling == Spelling::Plain && text.get(other) == Some(&b'%') => {
            let is_url = kind.parts.iter().any(|part| matches!(part, Part::Password));
            let encoded = Spelled { text, spelling: Spelling::Percent, ended };
            if is_url { Match::No } else { compare(kind, encoded, start, at) }
        }
        Err(_) => Match::No,
    }
}

/// Returns whether the end of a secret is not that of the characters of its class.
fn has_end(kind: &Kind) -> bool {
    !matches!(kind.parts.last(), Some(Part::Open(..)))
}

/// Compares parts. `Err`: the text at this position does not have the shape.
fn compare_parts(
    kind: &Kind,
    parts: &[Part],
    text: Spelled<'_>,
    start: usize,
    at: usize,
) -> Result<Match, usize> {
    let (mut at, mut from, mut to) = (at, start, None);
    for part in parts {
        match *part {
            Part::From => from = at,
            Part::Password => match password_end(text, at) {
                Ok((end, after)) => (from, to, at) = (at, Some(end), after),
                Err(result) => return Ok(result),
            },
            Part::Text(wanted) => {
                for wanted in wanted.bytes() {
                    match text.at(at) {
                        Some((found, len)) if found == wanted => at += len,
                        None if !text.ended => return Ok(Match::More),
                        _ => return Err(at),
                    }
                }
            }
            Part::One(class) => match text.at(at) {
                Some((byte, len)) if has(class, byte) => at += len,
                None if !text.ended => return Ok(Match::More),
                _ => return Err(at),
            },
            Part::Login => match login(text, at) {
                Ok((begin, end)) => (from, at) = (begin, end),
                Err(result) => return Ok(result),
            },
            Part::Not(class) => match text.at(at) {
                Some((byte, _)) if has(class, byte) => return Err(at),
                None if !text.ended => return Ok(Match::More),
                _ => {}
            },
            Part::Scheme => {
                let (end, letters) = text.run(at, LETTERS, SCHEME);
                let (after, blanks) = text.run(end, class(b" \t"), SCHEME);
                if text.at(after).is_none() && !text.ended {
                    return Ok(Match::More);
                }
                if letters > 0 && blanks > 0 {
                    (from, at) = (after, after);
                }
            }
            Part::Run(class, min, max) => {
                let (end, mut count) = text.run(at, class, max);
                at = end;
                let next = text.at(at);
                if count == max
                    && let Some((byte, len)) = next
                    && has(class, byte)
                {
                    // A hyphen or an underscore that is one too many may be the text after the secret.
                    let after = text.at(at + len);
                    if min != max || !has(SIGNS, byte) {
                        return Err(at);
                    }
                    if after.is_none() && !text.ended {
                        return Ok(Match::More);
                    }
                    count = min;
                } else if next.is_none() && !text.ended {
                    return Ok(Match::More);
                }
                if count < min {
                    return Err(at);
                }
            }
            Part::Open(class, min) => {
                let (end, count) = text.run(at, class, CANDIDATE);
                at = end;
                if count >= CANDIDATE {
                    let found = text.text.get(from..at).unwrap_or_default();
                    if kind.needs == Needs::EncodedKey && !holds_private_key(found) {
                        return Err(at);
                    }
                    return Ok(Match::Long {
                        from,
                        to: at,
                        rest: Rest::of_class(class, text.spelling),
                    });
                }
                if text.at(at).is_none() && !text.ended {
                    return Ok(Match::More);
                }
                if count < min {
                    return Err(at);
                }
            }
        }
    }
    Ok(needed(kind, text, from, to.unwrap_or(at)))
}

/// Checks what a kind needs in addition to its shape.
fn needed(kind: &Kind, text: Spelled<'_>, from: usize, to: usize) -> Match {
    let decoded;
    let secret = match text.spelling {
        Spelling::Plain => text.text.get(from..to).unwrap_or_default(),
        Spelling::Percent => {
            decoded = text.characters(from, to);
            decoded.as_slice()
        }
    };
    let any = |test: fn(&u8) -> bool| secret.iter().any(test);
    let fits = match kind.needs {
        Needs::Nothing => true,
        Needs::Digit => any(u8::is_ascii_digit),
        Needs::Mixed => {
            any(u8::is_ascii_digit) && any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase)
        }
        Needs::NoWords => !is_words(secret),
        Needs::Varied => {
            any(u8::is_ascii_digit)
                && any(u8::is_ascii_uppercase)
                && any(u8::is_ascii_lowercase)
                && !is_words(secret)
        }
        Needs::Checksum(checksum) => has_checksum(secret, checksum) || !is_words(secret),
        Needs::EncodedToken => is_encoded_token(secret),
        Needs::Encoded => secret.contains(&b'%'),
        Needs::Login => is_login(secret),
        Needs::Token => any(u8::is_ascii_digit) && !is_words(secret),
        Needs::Random => is_random(secret),
        Needs::Password => {
            let is_number = secret.starts_with(b"0x");
            any(u8::is_ascii_digit)
                && any(u8::is_ascii_alphabetic)
                && !is_number
                && !is_placeholder(secret)
        }
        Needs::Credentials => is_credentials(secret),
        Needs::Snowflake => is_snowflake_token(secret),
        Needs::Text(at, text) => secret.get(at..).is_some_and(|rest| rest.starts_with(text)),
        Needs::PuttyKey => return Match::Long { from, to, rest: Rest::PuttyKey },
        Needs::PrivateKey => {
            let is_key = [&b"PRIVATE KEY"[..], b"PRIVATE+KEY"]
                .iter()
                .any(|name| memchr::memmem::find(secret, name).is_some());
            let after = text.text.get(to..).unwrap_or_default();
            match has_key(after, text.ended) {
                None if is_key => return Match::More,
                Some(true) if is_key => {
                    return Match::Long { from, to, rest: Rest::PrivateKey };
                }
                _ => false,
            }
        }
        Needs::EncodedKey => {
            let is_key = holds_private_key(secret);
            if is_key && to - from <= WIDEST {
                return Match::Long { from, to, rest: Rest::Lines(to - from) };
            }
            is_key
        }
    };
    if fits { Match::Found { from, to } } else { Match::No }
}

/// Returns whether the first part of a token of a Discord bot is the base64 of a number.
fn is_snowflake_token(secret: &[u8]) -> bool {
    let first = secret.split(|byte| *byte == b'.').next().unwrap_or_default();
    let digits = from_base64(first);
    digits.len() >= 17 && digits.iter().all(u8::is_ascii_digit)
}

/// Compares the value of a member with the parts of a kind that come after its name.
pub(super) fn compare_value(kind: &Kind, value: &[u8]) -> Match {
    let after = kind.parts.iter().position(|part| matches!(part, Part::From));
    let parts = kind.parts.get(after.unwrap_or(0)..).unwrap_or_default();
    if !kind.names.is_empty() && first_secret(value, SecretLevel::Known).is_some() {
        // It has the shape of another kind.
        return Match::No;
    }
    let value = Spelled { text: value, spelling: Spelling::Plain, ended: true };
    compare_parts(kind, parts, value, 0, 0).unwrap_or(Match::No)
}

/// Returns the kinds of secrets that the name of a member announces: it ends with an anchor or a name of the kind.
pub(super) fn announced(name: &[u8], level: SecretLevel) -> Vec<&'static Kind> {
    let by_anchor = KINDS.iter().filter(|kind| kind.by_name).filter(|kind| {
        kind.anchors.iter().any(|anchor| {
            let before = name.strip_suffix(anchor.as_bytes());
            before.is_some_and(|before| may_follow(kind, Before::EDGE.and(before)))
        })
    });
    by_anchor.chain(kinds_of_name(name, level)).collect()
}

/// Returns the kind of the first secret of a text.
pub(super) fn first_secret(text: &[u8], level: SecretLevel) -> Option<&'static str> {
    let mut before = Before::EDGE;
    text.iter().enumerate().find_map(|(index, byte)| {
        let (found, kind) = find_at(Earlier::NONE, text, index, before, true, level);
        before.push(*byte);
        matches!(found, Match::Found { .. } | Match::Long { .. }).then_some(kind)
    })
}

/// Returns the end of the password of a URL that begins at `from`, which is the last `@` before the host, and the position
/// after that sign. `Err`: the text has no password there, or more text decides.
fn password_end(text: Spelled<'_>, from: usize) -> Result<(usize, usize), Match> {
    let run = |from: usize, is_in: &dyn Fn(u8) -> bool| {
        let (mut at, mut count) = (from, 0);
        loop {
            let next = text.at(at);
            match next {
                Some((byte, len)) if count <= PASSWORD && is_in(byte) => {
                    at += len;
                    count += 1;
                }
                _ => return (at, count, next),
            }
        }
    };
    let (mut to, mut count, next) = run(from, &|byte| has(URL_PASSWORD, byte) || !byte.is_ascii());
    let is_cut = count <= PASSWORD && next.is_none() && !text.ended;
    let secret = text.text.get(from..to).unwrap_or_default();
    // `$PASSWORD` is a variable. Digits before a character that is not ASCII are a port in a sentence.
    // So are those before the signs that end a host.
    let port = secret.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after_port = secret.get(port).copied();
    let is_port = (1..=5).contains(&port)
        && after_port.is_some_and(|byte| !byte.is_ascii() || has(AFTER_PORT, byte));
    let Some((b'@', mut sign)) = next else {
        return Err(if is_cut { Match::More } else { Match::No });
    };
    if count == 0 || count > PASSWORD || secret.starts_with(b"$") || is_port {
        return Err(Match::No);
    }
    loop {
        let (end, more, next) = run(to + sign, &|byte| has(AFTER_AT, byte));
        count += 1 + more;
        match next {
            Some((b'@', len)) if count <= PASSWORD => (to, sign) = (end, len),
            None if !text.ended && count <= PASSWORD => return Err(Match::More),
            _ if is_digest(text.text, to + sign) => return Err(Match::No),
            _ => return Ok((to, to + sign)),
        }
    }
}

/// The fewest and the most characters of a password after an option, and the most of the name before it.
const LOGIN: std::ops::Range<usize> = 3..257;
const LOGIN_NAME: usize = 128;
/// The characters that end an argument of a shell without quotes.
const ARGUMENT_END: Class = class(b"\"'`;&|<>()");

/// Returns the password of `NAME:PASSWORD`, which is the argument of an option at `from`. `Err`: it is not, or more text
/// decides.
fn login(text: Spelled<'_>, from: usize) -> Result<(usize, usize), Match> {
    let before = from.checked_sub(1).and_then(|before| text.text.get(before)).copied();
    let quote = before.filter(|byte| matches!(byte, b'"' | b'\''));
    let ends = |byte: u8, at: usize| match quote {
        _ if byte < b' ' => true,
        // A quote or a line end that is spelled as an escape.
        _ if byte == b'\\' => text.at(at).is_some_and(|(next, _)| {
            matches!(next, b'"' | b'\'' | b'n' | b'r' | b't') || next < b' '
        }),
        Some(quote) => byte == quote,
        None => byte == b' ' || has(ARGUMENT_END, byte),
    };
    let run = |from: usize, most: usize, stop: u8| {
        let (mut at, mut count) = (from, 0);
        loop {
            match text.at(at) {
                None if text.ended => return Ok((at, count)),
                None => return Err(Match::More),
                Some((b'\\', len)) if text.at(at + len).is_none() && !text.ended => {
                    return Err(Match::More);
                }
                Some((byte, len)) if byte == stop || ends(byte, at + len) => {
                    return Ok((at, count));
                }
                Some(_) if count == most => return Err(Match::No),
                Some((_, len)) => (at, count) = (at + len, count + 1),
            }
        }
    };
    let (colon, _) = run(from, LOGIN_NAME, b':')?;
    let Some((b':', len)) = text.at(colon) else { return Err(Match::No) };
    let begin = colon + len;
    // No character stops it that does not end the argument.
    let (end, count) = run(begin, LOGIN.end - 1, 0)?;
    let is_url = text.text.get(begin..).is_some_and(|rest| rest.starts_with(b"//"));
    if LOGIN.contains(&count) && !is_url { Ok((begin, end)) } else { Err(Match::No) }
}

/// Letters, of which the scheme of an `Authorization` header consists, and the most of them.
const LETTERS: Class = class(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
const SCHEME: usize = 20;

/// Returns whether a digest is at a position, as in the name of an image: `nginx:1.25.3@sha256:…`.
fn is_digest(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    [&b"sha256:"[..], b"sha384:", b"sha512:"].iter().any(|name| rest.starts_with(name))
}

/// Returns whether a secret of this kind may come directly after these characters.
pub(super) fn may_follow(kind: &Kind, before: Before) -> bool {
    let last = before.last();
    (!has(kind.not_after, last) || before.ends_escape() || before.ends_opening_signs())
        && (kind.only_after == 0
            || has(kind.only_after, last)
            || kind.context == Context::Curl && before.ends_line_escape())
        && !(kind.in_base64 && before.ends_base64())
}

/// Returns whether a kind without a text at its beginning may be at a position: its mark is there, or is not known yet.
#[inline]
fn may_have_mark(kind: &Kind, text: &[u8], index: usize) -> bool {
    let Needs::Text(at, mark) = kind.needs else { return true };
    // The signs of an encoded text have other positions.
    let rest = text.get(index..).unwrap_or_default();
    let shown = rest.get(..at + mark.len());
    shown.is_none_or(|shown| shown.ends_with(mark) || memchr::memchr(b'%', shown).is_some())
}

/// Compares the text at `index` with all kinds. Returns the result and the name of the kind. `earlier` is before the text.
pub(super) fn find_at(
    earlier: Earlier<'_>,
    text: &[u8],
    index: usize,
    before: Before,
    ended: bool,
    level: SecretLevel,
) -> (Match, &'static str) {
    let found = find_anchored(earlier, text, index, before, ended);
    if found.0 != Match::No {
        return found;
    }
    let kinds = announced_by(text, index, before, level);
    let mut found = kinds.iter().map(|kind| (compare_named(kind, text, index, ended), kind.name));
    found.find(|(found, _)| *found != Match::No).unwrap_or((Match::No, ""))
}

/// Compares the text from the sign after a name on with the kind that the name announces. A value with the shape of another
/// kind is left to that.
pub(super) fn compare_named(kind: &Kind, text: &[u8], sign: usize, ended: bool) -> Match {
    let spelled = Spelled { text, spelling: Spelling::Plain, ended };
    let found = compare(kind, spelled, sign, sign);
    let (Match::Found { from, .. } | Match::Long { from, .. }) = found else { return found };
    let mut before = Before::EDGE;
    for index in sign..=from {
        match find_anchored(Earlier::NONE, text, index, before, ended).0 {
            Match::No => {}
            Match::More => return Match::More,
            _ => return Match::No,
        }
        before.push(text.get(index).copied().unwrap_or(0));
    }
    found
}

fn find_anchored(
    earlier: Earlier<'_>,
    text: &[u8],
    index: usize,
    before: Before,
    ended: bool,
) -> (Match, &'static str) {
    let first = match encoded(text, index, ended) {
        Some((first, _)) => first,
        None if index < text.len() => return (Match::More, ""),
        None => return (Match::No, ""),
    };
    for place in Fingerprints::shared().beginning_with(first) {
        let Some(kind) = KINDS.get(place.kind) else { continue };
        let found = match beginning(text, index, place.anchor, ended) {
            Beginning::Other => continue,
            _ if !may_follow(kind, before) || !may_have_mark(kind, text, index) => continue,
            Beginning::Cut => Match::More,
            Beginning::Anchor(at, spelling) => {
                compare_after_anchor(kind, text, [index, at], spelling, ended)
            }
        };
        let has_context = || {
            let text = text.get(..index).unwrap_or_default();
            found == Match::More || has_context(kind.context, earlier, text)
        };
        if found != Match::No && has_context() {
            return (found, kind.name);
        }
    }
    (Match::No, "")
}
