//! Headers of HTTP requests that repeat what the body says (2026-07-28).
//!
//! Proxies on the way route by these headers and do not read the body. This one does, so it has to refuse a request
//! whose headers say something else.

/// Returns whether a header is absent, or says the same as the body. A value that is not plain ASCII is written as
/// `=?base64?…?=`.
pub(crate) fn agrees(header: Option<&str>, body: Option<&str>) -> bool {
    let Some(header) = header.map(str::trim) else { return true };
    let encoded = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match (encoded, body) {
        (Some(encoded), Some(body)) => {
            decode(encoded.as_bytes()).is_some_and(|decoded| decoded == body.as_bytes())
        }
        (None, Some(body)) => header == body,
        (_, None) => false,
    }
}

/// Decodes base64 (RFC 4648, section 4), with or without padding.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    if padding > 2 || digits.len() % 4 == 1 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            bits = bits << 6 | u32::from(digit(*byte)?);
        }
        bits <<= 6 * (4 - group.len());
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend([first, second, third].iter().take(group.len() - 1));
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{agrees, decode};

    #[test]
    fn headers_are_compared_after_decoding() {
        for (header, body, expected) in [
            (None, None, true),
            (None, Some("x"), true),
            (Some("x"), None, false),
            (Some("get_user"), Some("get_user"), true),
            (Some(" get_user "), Some("get_user"), true),
            (Some("get_User"), Some("get_user"), false),
            (Some("=?base64?Z2V0X3VzZXI=?="), Some("get_user"), true),
            (Some("=?base64?Z2V0X3VzZXI?="), Some("get_user"), true),
            (Some("=?base64?csOpc3Vtw6k=?="), Some("résumé"), true),
            (Some("=?base64?csOpc3Vtw6k=?="), Some("resume"), false),
            (Some("=?base64??="), Some(""), true),
            (Some("=?base64?***?="), Some("***"), false),
            (Some("=?base64?Z2V0"), Some("=?base64?Z2V0"), true),
        ] {
            assert_eq!(agrees(header, body), expected, "{header:?} {body:?}");
        }
    }

    #[test]
    fn base64() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("/+8=", Some(b"\xff\xef")),
            ("Z", None),
            ("Zg=", None),
            ("Z===", None),
            ("Zm9v=", None),
            ("Zm 9v", None),
        ] {
            assert_eq!(decode(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }
}
