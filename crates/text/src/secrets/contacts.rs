//! Finds addresses of mail and of the internet, and phone numbers.

use std::net::Ipv6Addr;

use memchr::{memchr, memchr_iter, memchr2_iter};

use super::personal::{before, blank, is_word_at, is_word_before};

/// The most bytes of the name before the sign of an address of mail, and of the host after it.
const LOCAL: usize = 64;
const HOST: usize = 253;

/// Ends of file names that look like a top-level domain: `icon@2x.png`, `getty@tty1.service`.
const FILES: &[&[u8]] = &[
    b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"service", b"socket", b"timer", b"target",
    b"mount", b"js", b"css", b"json", b"lock",
];

/// Returns the first e-mail address. Its sign may be encoded, as in a query.
pub(super) fn email(text: &[u8], at: usize) -> Option<(usize, usize)> {
    memchr2_iter(b'@', b'%', text.get(at..)?).find_map(|sign| match text.get(at + sign..)? {
        [b'@', ..] => email_around(text, at, at + sign, 1),
        [b'%', b'4', b'0', ..] => email_around(text, at, at + sign, 3),
        _ => None,
    })
}

/// Returns the e-mail address around its sign.
fn email_around(text: &[u8], at: usize, sign: usize, len: usize) -> Option<(usize, usize)> {
    let local = text.get(at..sign)?;
    let is_local = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'')
            || !byte.is_ascii()
    };
    let mut from = sign - local.iter().rev().take(LOCAL).take_while(is_local).count();
    // Signs that are not ASCII, and encoded ones, are before the name.
    for place in (from..sign).rev() {
        let is_encoded = len > 1
            && matches!(text.get(place..place + 3), Some([b'%', high, low])
                if !matches!([*high, low | 0x20], [b'2', b'b' | b'd' | b'e'] | [b'5', b'f']));
        let is_sign = text.get(place).is_some_and(|byte| !byte.is_ascii())
            && !is_word_before(text, place + 1);
        if is_encoded || is_sign {
            from = (place + if is_encoded { 3 } else { 1 }).min(sign);
            break;
        }
    }
    let name = text.get(from..sign)?;
    let is_begin = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    from += name.iter().position(is_begin)?;
    let host_at = sign + len;
    let host = host(text, host_at)?;
    let to = host_at + host.len();
    let last = host.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let is_name = host.contains(&b'.')
        && host.split(|byte| *byte == b'.').all(|label| !label.is_empty())
        && last.len() >= 2
        && (last.iter().all(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
            || last.starts_with(b"xn--"))
        && !FILES.iter().any(|file| last.eq_ignore_ascii_case(file));
    let is_mail = is_name && !is_word_at(text, to) && !is_place(text, from, to);
    is_mail.then_some((from, to))
}

/// Returns the name of the host at a position, without the signs after it.
fn host(text: &[u8], at: usize) -> Option<&[u8]> {
    let rest = text.get(at..)?;
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let mut len = 0;
    while len < HOST.min(rest.len())
        && rest
            .get(len)
            .is_some_and(|byte| is_host(byte) || (!byte.is_ascii() && is_word_at(text, at + len)))
    {
        len += 1;
        while rest.get(len).is_some_and(|byte| byte & 0xC0 == 0x80) {
            len += 1;
        }
    }
    let host = rest.get(..len)?;
    let is_end = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    host.get(..host.iter().rposition(is_end)? + 1)
}

/// Returns whether an address is that of a place on another machine: `git@example.org:project/x`, `ssh://git@example.org/x`.
fn is_place(text: &[u8], from: usize, to: usize) -> bool {
    let is_git = text.get(from..to).is_some_and(|address| address.starts_with(b"git@"));
    let is_url = text.get(..from).is_some_and(|before| before.ends_with(b"://"));
    let Some([b':', rest @ ..]) = text.get(to..) else { return is_git && is_url };
    let is_path =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~');
    let path = rest.iter().take_while(is_path).count();
    (is_git && path > 0) || is_url || rest.get(path) == Some(&b'/')
}

/// Returns the first address of a host, but not of the machine itself.
pub(super) fn address(text: &[u8], at: usize) -> Option<(usize, usize)> {
    // One pass over the signs of both versions: what is after the first address is not read.
    let mut next = at;
    memchr2_iter(b'.', b':', text.get(at..)?).find_map(|sign| {
        let sign = at + sign;
        if text.get(sign) == Some(&b'.') {
            let first = text.get(at..sign)?.iter().rev().take(4);
            let digits = first.take_while(|byte| byte.is_ascii_digit()).count();
            return four_numbers(text, sign - digits, sign);
        }
        if sign < next {
            return None;
        }
        let found;
        (next, found) = colons(text, at, sign);
        found
    })
}

/// Returns the address of version 4 that begins with the run of digits `from..to`.
fn four_numbers(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    if !(1..=3).contains(&(to - from)) || text.get(to) != Some(&b'.') || is_word_before(text, from)
    {
        return None;
    }
    // Not a part of a version or a longer number. The second address of a range comes after a hyphen.
    let is_part = match before(text, from) {
        Some(b'.') => true,
        Some(b'-') => !from
            .checked_sub(1)
            .and_then(|at| before(text, at))
            .is_some_and(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    let (mut end, mut numbers) = (from, [0; 4]);
    for (index, number) in numbers.iter_mut().enumerate() {
        if index > 0 {
            if text.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let digits =
            text.get(end..)?.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let part = text.get(end..end + digits)?;
        if !(1..=3).contains(&digits) || (digits > 1 && part.first() == Some(&b'0')) {
            return None;
        }
        *number = part.iter().fold(0, |number, digit| number * 10 + u32::from(digit & 0xF));
        end += digits;
    }
    let goes_on = match text.get(end..) {
        Some([b'.', next, ..]) => next.is_ascii_digit(),
        Some([b'-', next, ..]) => next.is_ascii_alphabetic(),
        _ => false,
    };
    let [first, rest @ ..] = numbers;
    let is_address = !matches!(first, 0 | 127 | 255..) && rest.iter().all(|number| *number < 256);
    (is_address && !is_part && !goes_on && !is_word_at(text, end)).then_some((from, end))
}

/// The most characters of an address of version 6, and of its first number.
const SIX: usize = 45;
const FIRST: usize = 4;

/// Returns where the run of numbers with colons ends, and the address of version 6 in it.
fn colons(text: &[u8], at: usize, colon: usize) -> (usize, Option<(usize, usize)>) {
    let first = text.get(at..colon).unwrap_or_default();
    let mut from =
        colon - first.iter().rev().take(FIRST).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if is_word_before(text, from) {
        // The name of the address is before the colon.
        from = colon;
    }
    let rest = text.get(from..).unwrap_or_default();
    let is_of_address = |byte: &&u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let to = from + rest.iter().take(SIX + 2).take_while(is_of_address).count();
    let next = to.max(colon + 1);
    let mut run = text.get(from..to).unwrap_or_default();
    while let [rest @ .., b'.' | b':'] = run {
        if run.ends_with(b"::") {
            break;
        }
        run = rest;
    }
    if run.starts_with(b":") && !run.starts_with(b"::") {
        (from, run) = (from + 1, run.get(1..).unwrap_or_default());
    }
    let to = from + run.len();
    let count = memchr_iter(b':', run).count();
    // `Add::add` is a path of a program, and pairs of digits are an address of hardware, or a fingerprint.
    let is_path =
        count < 3 && !run.iter().take_while(|byte| **byte != b':').any(u8::is_ascii_digit);
    let is_pairs = run.split(|byte| *byte == b':').all(|part| part.len() == 2);
    if count < 2 || is_path || is_pairs || is_word_at(text, to) || before(text, from) == Some(b'.')
    {
        return (next, None);
    }
    let parsed = std::str::from_utf8(run).ok().and_then(|run| run.parse::<Ipv6Addr>().ok());
    let is_own = |address: Ipv6Addr| address.is_loopback() || address.is_unspecified();
    (next, parsed.filter(|address| !is_own(*address)).map(|_| (from, to)))
}

/// The fewest and the most digits of an international number (ITU-T E.164), and the most of its country.
const INTERNATIONAL: std::ops::RangeInclusive<usize> = 8..=15;
const COUNTRY: usize = 3;

/// Returns the first phone number: one with the sign `+`, or one of North America with its separators.
pub(super) fn phone(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let signed = |from: usize| match text.get(from..)? {
        [b'+', ..] => international(text, from, 1),
        [b'%', b'2', b'B' | b'b', ..] => international(text, from, 3),
        _ => None,
    };
    // Most texts have no hyphen between numbers.
    if memchr(b'-', rest).is_none() {
        return memchr2_iter(b'+', b'%', rest).find_map(|sign| signed(at + sign));
    }
    // One pass over both forms: what is after the first number is not read.
    let mut next = at;
    loop {
        let is_begin = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'%');
        next += text.get(next..)?.iter().position(is_begin)?;
        let digits = text.get(next..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let found = match digits {
            0 => signed(next),
            _ => american(text, (next, next + digits), at),
        };
        if found.is_some() {
            return found;
        }
        next += digits.max(1);
    }
}

/// Returns the length of the separators between two groups of digits at a position.
fn separators(text: &[u8], at: usize, is_encoded: bool) -> usize {
    let (mut len, mut count) = (0, 0);
    while count < 2 {
        let blank = blank(text, at + len);
        len += match text.get(at + len..) {
            _ if blank > 0 && !is_encoded => blank,
            Some([b'-' | b'.' | b'/' | b'(' | b')', ..]) => 1,
            Some([b'+', ..]) if is_encoded => 1,
            Some([b'%', b'2', b'0' | b'8' | b'9' | b'D' | b'd', ..]) if is_encoded => 3,
            _ => break,
        };
        count += 1;
    }
    len
}

/// Returns the international number at its sign `+`, which has this length.
fn international(text: &[u8], from: usize, sign: usize) -> Option<(usize, usize)> {
    let is_part = matches!(before(text, from), Some(b'.' | b'-' | b'/' | b'+'));
    if is_part || is_word_before(text, from) {
        return None;
    }
    let (mut to, mut digits, mut groups, mut first) = (from + sign, 0, 0, 0);
    loop {
        let at = if groups == 0 { to } else { to + separators(text, to, sign > 1) };
        let group =
            text.get(at..)?.iter().take(16).take_while(|byte| byte.is_ascii_digit()).count();
        let is_separate = groups == 0 || at > to;
        if group == 0 || !is_separate {
            break;
        }
        if groups > 0 && digits + group > *INTERNATIONAL.end() {
            // Another number follows after a blank.
            if blank(text, to) != at - to {
                return None;
            }
            break;
        }
        if groups == 0 {
            first = group;
            if text.get(at) == Some(&b'0') {
                return None;
            }
        }
        (to, digits, groups) = (at + group, digits + group, groups + 1);
    }
    let is_number = INTERNATIONAL.contains(&digits) && (groups == 1 || first <= COUNTRY);
    (is_number && !is_word_at(text, to)).then_some((from, to))
}

/// Returns the number of North America whose area is a run of digits: `(212) 555-0123` or `212-555-0123`. Periods are also
/// those of sections and versions.
fn american(text: &[u8], (area, area_end): (usize, usize), at: usize) -> Option<(usize, usize)> {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let run = |at: usize| {
        text.get(at..)
            .map_or(0, |rest| rest.iter().take(5).take_while(|byte| byte.is_ascii_digit()).count())
    };
    let is_code = |at: usize| matches!(text.get(at), Some(b'2'..=b'9'));
    if area_end - area != 3 || !is_code(area) {
        return None;
    }
    let is_open = area > at && before(text, area) == Some(b'(');
    let from = area - usize::from(is_open);
    let mut next = area_end;
    if is_open && text.get(next) == Some(&b')') {
        next += 1;
    }
    let blank = blank(text, next);
    next += if text.get(next) == Some(&b'-') { 1 } else { blank };
    let is_number = next > area_end
        && is_code(next)
        && run(next) == 3
        && text.get(next + 3) == Some(&b'-')
        && run(next + 4) == 4;
    let to = next + 8;
    let is_part = matches!(before(text, from), Some(b'.' | b'-' | b'/' | b'='));
    (is_number && !is_part && !digit(to) && !is_word_before(text, from) && !is_word_at(text, to))
        .then_some((from, to))
}
