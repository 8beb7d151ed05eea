//! Finds credentials in text and replaces them (SPEC §8.2).
//!
//! A secret has the shape of one of the built-in `kinds`: a beginning that its issuer chose, followed by characters of a
//! certain number and class. A filter searches the text with vector instructions for long words that have such a beginning
//! (`search`) and compares the shape only where one was found (`shape`). Everything else is copied.
//!
//! ```text
//! bytes ─▶ blocks of 16 or 64 KiB ─▶ search ──no place──▶ sink
//!                                      │ a place      ▲
//!                                      └─▶ decode ─▶ compare ─┘ the text, or `[redacted:KIND]`
//! ```
//!
//! `filter` reads plain text and JSON texts; `places` looks at what the search finds. In JSON, a secret is looked for
//! inside each string, after its escapes are resolved (`decode`); the rest of a string with a secret keeps its spelling. A
//! key that has a secret is replaced as a whole, and numbered if its object has several (`keys`). Escapes that the text
//! itself spells, as JSON in a string or in a log does, are resolved, too (`resolve`). A word also begins after one that
//! is not, such as `\n` (`before`). A few kinds need the command or the words before them (`before_text`). The signs of a URL in a query are percent-encoded (`percent`).
//!
//! `table` has the kinds, together with `table_clouds` and others. Some secrets have no shape of their own, but a name before them (`names`); of others, the end
//! is not in sight (`rest`), or its lines are apart (`key_lines`, `key_list`).
//!
//! The patterns of a user apply after that (`patterns`). `rules` joins both searches. `marks` numbers personal data.

mod before;
mod before_text;
mod checksums;
mod contacts;
#[cfg(test)]
mod contexts;
mod decode;
mod encoded;
mod filter;
mod fingerprints;
mod key_lines;
mod key_list;
mod keys;
mod kinds;
mod makers;
mod marks;
mod names;
mod patterns;
mod percent;
mod personal;
mod places;
mod resolve;
mod rest;
mod rules;
#[cfg(test)]
mod sample_text;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod samples_more;
mod search;
mod shape;
mod strings;
mod table;
mod table_clouds;
mod table_files;
mod table_models;
mod table_services;
#[cfg(test)]
mod tests;
mod words;

pub use kinds::SecretLevel;
pub use marks::MarkTable;
pub use patterns::{Expression, Pattern};
pub use personal::personal_patterns;
pub use resolve::TextForm;
pub use rules::{SecretRules, SecretSearch};

/// Finds out whether texts have credentials.
#[derive(Debug)]
pub struct SecretFinder(filter::SecretFilter);

impl SecretFinder {
    /// Creates a finder for plain text.
    #[must_use]
    pub fn new() -> Self {
        Self(filter::SecretFilter::new(TextForm::Plain))
    }

    /// Returns whether a text has a credential.
    pub fn finds(&mut self, text: &[u8]) -> bool {
        let count = |filter: &filter::SecretFilter| filter.found().values().sum::<u64>();
        let (before, mut output) = (count(&self.0), Vec::new());
        self.0.write(text, &mut output);
        self.0.end(&mut output);
        count(&self.0) > before
    }
}

impl Default for SecretFinder {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the names of the built-in kinds, in the order in which they are tried.
#[must_use]
pub fn kind_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for kind in table::KINDS {
        if !names.contains(&kind.name) {
            names.push(kind.name);
        }
    }
    names
}
