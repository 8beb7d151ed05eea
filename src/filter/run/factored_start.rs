//! Decides from the first bytes of a text whether it is a factored document.

use tamis_json::key::unescape;

/// The bytes without white space that decide: a brace, and the longest spelling of the name.
const DECIDING: usize = 2 + 6 * NAME.len() + 1;
/// The name of the first member of a factored document.
const NAME: &[u8] = b"_factored";

/// The kind of an input, known from its first bytes.
pub(super) enum Decision {
    Open,
    Factored,
    Other,
}

/// Returns the kind of an input by its first bytes, without white space before the first name. Called for each byte.
pub(super) fn decision(first: &[u8]) -> Decision {
    let is_possible = match first {
        [b'{'] | [b'{', b'"'] => true,
        [b'{', b'"', name @ ..] => {
            let escapes = name.iter().rev().skip(1).take_while(|byte| **byte == b'\\').count();
            if name.len() > 1 && name.ends_with(b"\"") && escapes % 2 == 0 {
                let name = unescape(name.get(..name.len() - 1).unwrap_or_default());
                let is_factored = name.is_some_and(|name| name == NAME);
                return if is_factored { Decision::Factored } else { Decision::Other };
            }
            matches!(name.first(), Some(b'_' | b'\\'))
        }
        _ => false,
    };
    if is_possible && first.len() <= DECIDING { Decision::Open } else { Decision::Other }
}
