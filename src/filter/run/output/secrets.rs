//! The stage that replaces credentials and patterns in strings and keys.

use tamis_json::error::Error;

use super::facts::OutputFacts;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::report::{Report, add_counts};
use tamis_text::secrets::{SecretRules, SecretSearch, TextForm};

/// The stage. The search is created for each document.
#[derive(Debug)]
pub(super) struct SecretsStage {
    rules: SecretRules,
    search: Option<SecretSearch>,
}

impl SecretsStage {
    pub(super) fn new(rules: SecretRules) -> Self {
        Self { rules, search: None }
    }
}

impl Stage for SecretsStage {
    fn restart(&mut self) {
        self.search = None;
    }

    fn begin(&mut self, _: &RootPath, _: &mut OutputFacts) {
        self.search = Some(self.rules.filter(TextForm::Json));
    }

    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        if let Some(search) = &mut self.search {
            search.write(bytes, next);
        }
        Ok(())
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if let Some(search) = &mut self.search {
            search.end(next);
        }
        Ok(())
    }

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        if let Some(search) = self.search.as_ref().filter(|_| report.error.is_none()) {
            add_counts(&mut report.redacted, &search.found());
        }
    }
}
