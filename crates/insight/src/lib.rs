//! Insight into payloads and filters: what is in a document, which filter fits it, and what a filter did to it.
//!
//! **Internal: no stable API.** The commands `look`, `suggest`, `why` and `audit` of [tamis](https://docs.rs/tamis) are made of
//! it. It is deliberately no part of a filter: nothing here changes a document.
//!
//! | module | for |
//! |---|---|
//! | [`look`] | the bytes and tokens of a document per path, of a chat per tool, of a text per kind of line |
//! | [`misspelled`] | paths of a filter whose names are probably misspelled |
//! | [`sensitive`] | which credentials and personal data are in a document, and where |
//! | [`suggest`] | a filter that samples suggest, and whether samples still fit a filter |
//! | [`why`] | which rule of a filter removed which bytes, per rule and path |
//! | [`audit`] | attacks a filter with hostile documents, to find what it lets through |

pub mod audit;
pub mod look;
pub mod misspelled;
pub mod sensitive;
pub mod suggest;
pub mod why;

/// Returns whether a character is not shown itself or changes how others are shown: a control character, a line separator,
/// or a mark of the direction of text.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
