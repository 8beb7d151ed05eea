//! Finds the strings of JSON around and after a place.

use memchr::{memchr2, memrchr};

use super::before::Before;
use super::decode::{DecodedText, MOST, is_escaped};
use super::kinds::Kind;
use super::resolve::TextForm;
use super::shape::{Match, compare_value};

/// The number of examined bytes that are held in JSON, and the length up to which the end of a string is awaited.
pub(super) const KEPT: usize = 4096;

/// The string around a place.
pub(super) enum Around {
    /// Its contents, and whether it is a key.
    Whole { begin: usize, close: usize, is_key: bool },
    /// It is long. Its contents begin here, if that is known.
    Long(Option<usize>),
    /// Its quote is here. More input shows where it ends, or whether it is a key.
    Open(usize),
}

/// The value of a key that announces a secret.
pub(super) enum Value {
    /// A string with the secret `from..to`, and the characters before its end.
    Secret { kind: &'static str, from: usize, to: usize, before: Before },
    /// It has no secret of the kind.
    Other,
    /// More input shows what it is.
    Open,
}

/// Finds the string around `hit`, if it does not begin before `floor`. `odd`: an odd number of backslashes comes directly
/// before the input. `ended`: nothing follows it.
pub(super) fn string_around(
    input: &[u8],
    odd: bool,
    floor: usize,
    hit: usize,
    ended: bool,
) -> Around {
    let earliest = floor.max(hit.saturating_sub(KEPT));
    let Some(quote) = open_quote(input, odd, earliest, hit) else { return Around::Long(None) };
    let begin = quote + 1;
    let end = input.len();
    let is_cut = !ended && end - begin <= KEPT;
    let Some(close) = close_quote(input, begin, end.min(begin + KEPT)) else {
        return if is_cut { Around::Open(quote) } else { Around::Long(Some(begin)) };
    };
    match after_blanks(input, close + 1) {
        (None, blanks) if !ended && blanks < KEPT => Around::Open(quote),
        (next, _) => Around::Whole { begin, close, is_key: next == Some(b':') },
    }
}

/// Compares the value after a key, whose quote is at `close`, with the kinds of secrets that the key announces.
pub(super) fn value_after_key(
    input: &[u8],
    kinds: &[&'static Kind],
    close: usize,
    ended: bool,
) -> Value {
    let mut at = close + 1;
    for wanted in [b':', b'"'] {
        match after_blanks(input, at) {
            (Some(next), blanks) if next == wanted => at += blanks + 1,
            (None, blanks) if !ended && blanks < KEPT => return Value::Open,
            _ => return Value::Other,
        }
    }
    let Some(close) = close_quote(input, at, input.len().min(at + KEPT)) else {
        return if !ended && input.len() - at <= KEPT { Value::Open } else { Value::Other };
    };
    let contents = input.get(..close).unwrap_or_default();
    let mut value = DecodedText::default();
    value.read(TextForm::Json, contents, at, MOST, true);
    let find = |value: &DecodedText| {
        kinds.iter().find_map(|kind| match compare_value(kind, value.text()) {
            Match::Found { from, to } => Some((kind.name, from, to)),
            _ => None,
        })
    };
    let mut found = find(&value);
    if found.is_none() && memchr::memchr(b'%', value.text()).is_some() {
        value.read_url(TextForm::Json, contents, at, MOST, true);
        found = find(&value);
    }
    match found {
        Some((kind, from, to)) => Value::Secret {
            kind,
            from: value.place(from),
            to: value.place(to),
            before: Before::EDGE.and(value.text().get(..to).unwrap_or_default()),
        },
        None => Value::Other,
    }
}

/// Returns the first byte after the white space at a position, and the length of that white space. `None` if there is only
/// white space, or very much of it.
pub(super) fn after_blanks(input: &[u8], at: usize) -> (Option<u8>, usize) {
    let rest = input.get(at..input.len().min(at + KEPT)).unwrap_or_default();
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\r' | b'\n');
    let blanks = rest.iter().take_while(is_blank).count();
    (rest.get(blanks).copied(), blanks)
}

/// Returns the position of the quote that opens the string around `at`, if it is not before `earliest`.
pub(super) fn open_quote(input: &[u8], odd: bool, earliest: usize, at: usize) -> Option<usize> {
    let mut to = at;
    loop {
        let quote = earliest + memrchr(b'"', input.get(earliest..to)?)?;
        if !is_escaped(input, odd, quote) {
            return Some(quote);
        }
        to = quote;
    }
}

/// Returns the position of the quote before `to` that closes the string whose contents begin at `at`.
pub(super) fn close_quote(input: &[u8], mut at: usize, to: usize) -> Option<usize> {
    loop {
        let special = at + memchr2(b'"', b'\\', input.get(at..to)?)?;
        if input.get(special) == Some(&b'"') {
            return Some(special);
        }
        at = special + 2;
    }
}
