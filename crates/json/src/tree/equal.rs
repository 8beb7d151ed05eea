//! Compares JSON texts as RFC 6902 (4.6) demands: numbers by value, strings after unescaping, arrays element by
//! element, objects regardless of the order of their members.
//!
//! Nothing recurses. Each container is read once per level at which it is compared, which ends at the depth of the
//! expected text. No more of the actual text is listed than `room` allows.

use std::borrow::Cow;

use memchr::memchr;

use super::number;
use super::walk::{Child, Children};
use crate::error::{ErrorKind, LimitName, Raise};
use crate::key::unescape_any;
use crate::test_work::{WorkKind, count, words};

/// Whether `actual` equals `expected`. Both are valid and minified. At most `room` bytes are held.
///
/// # Errors
/// A compared object has two members of one name, or `room` does not suffice.
pub fn equal(actual: &[u8], expected: &[u8], room: u64) -> Result<bool, Raise> {
    let mut pairs = vec![(actual, expected)];
    while let Some((actual, expected)) = pairs.pop() {
        count(WorkKind::Tree, 1);
        let same = match (Children::of(actual), Children::of(expected)) {
            (Some(a), Some(e)) if a.is_object() != e.is_object() => false,
            (Some(a), Some(e)) if a.is_object() => {
                let (a, e) = (members(actual, a, room)?, members(expected, e, room)?);
                let same = a.len() == e.len() && a.iter().zip(&e).all(|((a, _), (e, _))| a == e);
                if same {
                    pairs.extend(a.iter().zip(&e).map(|((_, a), (_, e))| (*a, *e)));
                }
                same
            }
            (Some(mut a), Some(e)) => {
                let mut same = true;
                for e in e {
                    let Some(a) = a.next() else {
                        same = false;
                        break;
                    };
                    pairs.push((value(actual, a), value(expected, e)));
                }
                same && a.next().is_none()
            }
            (None, None) => scalars_equal(actual, expected),
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn value(text: &[u8], child: Child) -> &[u8] {
    text.get(child.value.0..child.value.1).unwrap_or_default()
}

/// The unescaped name of a member, and its value.
type NamedValue<'a> = (Cow<'a, [u8]>, &'a [u8]);

/// Returns the members of an object sorted by name.
fn members<'a>(
    text: &'a [u8],
    children: Children<'_>,
    room: u64,
) -> Result<Vec<NamedValue<'a>>, Raise> {
    let most = usize::try_from(room).unwrap_or(usize::MAX) / size_of::<NamedValue<'_>>();
    let mut members: Vec<NamedValue<'a>> = Vec::new();
    for child in children {
        if members.len() >= most {
            let message = format!("cannot compare an object with more than {most} members");
            return Err(Raise::limit(LimitName::Item, message));
        }
        let key = text.get(child.key.0..child.key.1).unwrap_or_default();
        members.push((name(key), value(text, child)));
    }
    members.sort_by(|(a, _), (b, _)| {
        count(WorkKind::Tree, 1 + words(a.len().min(b.len())));
        a.cmp(b)
    });
    let twice = members.windows(2).find_map(|pair| match pair {
        [(a, _), (b, _)] if a == b => Some(a),
        _ => None,
    });
    match twice {
        None => Ok(members),
        Some(name) => {
            let name = String::from_utf8_lossy(name);
            let message = format!("cannot compare an object with two members {name:.60?}");
            Err(Raise::new(ErrorKind::Patch, message))
        }
    }
}

/// Returns the name that a key spells.
pub(super) fn name(key: &[u8]) -> Cow<'_, [u8]> {
    count(WorkKind::Tree, words(key.len()));
    match memchr(b'\\', key) {
        None => Cow::Borrowed(key),
        Some(_) => Cow::Owned(unescape_any(key).0),
    }
}

fn scalars_equal(a: &[u8], b: &[u8]) -> bool {
    count(WorkKind::Tree, words(a.len() + b.len()));
    let is_number = |text: &[u8]| matches!(text.first(), Some(b'-' | b'0'..=b'9'));
    match (a, b) {
        ([b'"', a @ .., b'"'], [b'"', b @ .., b'"']) => name(a) == name(b),
        _ if is_number(a) && is_number(b) => number::equal(a, b),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::equal;
    use crate::error::ErrorKind;

    #[track_caller]
    fn check(a: &str, b: &str, same: bool) {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(equal(a.as_bytes(), b.as_bytes(), 1 << 20), Ok(same), "{a} and {b}");
        }
    }

    #[test]
    fn equal_values() {
        check(r#"{"a":1,"b":[2,3]}"#, r#"{"b":[2.0,3e0],"\u0061":1}"#, true);
        check(r#""\u00e9\ud83d\ude00""#, r#""é😀""#, true);
        check(r#""\ud83d""#, r#""\uD83D""#, true);
        check(r#""\/""#, r#""/""#, true);
        check("[]", "[]", true);
        check("null", "null", true);
    }

    #[test]
    fn different_values() {
        check("[]", "{}", false);
        check("[1]", "[1,2]", false);
        check("[1,2]", "[2,1]", false);
        check(r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false);
        check(r#"{"a":1}"#, r#"{"b":1}"#, false);
        check("true", "false", false);
        check("null", "false", false);
        check("1", r#""1""#, false);
        check("0", "null", false);
        check(r#""\ud83d""#, r#""\ud83e""#, false);
        check(r#"[{"a":[{"b":1}]}]"#, r#"[{"a":[{"b":2}]}]"#, false);
    }

    #[test]
    fn duplicate_members() {
        let error = equal(br#"{"b":0,"a":1,"\u0061":1}"#, br#"{"a":1}"#, 1 << 20).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Patch);
        assert!(error.message.contains(r#""a""#), "{}", error.message);
    }

    #[test]
    fn no_more_is_held_than_there_is_room() {
        let error = equal(br#"{"a":1,"b":2,"c":3}"#, br#"{"a":1}"#, 100).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit);
    }

    #[test]
    fn depth_is_no_matter() {
        let deep = "[".repeat(2000) + &"]".repeat(2000);
        check(&deep, &deep, true);
    }
}
