//! Compares a secret with names, and with the base64 of credentials and keys.

use memchr::memmem;

use super::kinds::{ALNUM, Checksum, Class, class};

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
/// The most characters of the word that an issuer puts before such a number: `sdk-…`, `web_…`, `v1.…`.
const PREFIX: usize = 8;

/// Returns whether a text looks random: it has capitals, small letters and digits and does not read as a name, or it is a long
/// number in hexadecimal digits, such as a UUID, also after a short word.
pub(super) fn is_random(text: &[u8]) -> bool {
    // Signs at the end are those of the text around it.
    let end = text.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |last| last + 1);
    let text = text.get(..end).unwrap_or_default();
    let any = |test: fn(&u8) -> bool| text.iter().any(test);
    let is_number = |text: &[u8]| {
        text.len() >= HEX && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
    };
    let word = text.iter().take(PREFIX).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let after_word = match text.get(word..) {
        Some([b'-' | b'_' | b'.', after @ ..]) => after,
        _ => &[],
    };
    let is_hex = is_number(text) || is_number(after_word);
    let is_mixed = any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase);
    any(u8::is_ascii_digit) && (is_hex || (is_mixed && !is_words(text)))
}

/// Returns whether a text is the base64 of a JSON Web Token.
pub(super) fn is_encoded_token(text: &[u8]) -> bool {
    let decoded = from_base64(text);
    decoded.starts_with(b"eyJ") && memmem::find(&decoded, b".eyJ").is_some()
}

/// The words with which the name of a password or of a variable ends, in small letters.
const NAMES_OF_PASSWORDS: &[&[u8]] =
    &[b"password", b"passwd", b"pass", b"passphrase", b"pwd", b"token", b"apikey", b"api-key"];

/// Returns whether the argument of an option is a password: neither a variable nor a template (`$PASS`, `%PASS%`, `<pass>`,
/// `{pass}`, `***`), nor the name of one (`YOUR_PASSWORD`).
pub(super) fn is_login(text: &[u8]) -> bool {
    let is_template = matches!(text.first(), Some(b'$' | b'%' | b'<' | b'{' | b'[' | b'*' | b'.'));
    let is_name = text.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'))
        && NAMES_OF_PASSWORDS.iter().any(|name| {
            let mut rest =
                text.iter().rev().map(|byte| if *byte == b'_' { b'-' } else { byte | 0x20 });
            name.iter().rev().all(|wanted| rest.next() == Some(*wanted))
        });
    !is_template && !is_name
}

/// The most letters and digits of a token with a checksum.
const CHECKED: usize = 36;

/// Returns whether the last part of a token ends with the checksum of the rest.
pub(super) fn has_checksum(token: &[u8], checksum: Checksum) -> bool {
    let part = token.rsplit(|byte| *byte == b'_').next().unwrap_or_default();
    let digits = match checksum {
        Checksum::Crc32 => 6,
        Checksum::Xor => 1,
    };
    let Some((body, end)) = part.len().checked_sub(digits).map(|at| part.split_at(at)) else {
        return false;
    };
    if part.len() > CHECKED {
        return false;
    }
    match checksum {
        Checksum::Crc32 => {
            let mut rest = crc32(body);
            end.iter().rev().all(|digit| {
                let fits = base62(rest % 62) == *digit;
                rest /= 62;
                fits
            })
        }
        Checksum::Xor => {
            const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
            let sum = body.iter().fold(0, |sum, byte| sum ^ byte);
            end.first() == SIGNS.get(usize::from(sum) % SIGNS.len())
        }
    }
}

/// Returns a digit of base 62.
fn base62(digit: u32) -> u8 {
    match digit as u8 {
        digit @ 0..=9 => b'0' + digit,
        digit @ 10..=35 => b'A' + digit - 10,
        digit => b'a' + digit - 36,
    }
}

/// Returns the CRC-32 of a few bytes.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            let is_odd = crc & 1 != 0;
            crc >> 1 ^ if is_odd { 0xEDB8_8320 } else { 0 }
        })
    })
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
    use super::{
        Checksum, base62, crc32, from_base64, has_checksum, is_credentials, is_placeholder,
        is_words,
    };

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
    fn checksums_are_verified() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        // The token of the article, which is of no account, and the example of a test of crates.io.
        let made = |prefix: &str, body: &str| {
            let mut sum = crc32(body.as_bytes());
            let mut digits = [0; 6];
            for digit in digits.iter_mut().rev() {
                *digit = base62(sum % 62);
                sum /= 62;
            }
            format!("{prefix}{body}{}", String::from_utf8_lossy(&digits))
        };
        let token = made("ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ");
        assert_eq!(token, ["gh", "p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"].concat());
        assert!(has_checksum(token.as_bytes(), Checksum::Crc32));
        let other = token.replace("zQWB", "zQWC");
        assert!(!has_checksum(other.as_bytes(), Checksum::Crc32));
        assert!(has_checksum(b"cio_tp_0000000000000000000000000000000w", Checksum::Xor));
        assert!(!has_checksum(b"cio_tp_00000000000000000000000000000000", Checksum::Xor));
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
