//! The parts that the tables of kinds share: kinds of the usual forms, and classes of characters of several kinds.

use super::kinds::Part;
use super::kinds::{ALNUM, Class, Context, Kind, Needs, TOKEN, TOKEN68, WORD, class};

/// A kind whose anchors begin a word.
pub(super) const fn kind(
    name: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    Kind {
        name,
        anchors,
        not_after: WORD,
        only_after: 0,
        in_base64: false,
        parts,
        needs: Needs::Nothing,
        context: Context::Any,
        by_name: false,
        only_on_request: false,
        names: &[],
    }
}

/// A kind whose anchors are short words, which names of files, images and caches also have after a hyphen and before a
/// hash: `svc-fc-…`, `libfoo-as-….so`.
pub(super) const fn short(
    name: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    Kind { not_after: TOKEN, ..kind(name, anchors, parts) }
}

/// A kind of [`short`] whose secrets have no sign in them, so that a name of the same length could be one.
pub(super) const fn short_named(
    name: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    Kind { needs: Needs::NoWords, ..short(name, anchors, parts) }
}

/// A kind whose secrets have no sign in them, so that a name of the same length could be one.
pub(super) const fn named(
    name: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    Kind { needs: Needs::NoWords, ..kind(name, anchors, parts) }
}

/// A kind of token that has nothing at its beginning, but this text at this position (`long_text`).
pub(super) const fn marked(
    name: &'static str,
    at: usize,
    text: &'static [u8],
    parts: &'static [Part],
) -> Kind {
    Kind { needs: Needs::Text(at, text), ..kind(name, &[""], parts) }
}

/// A kind whose secret has no shape of its own, but a name before it.
pub(super) const fn announced(
    name: &'static str,
    names: &'static [&'static str],
    parts: &'static [Part],
    needs: Needs,
) -> Kind {
    Kind { names, needs, ..kind(name, &[], parts) }
}

/// The signs between a name and its value.
pub(super) const BETWEEN: Class = class(b" \t\"'=:\\>|");
/// The characters of passwords after a name. Others end them.
pub(super) const PASSWORD_SIGNS: Class = ALNUM | class(b"!#$%*+-./=?@^_~");
/// The characters of tokens after a name, and what may follow them. The sign after a name is not among them, so that no text
/// is compared more often than once.
pub(super) const TOKEN_SIGNS: Class = TOKEN68 & !PADDING;
pub(super) const PADDING: Class = class(b"=");
/// The characters with which the value of a variable, a template or a path begins.
pub(super) const NO_VALUE: Class = class(b"$%*./#!?");
/// The characters after a value that show that it is a part of an expression, an address or a template.
pub(super) const EXPRESSION: Class = class(b"([{:$");
