//! Values that are personal data: a tight filter selects none of them.

use tamis_text::secrets::{SecretRules, SecretSearch, TextForm, personal_patterns};

/// Finds out whether texts have e-mail addresses, phone numbers, or the numbers of persons and their accounts.
#[derive(Debug)]
pub(super) struct PersonalFinder(SecretSearch);

impl PersonalFinder {
    pub(super) fn new() -> Self {
        let mut patterns = personal_patterns();
        // In most responses this is the address of a machine.
        patterns.retain(|pattern| pattern.name != "ip-address");
        let rules = SecretRules { built_in: None, patterns: Some(patterns.into()), marks: None };
        Self(rules.filter(TextForm::Plain))
    }

    /// Returns whether a text has personal data.
    pub(super) fn finds(&mut self, text: &[u8]) -> bool {
        let count = |search: &SecretSearch| search.found().values().sum::<u64>();
        let (before, mut output) = (count(&self.0), Vec::new());
        self.0.write(text, &mut output);
        self.0.end(&mut output);
        count(&self.0) > before
    }
}
