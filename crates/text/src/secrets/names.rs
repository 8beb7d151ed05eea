//! The names that announce a credential without a shape of its own: `password`, `client_secret`, `X-Api-Key`.
//!
//! A name is written as a variable, a header, a key of JSON or YAML, or a tag: `DB_PASSWORD=…`, `"apiKey": "…"`,
//! `<password>…`. So names are compared without case and signs, and before a sign that a value follows. The value must look
//! random: `MAX_TOKENS=100`, `password: ${PASSWORD}` and `"password": "string"` announce nothing.

use std::sync::LazyLock;

use super::before::Before;
use super::kinds::{Kind, SecretLevel};
use super::table::KINDS;

/// The most quotes, backslashes and blanks between a name and its sign.
pub(super) const BETWEEN: usize = 4;

/// The last digits of the number of an account that are in reach before `:secret`. They may be masked.
const ACCOUNT: usize = 9;

/// Returns whether a value may follow this sign after a name.
#[inline(always)]
fn is_name_sign(byte: u8) -> bool {
    matches!(byte, b':' | b'=' | b'>')
}

/// Returns the kinds that are announced by the name before the sign at a position. A tag must be open.
#[inline]
pub(super) fn announced_by(
    text: &[u8],
    at: usize,
    before: Before,
    level: SecretLevel,
) -> Vec<&'static Kind> {
    let sign = text.get(at).copied().filter(|sign| is_name_sign(*sign));
    let bytes = before.bytes();
    let Some(sign) = sign.filter(|_| may_end_with_name(&bytes)) else { return Vec::new() };
    let name = name_of(&bytes);
    let is_tag = || {
        let tag = name.iter().rev().find(|byte| !is_of_name(**byte));
        tag == Some(&b'<') && name.len() == bytes.len()
    };
    let announces = match sign {
        b'>' => is_tag(),
        b':' => !ends_arn(name),
        _ => true,
    };
    if announces { kinds_of_name(name, level) } else { Vec::new() }
}

/// Returns whether the name of a secret in AWS follows: `arn:aws:secretsmanager:eu-west-1:123456789012:secret:`. Six random
/// characters are at the end of this name, which is public.
fn ends_arn(name: &[u8]) -> bool {
    let account = name.strip_suffix(b":secret").and_then(|before| before.last_chunk::<ACCOUNT>());
    account.is_some_and(|account| {
        account.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'*' | b'x' | b'X'))
    })
}

/// Returns the text without the characters that may be between its last name and a sign.
fn name_of(text: &[u8]) -> &[u8] {
    let is_between = |byte: &&u8| matches!(**byte, b'"' | b'\'' | b'\\' | b' ' | b'\t' | b']');
    let between = text.iter().rev().take(BETWEEN).take_while(is_between).count();
    text.get(..text.len() - between).unwrap_or_default()
}

/// Returns whether a name that announces a secret may be at the end of a text, before the sign after it. It is not for most.
#[inline]
pub(super) fn may_end_with_name(text: &[u8]) -> bool {
    is_last_of_name(name_of(text))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns whether the last characters of a text may be those of a name that announces something.
#[inline]
fn is_last_of_name(text: &[u8]) -> bool {
    // A short text may be all that is known of a name.
    let Some(last) = text.last_chunk::<8>() else { return true };
    // Small letters of letters; signs become other ones, which are in no name.
    let last = u64::from_le_bytes(*last) | 0x2020_2020_2020_2020;
    let four = (last >> 32) as u32;
    let is = |name: &[u8; 4]| four == u32::from_le_bytes(*name);
    let is_key = four >> 8 == u32::from_le_bytes(*b"key\0");
    is_key
        || is(b"word")
        || is(b"sswd")
        || is(b"rase")
        || is(b"cret")
        || is(b"oken")
        || is(b"auth")
        || four >> 8 == u32::from_le_bytes(*b"pwd\0")
        || last == u64::from_le_bytes(*b"rization")
}

/// The kinds with names.
static NAMED: LazyLock<Vec<&Kind>> =
    LazyLock::new(|| KINDS.iter().filter(|kind| !kind.names.is_empty()).collect());

/// Returns the kinds one of whose names ends a text, without case and signs. The value shows which of them it is.
pub(super) fn kinds_of_name(text: &[u8], level: SecretLevel) -> Vec<&'static Kind> {
    // The search looks for the last letter.
    if !text.last().is_some_and(u8::is_ascii_alphabetic) {
        return Vec::new();
    }
    let fits = |name: &&str| {
        let mut rest = text.iter().rev().filter(|byte| !matches!(byte, b'_' | b'-' | b'.'));
        name.bytes().rev().all(|wanted| rest.next().is_some_and(|byte| byte | 0x20 == wanted))
    };
    NAMED.iter().filter(|kind| level.has(kind) && kind.names.iter().any(fits)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{announced_by, kinds_of_name};
    use crate::secrets::before::Before;
    use crate::secrets::kinds::SecretLevel;

    #[test]
    fn names_announce_before_signs() {
        for (text, kind) in [
            ("password=", Some("password")),
            ("\nDB_PASSWORD=", Some("password")),
            ("dbPasswd :", Some("password")),
            (r#""password":"#, Some("password")),
            (r#"\"password\":"#, Some("password")),
            ("<password>", Some("password")),
            ("<db.password>", Some("password")),
            ("</password>", None),
            ("password>", None),
            ("password", None),
            ("passwords=", None),
            ("Authorization:", Some("authorization")),
            ("client-secret=", Some("client-secret")),
            ("X-Api-Key:", Some("api-key")),
            ("MAX_TOKENS=", None),
            ("next_page_token=", None),
            ("key:", None),
            ("user:secret:", Some("client-secret")),
            ("12345678:secret:", Some("client-secret")),
            ("arn:aws:secretsmanager:eu-west-1:123456789012:secret:", None),
            ("translation:", None),
        ] {
            let at = text.len() - 1;
            let before = Before::EDGE.and(&text.as_bytes()[..at]);
            let found = announced_by(text.as_bytes(), at, before, SecretLevel::Known);
            let names: Vec<_> = found.iter().map(|kind| kind.name).collect();
            assert_eq!(names, Vec::from_iter(kind), "{text}");
        }
        for (name, known, aggressive) in [
            ("spring.datasource.password", &["password"][..], &["password", "random-value"][..]),
            ("deploy_key", &[], &["random-value"]),
            ("auth", &["basic-credentials"], &["basic-credentials", "random-value"]),
            ("passwordPolicy", &[], &[]),
        ] {
            for (level, expected) in
                [(SecretLevel::Known, known), (SecretLevel::Aggressive, aggressive)]
            {
                let kinds = kinds_of_name(name.as_bytes(), level);
                let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
                assert_eq!(names, expected, "{name}");
            }
        }
    }
}
