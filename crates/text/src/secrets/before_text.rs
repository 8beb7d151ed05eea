//! Reads the text before a place, of which some kinds need more than its last characters: the command whose option the
//! secret follows, or the words of a `.netrc`.
//!
//! The text is only read where a secret of such a kind has its shape, which is rare.

use memchr::memmem;

use super::before::Before;
use super::kinds::{Context, RUN, has};
use super::resolve::{TextForm, resolved};

/// The most characters of it that are read, and the most bytes that spell them.
const CONTEXT: usize = 672;
pub(super) const CONTEXT_BYTES: usize = 6 * CONTEXT;

/// The most characters of an option.
pub(super) const OPTION: usize = 64;

/// The most commands whose end is looked for.
const COMMANDS: usize = 8;

/// The words of a `.netrc` of which one, and its value, come before the password.
const NETRC: &[&[u8]] = &[b"login", b"machine", b"account"];

/// The bytes before a text, with their escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Earlier<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) form: TextForm,
}

impl Earlier<'_> {
    /// The text is known from its beginning on.
    pub(super) const NONE: Self = Self { bytes: b"", form: TextForm::Plain };

    fn characters(self) -> Vec<u8> {
        let (mut characters, mut rest) = (Vec::new(), self.bytes);
        while let Some((byte, len)) = resolved(rest, self.form, true) {
            characters.push(byte);
            rest = rest.get(len..).unwrap_or_default();
        }
        characters
    }
}

/// Returns whether a secret that needs a context may begin after `text`, before which is `earlier`.
pub(super) fn has_context(context: Context, earlier: Earlier<'_>, text: &[u8]) -> bool {
    if context == Context::Any {
        return true;
    }
    let last = |text: &[u8]| text.len().saturating_sub(CONTEXT);
    let mut before = earlier.characters();
    before.extend_from_slice(text.get(last(text)..).unwrap_or_default());
    before.drain(..last(&before));
    match context {
        Context::Any => true,
        Context::Curl => is_option_of_curl(&before),
        Context::Option => ends_with_option(&before),
        Context::Netrc => ends_with_login(&before),
    }
}

/// Returns whether an option may begin after this character of a text.
fn is_before_option(byte: u8) -> bool {
    !has(RUN, byte) && byte != b'\\'
}

/// Returns whether the text ends with the beginning of an option, such as `--db-`.
fn ends_with_option(text: &[u8]) -> bool {
    let is_of_option = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let len = text.iter().rev().take(OPTION).take_while(is_of_option).count();
    let (before, option) = text.split_at(text.len() - len);
    let escape = option.first().is_some_and(|byte| matches!(byte, b'n' | b'r' | b't'));
    match (before, option) {
        // After a line end that is spelled as an escape.
        ([.., b'\\'], [_, b'-', ..]) => escape,
        ([.., last], [b'-', ..]) => is_before_option(*last),
        ([], [b'-', ..]) => true,
        _ => false,
    }
}

/// Returns whether a word begins after a text.
fn begins_word(text: &[u8]) -> bool {
    let before = Before::EDGE.and(text);
    !before.last().is_ascii_alphanumeric() || before.ends_escape()
}

/// Returns whether the last two words before a password are those of a `.netrc`: `login mira`.
fn ends_with_login(text: &[u8]) -> bool {
    let is_blank = |at: usize| match text.get(at) {
        Some(b'\\') => matches!(text.get(at + 1), Some(b'n' | b'r' | b't' | b'\\')),
        Some(b'n' | b'r' | b't') => at > 0 && text.get(at - 1) == Some(&b'\\'),
        Some(byte) => byte.is_ascii_whitespace(),
        None => false,
    };
    // Returns where the last word before a position begins and ends.
    let word = |end: usize| {
        let end = (0..end).rev().find(|at| !is_blank(*at)).map_or(0, |last| last + 1);
        let begin = (0..end).rev().find(|at| is_blank(*at)).map_or(0, |blank| blank + 1);
        (begin, end)
    };
    let (value, end) = word(text.len());
    let names = text.get(..word(value).1).unwrap_or_default();
    let is_name = |name: &&[u8]| names.strip_suffix(*name).is_some_and(begins_word);
    value < end && NETRC.iter().any(is_name)
}

/// Returns whether the text is that of a command `curl` up to one of its options. At the beginning of a text, an option has
/// no command before it.
fn is_option_of_curl(text: &[u8]) -> bool {
    if text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'')) {
        return true;
    }
    let mut end = text.len();
    for _ in 0..COMMANDS {
        let Some(at) = memmem::rfind(text.get(..end).unwrap_or_default(), b"curl") else {
            return false;
        };
        let (before, command) = text.split_at(at);
        let command = command.get(4..).unwrap_or_default();
        let arguments = command.strip_prefix(b".exe").unwrap_or(command);
        if begins_word(before) && begins_arguments(arguments) && !ends_command(arguments) {
            return true;
        }
        end = at;
    }
    false
}

/// Returns whether the arguments of a command may begin here, which are separate strings in a list.
fn begins_arguments(text: &[u8]) -> bool {
    match text {
        [b'"' | b'\'', rest @ ..] | [b'\\', b'"', rest @ ..] => {
            matches!(rest.first(), Some(b',' | b' '))
        }
        [first, ..] => matches!(first, b' ' | b'\t' | b'\\' | b'\n' | b'\r'),
        [] => false,
    }
}

/// Returns whether a command ends in a text of its arguments: outside quotes, at a line end without a sign that continues
/// it, and at the signs of a shell.
fn ends_command(text: &[u8]) -> bool {
    let (mut quote, mut at) = (None, 0);
    while let Some(byte) = text.get(at).copied() {
        let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
        let next = text.get(at + 1).copied();
        let is_free = next.is_none_or(|next| next.is_ascii_whitespace());
        // A line end that is spelled as an escape.
        let is_escaped_end = byte == b'\\' && matches!(next, Some(b'n' | b'r'));
        at += 1;
        if let Some(open) = quote {
            if byte == open && before != Some(b'\\') {
                quote = None;
            }
            continue;
        }
        match byte {
            b'"' | b'\'' if !before.is_some_and(|before| before.is_ascii_alphanumeric()) => {
                quote = Some(byte);
            }
            b'\n' | b'\r' | b'\\' if byte != b'\\' || is_escaped_end => {
                let line = text.get(..at - 1).unwrap_or_default();
                if !matches!(line.last(), Some(b'\\' | b'^' | b'`' | b'\r')) {
                    return true;
                }
                at += usize::from(byte == b'\\');
            }
            b';' | b'|' if is_free => return true,
            b'&' if is_free && before != Some(b'>') => return true,
            b')' => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Earlier, has_context};
    use crate::secrets::kinds::Context;
    use crate::secrets::resolve::TextForm;

    /// Checks a context in one piece, and divided at every position.
    fn check(context: Context, text: &str, expected: bool) {
        for (at, _) in text.char_indices() {
            let (earlier, text) = text.split_at(at);
            let bytes = earlier.as_bytes();
            let found =
                has_context(context, Earlier { bytes, form: TextForm::Plain }, text.as_bytes());
            assert_eq!(found, expected, "{earlier:?} and {text:?}");
        }
        assert_eq!(has_context(context, Earlier::NONE, text.as_bytes()), expected, "{text:?}");
    }

    #[test]
    fn options_of_curl_come_after_it_in_the_same_command() {
        for (text, is_of_curl) in [
            ("curl ", true),
            ("curl\t", true),
            ("+ /usr/bin/curl.exe -sS -X POST ", true),
            ("sudo time curl -H 'Accept: a; q=1' ", true),
            ("curl -d '{\n \"a\": \"b\"\n}' ", true),
            ("curl \\\n  https://example.org \\\n  ", true),
            ("curl \\\r\n  ", true),
            ("curl ^\r\n  ", true),
            (r"curl \\n  -X GET ", true),
            ("curl 'https://example.org?a=1&b=2' ", true),
            ("curl https://example.org?a=1&b=2 ", true),
            (r#"["curl", "-sS", ""#, true),
            (r#"\"curl\", \""#, true),
            (r"x\ncurl ", true),
            ("docker run x curl ", true),
            ("", true),
            ("  \"", true),
            ("docker run ", false),
            ("curl x; docker run ", false),
            ("curl x | sort ", false),
            ("curl x && sudo ", false),
            ("curl x\nsudo ", false),
            (r"curl x\nsudo ", false),
            ("$(curl x) ", false),
            ("libcurl ", false),
            ("curl-config ", false),
            ("curl_x ", false),
            ("wget ", false),
        ] {
            check(Context::Curl, text, is_of_curl);
        }
    }

    #[test]
    fn passwords_follow_options_and_logins() {
        for (text, expected) in [
            ("x --", true),
            ("--db-", true),
            ("x\n-", true),
            (r"x\n--", true),
            ("\"--admin-", true),
            ("one-time-", false),
            ("the ", false),
            ("x/--", false),
        ] {
            check(Context::Option, text, expected);
        }
        for (text, expected) in [
            ("machine example.org login mira ", true),
            ("machine example.org ", true),
            ("machine example.org\n  login mira\n  ", true),
            (r"machine example.org\n\tlogin mira\n\t", true),
            ("\"login mira@example.org\t", true),
            ("login mira account x ", true),
            ("login ", false),
            ("relogin mira ", false),
            ("the new ", false),
            ("", false),
        ] {
            check(Context::Netrc, text, expected);
        }
    }
}
