//! Finds the lines of a private key that are apart from each other: string literals of a program, elements of a list or of a
//! page.
//!
//! ```text
//! "-----BEGIN PRIVATE KEY-----" . PHP_EOL . "MIIEvQIBADANBgkqhkiG9w0BAQEF…"
//! key += "MIIEvQIBADANBgkqhkiG9w0BAQEF…";   // the first line
//! <span>-----BEGIN PRIVATE KEY-----</span><br><span>MIIEvQIBADANBgkqhkiG9w0BAQEF…</span>
//! ```
//!
//! Anything may be between two lines, as long as it is short and has no other text in quotes that says something. A line is
//! base64. The first one is long, or begins as the keys of ASN.1 and OpenSSH do, so that the mark of a key in a program is
//! none.

use super::kinds::{Class, class, has};
use super::words::{BASE64_SIGNS, is_words};

/// The longest line of base64 that others may follow.
pub(super) const WIDEST: usize = 128;
/// The beginning of the last line of a private key in PEM.
pub(super) const LAST: &[u8] = b"-----END";
/// The dashes at the beginning of a mark.
const DASHES: &[u8] = b"-----";
/// The lines between the first one and the key, of a key that is encrypted (RFC 1421), or of PGP.
const HEADERS: &[&[u8]] = &[b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:"];
/// The quotes of string literals.
const QUOTES: Class = class(b"\"'`");
/// The most characters between two lines.
const GAP: usize = 256;
/// The most characters of another literal between them: a line end, the name of a file.
const LITERAL: usize = 40;
/// The most characters of a tag.
const TAG: usize = 96;
/// The fewest characters of a line of a key, except for its last one.
const SHORTEST: usize = 32;
/// The fewest characters of a line that begins as a key does, and of one that shows that a key has begun.
const SHORT: usize = 6;
/// The characters after a line that show whether it is a name.
const AFTER_LINE: usize = 4;
/// The most dots that stand for a key.
const DOTS: usize = 8;
/// The characters with which a template continues after the mark of a key.
const TEMPLATE: Class = class(b"$%{[.");
/// The spellings of a line end: also those of a text that was escaped, in a cell of a Markdown table, and in a URL.
const LINE_ENDS: &[&[u8]] = &[
    b"\n", b"\r", br"\n", br"\r", br"\\n", br"\\r", b"<br>", b"<br/>", b"<br />", b"%0A", b"%0D",
    b"%0a", b"%0d",
];
/// The beginnings of comments, and where they end: at a line end, or with a text.
const COMMENTS: &[(&[u8], Option<&[u8]>)] = &[
    (b"//", None),
    (b"#", None),
    (b"-- ", None),
    (b"/*", Some(b"*/")),
    (b"<!--", Some(b"-->")),
    (b"(*", Some(b"*)")),
];

/// Returns whether a private key follows its first line, in which `text` comes next. `None`: more text decides.
///
/// Programs and their documentation also have only that line. Then nothing is secret.
pub(super) fn has_key(text: &[u8], ended: bool) -> Option<bool> {
    let (mut at, mut lines) = (text.iter().take(DOTS).take_while(|byte| **byte == b'.').count(), 0);
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(byte) = rest.first().copied() else {
            return if ended || at > GAP { Some(true) } else { None };
        };
        let end = line_end(rest, ended)?;
        if end > 0 || matches!(byte, b' ' | b'\t' | b'\\') {
            (at, lines) = (at + end.max(1), lines + usize::from(end > 0));
            continue;
        }
        // The text of a URL.
        if let [b'%', high, low, ..] = rest
            && high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit()
        {
            return Some(true);
        }
        if byte == b'%' && rest.len() < 3 && !ended {
            return None;
        }
        if lines == 0 || has(QUOTES, byte) || byte == b'<' {
            return next_line(rest, false, ended).map(|line| line.is_some());
        }
        if rest.starts_with(LAST) || has(TEMPLATE, byte) {
            return Some(false);
        }
        let is_cut = !ended && LAST.starts_with(rest);
        return if is_cut { None } else { Some(true) };
    }
}

/// A part of a text.
enum Token {
    /// A line of a key begins at this position.
    Line(usize),
    /// Something else that may be between two lines, of this length.
    Other(usize),
    /// Something that is not.
    End,
}

/// Returns where the next line of a private key begins, if only what may be between two lines is before it. A quote at the
/// beginning ends a literal. `is_begun`: lines of the key were read. `None`: more text decides.
pub(super) fn next_line(text: &[u8], is_begun: bool, ended: bool) -> Option<Option<usize>> {
    let mut at = usize::from(text.first().is_some_and(|byte| has(QUOTES, *byte)));
    // A tag came directly before.
    let mut is_in_page = false;
    while at <= GAP {
        let rest = text.get(at..).unwrap_or_default();
        let Some(byte) = rest.first().copied() else {
            return if ended { Some(None) } else { None };
        };
        let end = line_end(rest, ended)?;
        let other = if end > 0 { Some(end) } else { comment(rest, ended)? };
        let token = match other {
            Some(len) => Token::Other(len),
            None if has(QUOTES, byte) => literal(rest, is_begun, ended)?,
            None if byte == b'-' => mark(rest, is_begun, ended)?,
            None if matches!(byte, b'<' | b'&') => Token::Other(tag(rest, ended)?),
            None if has(BASE64_SIGNS, byte) => word(rest, [is_in_page, is_begun], ended)?,
            None => Token::Other(1),
        };
        is_in_page = matches!(byte, b'<' | b'&') || (is_in_page && byte.is_ascii_whitespace());
        match token {
            Token::Line(line) => return Some(Some(at + line)),
            Token::Other(len) => at += len,
            Token::End => return Some(None),
        }
    }
    Some(None)
}

/// Reads a string literal at its quote.
fn literal(text: &[u8], is_begun: bool, ended: bool) -> Option<Token> {
    let quote = *text.first()?;
    let line = text.get(1..).unwrap_or_default();
    let could_begin = |start: &[u8]| start.starts_with(line);
    if !ended && (HEADERS.iter().any(|header| could_begin(header)) || could_begin(LAST)) {
        return None;
    }
    if HEADERS.iter().any(|header| line.starts_with(header)) {
        return Some(Token::Line(1));
    }
    if line.starts_with(DASHES) {
        return mark(line, is_begun, ended)
            .map(|mark| if matches!(mark, Token::Line(_)) { Token::Line(1) } else { Token::End });
    }
    let len = line.iter().take(WIDEST + 1).take_while(|byte| has(BASE64_SIGNS, **byte)).count();
    let after = line.get(len..).unwrap_or_default();
    if !ended && after.len() < AFTER_LINE && len <= WIDEST {
        return None;
    }
    // The name of a member is followed by a colon.
    let is_name = |after: &[u8]| {
        after.iter().take(AFTER_LINE).any(|byte| matches!(byte, b':' | b'=')) && len <= WIDEST
    };
    let ends = len > WIDEST
        || after.first().is_none_or(|byte| *byte == quote || matches!(byte, b'\\' | b' '))
        || line_end(after, ended)? > 0;
    let found = line.get(..len).unwrap_or_default();
    if ends && !is_name(after) && is_line(found, is_begun) {
        return Some(Token::Line(1));
    }
    let close = line.iter().take(LITERAL).position(|byte| *byte == quote);
    let within = line.iter().take(close.unwrap_or(LITERAL));
    if let Some(end) = within.clone().position(|byte| *byte == b'\n').filter(|_| quote == b'\'') {
        // An apostrophe begins a comment, or is in one.
        return Some(Token::Other(1 + end));
    }
    match close {
        None if !ended && line.len() < LITERAL => None,
        None => Some(Token::End),
        Some(close) => {
            let after = line.get(close + 1..).unwrap_or_default();
            if !ended && after.len() < AFTER_LINE {
                return None;
            }
            let is_blank = line.get(..close).is_some_and(|text| {
                !text.iter().any(|byte| byte.is_ascii_alphabetic() && !b"nrx".contains(byte))
            });
            let is_end = !is_blank && is_name(after);
            Some(if is_end { Token::End } else { Token::Other(close + 2) })
        }
    }
}

/// Reads the dashes of the last line of a key, or of another mark.
fn mark(text: &[u8], is_begun: bool, ended: bool) -> Option<Token> {
    if !ended && LAST.starts_with(text) {
        return None;
    }
    Some(match (text.starts_with(LAST), text.starts_with(DASHES)) {
        (true, _) if is_begun => Token::Line(0),
        (_, true) => Token::End,
        _ => Token::Other(1),
    })
}

/// Reads a word outside quotes. In a page, also a short one may be a line.
fn word(text: &[u8], [is_in_page, is_begun]: [bool; 2], ended: bool) -> Option<Token> {
    let len = text.iter().take(WIDEST + 1).take_while(|byte| has(BASE64_SIGNS, **byte)).count();
    let next = text.get(len).copied();
    if next.is_none() && !ended && len <= WIDEST {
        return None;
    }
    let found = text.get(..len).unwrap_or_default();
    let any = |test: fn(&u8) -> bool| found.iter().any(test);
    let is_random = any(|byte| byte.is_ascii_digit() || b"+/".contains(byte)) && !is_words(found);
    let ends = next.is_none_or(|byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'<' | b'&' | b'\\' | b'"' | b'\'')
    });
    let is_line = (is_random || begins_key(found)) && is_line(found, false)
        || is_in_page && is_begun && is_line(found, true);
    Some(if is_line && (ends || len > WIDEST) { Token::Line(0) } else { Token::Other(len) })
}

/// Returns whether base64 is a line of a key.
pub(super) fn is_line(found: &[u8], is_begun: bool) -> bool {
    let any = |test: fn(&u8) -> bool| found.iter().any(test);
    let is_mixed = any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase);
    let is_first = found.len() >= SHORT && begins_key(found);
    let is_short = !found.is_empty()
        && (found.len().is_multiple_of(4) || is_mixed || any(|byte| !byte.is_ascii_alphabetic()));
    is_mixed && (found.len() >= SHORTEST || is_first) || is_begun && is_short
}

/// Returns whether base64 begins as a key does: a sequence of ASN.1, whose first element is a number, or `openssh`.
fn begins_key(text: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"MII", b"MIG", b"MIH", b"b3Bl"];
    starts.iter().any(|start| text.starts_with(start)) || matches!(text, [b'M', _, _, b'C', ..])
}

/// Returns the length of the comment at the beginning of a text, if there is one. `None`: more text decides.
fn comment(text: &[u8], ended: bool) -> Option<Option<usize>> {
    if !ended
        && COMMENTS.iter().any(|(begin, _)| begin.len() > text.len() && begin.starts_with(text))
    {
        return None;
    }
    let Some((begin, end)) = COMMENTS.iter().find(|(begin, _)| text.starts_with(begin)) else {
        return Some(None);
    };
    for at in begin.len()..text.len().min(GAP) {
        let rest = text.get(at..).unwrap_or_default();
        match end {
            Some(end) if rest.starts_with(end) => return Some(Some(at + end.len())),
            None if line_end(rest, ended)? > 0 => return Some(Some(at)),
            _ => {}
        }
    }
    // It does not end where a line could follow.
    if ended || text.len() >= GAP { Some(Some(begin.len())) } else { None }
}

/// Returns the length of the tag or the entity at the beginning of a text, or 1.
fn tag(text: &[u8], ended: bool) -> Option<usize> {
    let (last, is_inside): (u8, fn(&u8) -> bool) = match text.first() {
        Some(b'<') => (b'>', |byte| *byte != b'<'),
        _ => (b';', |byte| byte.is_ascii_alphanumeric() || *byte == b'#'),
    };
    let len = 1 + text
        .iter()
        .skip(1)
        .take(TAG)
        .take_while(|byte| **byte != last && is_inside(byte))
        .count();
    match text.get(len) {
        None if !ended && len < TAG => None,
        Some(byte) if *byte == last && len > 1 => Some(len + 1),
        _ => Some(1),
    }
}

/// Returns the length of the line end at the beginning of a text, or 0. `None`: more text decides.
pub(super) fn line_end(text: &[u8], ended: bool) -> Option<usize> {
    if let Some(end) = LINE_ENDS.iter().find(|end| text.starts_with(end)) {
        return Some(end.len());
    }
    let is_cut = !ended && LINE_ENDS.iter().any(|end| end.starts_with(text));
    if is_cut { None } else { Some(0) }
}

#[cfg(test)]
mod tests {
    use super::{has_key, next_line};
    use crate::secrets::filter::SecretFilter;
    use crate::secrets::resolve::TextForm;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw";

    #[test]
    fn a_first_line_without_a_key_is_not_secret() {
        for (after, has) in [
            ("\nMIIE".to_owned(), true),
            ("\\nMIIE".to_owned(), true),
            ("<br>MIIE".to_owned(), true),
            (format!("\" +\n  \"{LINE}\""), true),
            (String::new(), true),
            (LINE.to_owned(), true),
            (format!(" {LINE}"), true),
            ("\" and more".to_owned(), false),
            ("', '-----END PRIVATE KEY-----'".to_owned(), false),
            ("...\",".to_owned(), false),
            ("`: the first line".to_owned(), false),
            ("</code> or".to_owned(), false),
            ("\"):\n    return True".to_owned(), false),
            ("\\n\")".to_owned(), false),
            ("\\n%s\\n-----END".to_owned(), false),
            ("\n-----END PRIVATE KEY-----".to_owned(), false),
            ("\n${KEY}\n".to_owned(), false),
            (" is the mark of a key".to_owned(), false),
            ("/".to_owned(), false),
            ("\", \"-----BEGIN RSA PRIVATE KEY-----\"]".to_owned(), false),
            ("\", arn = \"arn:aws:acm:eu-west-1:123456789012:certificate/x\"".to_owned(), false),
        ] {
            assert_eq!(has_key(after.as_bytes(), true), Some(has), "{after}");
            // A beginning of the text decides alike, or not yet.
            for end in 1..after.len() {
                let found = has_key(&after.as_bytes()[..end], false);
                assert!(found.is_none_or(|found| found == has), "{after} {end}");
                let line = next_line(&after.as_bytes()[..end], true, false);
                let whole = next_line(after.as_bytes(), true, true);
                assert!(line.is_none() || line == whole, "{after} {end}");
            }
        }
    }

    /// Each text has a key between its marks, of which nothing is left.
    #[test]
    fn keys_in_programs_are_replaced_as_a_whole() {
        let other = "Ab9zQx7LmNo2PqRs4TuVw6XyZa8BcDe0FgHi1JkLm3NoPq5RsTu7VwXyZ9AbCdEf";
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        let mut wrong = Vec::new();
        for program in [
            "\"B\" . PHP_EOL . \"1\" . PHP_EOL . \"2\" . PHP_EOL . \"E\";",
            "'B' + \"\\n\" + '1' + \"\\n\" + '2' + \"\\n\" + 'E'",
            "\"B\" & vbCrLf & _\n  \"1\" & vbCrLf & _ ' a comment\n  \"2\" & vbCrLf & _\n  \"E\"",
            "\"B\".concat(\"1\").concat(\"2\")\n  .concat(\"E\")",
            "\"B\\n\" // the mark\n  + \"1\\n\" /* it's the first */ + \"2\\n\"\n  + \"E\\n\"",
            "key = \"B\\n\"\nkey += \"1\\n\"\nkey += \"2\\n\"\nkey += \"E\\n\"",
            "$key = 'B';\n$key .= '1'; # more\n$key .= '2';\n$key .= 'E';",
            "sb.append(\"B\").append(System.lineSeparator());\nsb.append(\"1\");\nsb.append(\"2\");\nsb.append(\"E\");",
            "f.write(\"B\", \"utf8\"); f.write(\"1\", \"utf8\"); f.write(\"2\", \"utf8\"); f.write(\"E\", \"utf8\")",
            "[\n  \"B\",\n  \"1\",\n  \"2\",\n  \"E\",\n].join(\"\\n\")",
            "['B', '1', '2', 'E']",
            "- \"B\"\n- \"1\"\n- \"2\"\n- \"E\"",
            "B<br>1<br/>2<br />E",
            "<p>B</p>\n<p>1</p>\n<p>2</p>\n<p>E</p>",
            "<span class=\"a\">B</span>\n<span class=\"a b\">1</span>\n<span>2</span>\n<span>E</span>",
            "<td>B</td><td>1<wbr>2</td><td>E</td>",
            "&quot;B&quot; &#43; &quot;1&quot; &#43; &quot;2&quot; &#43; &quot;E&quot;",
            "B 1 2 E",
            "{\\\"key\\\": [\\\"B\\\", \\\"1\\\", \\\"2\\\", \\\"E\\\"]}",
            "'B' || CHR(10) || '1' || CHR(10) || '2' || CHR(10) || 'E'",
            "\"B\" <> \"\\n\" <> \"1\" <> \"\\n\" <> \"2\" <> \"E\"",
            "`B\n` +\n`1\n` +\n`2\n` +\n`E`",
            "echo \"B\" > key.pem\necho \"1\" >> \"key.pem\"\necho \"2\" >> key.pem\necho \"E\" >> key.pem",
        ] {
            for (one, two) in [(LINE, other), (&LINE[..12], &other[..10]), (other, "Ab9=")] {
                let text: String = program
                    .split_inclusive(['B', '1', '2', 'E'])
                    .map(|part| {
                        let (rest, last) = part.split_at(part.len() - 1);
                        // The marks are letters and digits of their own.
                        let is_mark =
                            !rest.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                        match last {
                            "B" if is_mark => format!("{rest}{begin}"),
                            "1" if is_mark && !rest.ends_with('(') => format!("{rest}{one}"),
                            "2" if is_mark => format!("{rest}{two}"),
                            "E" if is_mark => format!("{rest}{end}"),
                            _ => part.to_owned(),
                        }
                    })
                    .collect();
                let text = format!("x {text} y");
                let (mut filter, mut output) = (SecretFilter::new(TextForm::Plain), Vec::new());
                filter.write(text.as_bytes(), &mut output);
                filter.end(&mut output);
                let output = String::from_utf8(output).unwrap();
                let is_whole = output.contains("[redacted:private-key]")
                    && ![begin, one, two, end].iter().any(|part| output.contains(part));
                if !is_whole {
                    wrong.push(format!("{text}\n  {output}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong.join("\n"));
    }
}
