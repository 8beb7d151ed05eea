//! A model of `omit_base64_over` that reads the whole output of the other rules as a tree.
//!
//! The rule is restated on decoded strings: a string is cut into lines, and each condition is one test of all its
//! characters.

use super::super::model::dom::{Node, Value, unescape};

/// The output of the rule for a document.
pub struct Kept {
    pub text: String,
    /// Replaced strings, and their characters.
    pub omitted: u64,
    pub omitted_bytes: u64,
}

/// Applies the rule to a minified document.
pub fn omit(document: &str, over: u64) -> Kept {
    let mut node = Node::parse(document);
    let mut kept = Kept { text: String::new(), omitted: 0, omitted_bytes: 0 };
    visit(&mut node, "", over, &mut kept);
    kept.text = node.minified();
    kept
}

fn visit(node: &mut Node, pointer: &str, over: u64, kept: &mut Kept) {
    match &mut node.value {
        Value::Scalar(text) => {
            let Some(mark) = mark(text, pointer, over) else { return };
            kept.omitted += 1;
            kept.omitted_bytes +=
                unescape(&text[1..text.len() - 1]).map_or(0, |text| text.len() as u64);
            *text = mark;
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                visit(element, &format!("{pointer}/{index}"), over, kept);
            }
        }
        Value::Object(members) => {
            for member in members {
                let key = &member.key[1..member.key.len() - 1];
                visit(&mut member.node, &format!("{pointer}/{}", token(key)), over, kept);
            }
        }
    }
}

/// A key as a token of a pointer, spelled as in a string.
fn token(key: &str) -> String {
    let mut token = String::new();
    let mut rest = key;
    while let Some(first) = rest.chars().next() {
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => first.len_utf8(),
        };
        let (spelled, after) = rest.split_at(length);
        match unescape(spelled).as_deref() {
            Some("~") => token.push_str("~0"),
            Some("/") => token.push_str("~1"),
            _ => token.push_str(spelled),
        }
        rest = after;
    }
    token
}

/// The mark for a scalar, if it is to be replaced.
fn mark(spelled: &str, pointer: &str, over: u64) -> Option<String> {
    let text = unescape(spelled.strip_prefix('"')?.strip_suffix('"')?)?;
    if text.len() as u64 <= over {
        return None;
    }
    let kind = match (is_base64(&text), is_data_url(&text)) {
        (true, _) => "base64",
        (_, true) => "a data: URL",
        _ => return None,
    };
    let digits = text.len().to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    let size = String::from_utf8(groups.join(&b","[..])).expect("digits are ASCII");
    let place = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
    let mark = format!("\"[tamis: {size} bytes of {kind} left out{place}]\"");
    (mark.len() < spelled.len()).then_some(mark)
}

fn is_base64(text: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.len() > 1 && lines.last() == Some(&"") {
        lines.pop();
    }
    let (first, last) = (lines[0].len(), lines[lines.len() - 1].len());
    let is_broken = lines.len() > 1;
    let same = lines[..lines.len() - 1].iter().all(|line| line.len() == first);
    if is_broken && !(same && first >= 60 && first.is_multiple_of(4) && (1..=first).contains(&last))
    {
        return false;
    }
    let all = lines.concat();
    let digits = all.trim_end_matches('=');
    let padding = all.len() - digits.len();
    let only = |of: &dyn Fn(char) -> bool| digits.chars().all(of);
    let standard = digits.contains(['+', '/']);
    let fits = match all.len() % 4 {
        0 => padding <= 2,
        1 => false,
        _ => padding == 0 && !standard,
    };
    let is_hex = padding == 0
        && (only(&|char| matches!(char, '0'..='9' | 'a'..='f'))
            || (only(&|char| matches!(char, '0'..='9' | 'A'..='F'))
                && digits.contains(|char: char| char.is_ascii_digit())));
    fits && !is_hex
        && digits.contains(|char: char| char.is_ascii_alphanumeric())
        && (only(&|char| char.is_ascii_alphanumeric() || "+/".contains(char))
            || only(&|char| char.is_ascii_alphanumeric() || "-_".contains(char)))
}

fn is_data_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let Some((header, data)) = rest.split_once(',') else { return false };
    let is_token = |text: &str| {
        let in_token = |char: char| char.is_ascii_alphanumeric() || "!#$&-^_.+%*'~".contains(char);
        !text.is_empty() && text.chars().all(in_token)
    };
    let (media, parameters) = match header.split_once(';') {
        Some((media, parameters)) => (media, parameters.split(';').collect()),
        None => (header, Vec::new()),
    };
    let is_media = media.is_empty()
        || media.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    let is_parameter = |parameter: &&str| match parameter.split_once('=') {
        Some((name, value)) => is_token(name) && is_token(value),
        None => is_token(parameter),
    };
    let in_url =
        |char: char| char.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(char);
    scheme.eq_ignore_ascii_case("data")
        && header.len() <= 256
        && is_media
        && parameters.iter().all(is_parameter)
        && data.chars().all(in_url)
}
