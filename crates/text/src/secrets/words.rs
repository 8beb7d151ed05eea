//! Compares a secret with names, and with the base64 of credentials and keys.

use memchr::memmem;

use super::kinds::{ALNUM, Class, class};

/// The characters of base64.
pub(super) const BASE64_SIGNS: Class = ALNUM | class(b"+/=");

/// The most digits of a number in a name, and the most such numbers.
const NUMBER: usize = 4;
const NUMBERS: usize = 2;
/// The fewest small letters of a word.
const WORD: usize = 3;

/// Returns whether a text reads as a name or a path: its parts are words, such as `Http2ServerPush`, and short numbers. Of
/// random letters and digits hardly any do.
pub(super) fn is_words(text: &[u8]) -> bool {
    let mut numbers = 0;
    text.split(|byte| !byte.is_ascii_alphanumeric()).all(|part| {
        let (mut at, mut fits) = (0, true);
        while at < part.len() {
            let run = |at: usize, test: fn(&u8) -> bool| {
                part.iter().skip(at).take_while(|byte| test(byte)).count()
            };
            let digits = run(at, u8::is_ascii_digit);
            numbers += usize::from(digits > 0);
            at += digits;
            let capitals = run(at, u8::is_ascii_uppercase);
            let small = run(at + capitals, u8::is_ascii_lowercase);
            fits &= digits <= NUMBER && (small == 0 || small >= WORD || part.len() <= WORD);
            at += capitals + small;
        }
        fits
    }) && numbers <= NUMBERS
}

/// Returns whether a text is the base64 of a name and a password.
pub(super) fn is_credentials(text: &[u8]) -> bool {
    let decoded = from_base64(text);
    let name = decoded.iter().take_while(|byte| matches!(byte, b' '..=b'9' | b';'..=b'~')).count();
    let rest = decoded.get(name..).unwrap_or_default();
    // Passwords may be in Latin-1.
    rest.first() == Some(&b':') && rest.iter().all(|byte| *byte >= b' ' && *byte != 0x7f)
}

/// Returns whether the value of a name such as `password` reads as a name itself, such as `changeme123`. A part with two numbers,
/// such as `4xkq81` or `p4ssw0rd`, is not a word there.
pub(super) fn is_placeholder(text: &[u8]) -> bool {
    let numbers = |part: &[u8]| {
        part.split(|byte| !byte.is_ascii_digit()).filter(|number| !number.is_empty()).count()
    };
    is_words(text) && text.split(|byte| !byte.is_ascii_alphanumeric()).all(|part| numbers(part) < 2)
}

/// The fewest characters of a number in hexadecimal digits that is random.
const HEX: usize = 32;

/// Returns whether a text looks random: it has capitals, small letters and digits and does not read as a name, or it is a long
/// number in hexadecimal digits, such as a UUID.
pub(super) fn is_random(text: &[u8]) -> bool {
    // Signs at the end are those of the text around it.
    let end = text.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |last| last + 1);
    let text = text.get(..end).unwrap_or_default();
    let any = |test: fn(&u8) -> bool| text.iter().any(test);
    let is_hex =
        text.len() >= HEX && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let is_mixed = any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase);
    any(u8::is_ascii_digit) && (is_hex || (is_mixed && !is_words(text)))
}

/// Returns whether base64 holds the first line of a private key in PEM, or at least its first two words.
pub(super) fn holds_private_key(text: &[u8]) -> bool {
    let decoded = from_base64(text);
    memmem::find_iter(&decoded, b"-- BEGIN").chain(memmem::find_iter(&decoded, b"--BEGIN")).any(
        |at| {
            let line = decoded.get(at..).unwrap_or_default();
            let name = line.iter().take(HEADER).take_while(|byte| **byte != b'\n').count();
            memmem::find(line.get(..name).unwrap_or_default(), b" PRI").is_some()
        },
    )
}

/// The most characters of the first line of a key.
const HEADER: usize = 64;

/// Decodes base64 of either alphabet, up to the first other character.
pub(super) fn from_base64(text: &[u8]) -> Vec<u8> {
    let (mut decoded, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = (bits << 6 | u32::from(value)) & 0xFFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::{from_base64, is_credentials, is_placeholder, is_words};

    #[test]
    fn names_are_words_and_random_characters_are_not() {
        for text in [
            "servingcellpriorityparametersdescription",
            "src/auth2/token-endpoint.ts",
            "Http2ServerPushHandler",
            "authentication-mechanism",
            "HTTPServerError",
        ] {
            assert!(is_words(text.as_bytes()), "{text}");
        }
        for text in [
            "a8Kd02mQpZ7xLr5TyBn31vHc",
            "550e8400-e29b-41d4-a716-446655440000",
            "aBcDefGhiJKlmNopQRstUvwXyZabCdEf",
            "tide12345678",
            "a1b2c3",
        ] {
            assert!(!is_words(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn placeholders_have_one_number_in_each_word() {
        for text in ["changeme123", "min-8chars", "db1_pass2", "yourPassword1"] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["tide-4xkq81", "p4ssw0rd", "tide12345678"] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn credentials_are_a_name_and_a_password() {
        assert_eq!(from_base64(b"bWlyYTp0aWRl"), b"mira:tide");
        assert_eq!(from_base64(b"bWlyYTp0aWQ="), b"mira:tid");
        assert!(is_credentials(b"bWlyYTp0aWRl"));
        assert!(!is_credentials(b"Es2022ClassFields"));
        assert!(!is_credentials(b"bWlyYXRpZGU="));
    }
}
