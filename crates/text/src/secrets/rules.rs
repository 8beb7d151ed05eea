//! The rules of a search, and the filter that applies all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tamis_json::sink::Sink;

use super::filter::SecretFilter;
use super::kinds::SecretLevel;
use super::marks::MarkTable;
use super::patterns::{Pattern, PatternFilter};
use super::resolve::TextForm;

/// The rules of a search.
#[derive(Clone, Debug)]
pub struct SecretRules {
    /// The built-in kinds, as many of them as this level has.
    pub built_in: Option<SecretLevel>,
    /// The patterns of the user.
    pub patterns: Option<Arc<[Pattern]>>,
    /// The numbers of personal data.
    pub marks: Option<MarkTable>,
}

impl SecretRules {
    /// Looks for the built-in kinds.
    pub fn built_in() -> Self {
        Self { built_in: Some(SecretLevel::Known), patterns: None, marks: None }
    }

    /// Looks for the built-in kinds, and for random text after any name of a key.
    pub fn aggressive() -> Self {
        Self { built_in: Some(SecretLevel::Aggressive), patterns: None, marks: None }
    }

    /// Sets the table with the numbers of personal data.
    pub fn with_marks(mut self, marks: Option<&MarkTable>) -> Self {
        self.marks = marks.cloned();
        self
    }

    /// Returns the filter for a text of this form.
    pub fn filter(&self, form: TextForm) -> SecretSearch {
        let mut search = SecretSearch {
            built_in: self.built_in.map(|level| SecretFilter::new(form).with_level(level)),
            patterns: self.patterns.clone().map(|patterns| PatternFilter::new(form, patterns)),
        };
        search.set_marks(self.marks.as_ref());
        search
    }
}

/// Replaces everything that is looked for in one text after the other: first credentials, then what patterns match, so that
/// no pattern can take a credential apart.
#[derive(Debug)]
pub struct SecretSearch {
    built_in: Option<SecretFilter>,
    patterns: Option<PatternFilter>,
}

impl SecretSearch {
    /// Sets the table with the numbers of personal data, before the first byte.
    pub fn set_marks(&mut self, marks: Option<&MarkTable>) {
        if let Some(patterns) = &mut self.patterns {
            patterns.set_marks(marks.cloned());
        }
    }

    /// Reads the next bytes of the text.
    pub fn write(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        let (built_in, mut rest) = self.parts(sink);
        match built_in {
            Some(built_in) => built_in.write(bytes, &mut rest),
            None => rest.write(bytes),
        }
    }

    /// Writes what is held, except for what may be the beginning of a secret: no input has arrived for a while. Plain text
    /// only.
    pub fn release(&mut self, sink: &mut dyn Sink) {
        let (built_in, mut rest) = self.parts(sink);
        if let Some(built_in) = built_in {
            built_in.release(&mut rest);
        }
        if let Some(patterns) = &mut self.patterns {
            patterns.release(sink);
        }
    }

    /// Ends the text and writes everything. The next text may follow.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        let (built_in, mut rest) = self.parts(sink);
        if let Some(built_in) = built_in {
            built_in.end(&mut rest);
        }
        if let Some(patterns) = &mut self.patterns {
            patterns.end(sink);
        }
    }

    /// Returns how much of each kind was replaced.
    pub fn found(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        if let Some(built_in) = &self.built_in {
            found.extend(built_in.found().iter().map(|(kind, count)| ((*kind).to_owned(), *count)));
        }
        if let Some(patterns) = &self.patterns {
            found.extend(patterns.found().clone());
        }
        found
    }

    /// Returns the first search, and the second one with the sink after it.
    fn parts<'a>(&'a mut self, sink: &'a mut dyn Sink) -> (Option<&'a mut SecretFilter>, Rest<'a>) {
        let rest = Rest { patterns: self.patterns.as_mut(), sink };
        (self.built_in.as_mut(), rest)
    }
}

/// The reader of the output of the first search.
struct Rest<'a> {
    patterns: Option<&'a mut PatternFilter>,
    sink: &'a mut dyn Sink,
}

impl Sink for Rest<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(patterns) = &mut self.patterns {
            return patterns.write(bytes, self.sink);
        }
        self.sink.write(bytes);
    }
}
