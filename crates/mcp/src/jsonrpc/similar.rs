//! Names that some parsers take for other ones.
//!
//! The package `encoding/json` of Go compares names without regard to case: a server that is written with it takes
//! `"Method"` for the method. So a message with such a name means different things to different readers.

use std::ops::Range;

use super::members::members;
use crate::spool::{Spool, SpoolError};

/// The most members of an object that are compared.
const MOST: usize = 256;

/// Returns whether a container in a message has a name that is similar to a known one but not equal, or more members than
/// are compared.
pub(crate) fn has_similar_name(
    message: &Spool,
    container: &Range<u64>,
    known: &[&str],
) -> Result<bool, SpoolError> {
    let members = members(message, container, MOST)?;
    let names = || members.iter().filter_map(|member| member.name.as_deref());
    Ok(members.len() >= MOST || names().any(|name| is_similar(name, known)))
}

fn is_similar(name: &str, known: &[&str]) -> bool {
    !known.contains(&name) && known.iter().any(|known| fold(name).eq(fold(known)))
}

/// Folds letters as Go does: to lower case, with the two other characters whose upper or lower case is in ASCII.
fn fold(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().map(|char| match char {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        char => char.to_ascii_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::has_similar_name;
    use crate::spool::Spool;

    #[test]
    fn names_are_compared_without_case() {
        for (text, expected) in [
            (r#"{"params": 1, "task": 2, "other": {"Params": 1}}"#, false),
            (r#"{"Params": 1}"#, true),
            (r#"{"param\u017f": 1}"#, true),
            (r#"{"tas\u212a": 1}"#, true),
            (r#"{"\u0050arams": 1}"#, true),
            ("{}", false),
        ] {
            let message = Spool::from_vec(text.as_bytes().to_vec());
            let range = 0..message.len();
            let found = has_similar_name(&message, &range, &["params", "task"]).unwrap();
            assert_eq!(found, expected, "{text}");
        }
    }
}
