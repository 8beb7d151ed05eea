//! Patterns and filters of text, which need regex: with the feature `text` they are those of tamis-text, without it types of
//! which no value exists, so that nothing else has to know about the feature.

#[cfg(not(feature = "text"))]
pub(super) use off::{Pattern, TextProgram, compile_text, secret_rules};
#[cfg(feature = "text")]
pub(super) use on::{Pattern, TextProgram, compile_text, secret_rules};

#[cfg(feature = "text")]
mod on {
    use tamis_json::error::Error;
    use tamis_json::regex_budget::RegexBudget;
    use tamis_text::lines::rule_ops::RuleOperations;
    use tamis_text::secrets::SecretRules;

    use crate::spec::{Redact, TextSpec};
    pub(in crate::filter) use crate::text::TextProgram;

    /// A compiled pattern of a condition.
    #[derive(Clone, Debug)]
    pub(in crate::filter) struct Pattern(regex::bytes::Regex);

    impl Pattern {
        /// Compiles the pattern of the condition with this number.
        pub(in crate::filter) fn compile(
            entry: usize,
            pattern: &str,
            allowance: &mut RegexBudget,
        ) -> Result<Self, Error> {
            tamis_text::lines::value_pattern(entry, pattern, allowance).map(Self)
        }

        pub(in crate::filter) fn is_match(&self, text: &[u8]) -> bool {
            self.0.is_match(text)
        }
    }

    /// Compiles the rules of a text filter.
    pub(in crate::filter) fn compile_text(
        filter: &TextSpec,
        allowance: &mut RegexBudget,
    ) -> Result<TextProgram, Error> {
        TextProgram::compile_with(filter, &RuleOperations::default(), allowance)
    }

    /// Compiles what the output is searched for, if it is.
    pub(in crate::filter) fn secret_rules(
        redact: &Redact,
        allowance: &mut RegexBudget,
    ) -> Result<Option<SecretRules>, Error> {
        let rules = tamis_text::secret_rules(redact, allowance)?;
        Ok(redact.searches().then_some(rules))
    }
}

#[cfg(not(feature = "text"))]
mod off {
    use std::convert::Infallible;

    use tamis_json::error::{Error, ErrorKind};
    use tamis_json::regex_budget::RegexBudget;
    use tamis_text::secrets::SecretRules;

    use crate::filter::compile::rule_paths::refuse_in;
    use crate::spec::{Redact, SecretLevel, TextSpec};

    /// A compiled pattern of a condition.
    #[derive(Clone, Debug)]
    pub(in crate::filter) struct Pattern(Infallible);

    impl Pattern {
        pub(in crate::filter) fn compile(
            entry: usize,
            _: &str,
            _: &mut RegexBudget,
        ) -> Result<Self, Error> {
            let message = "where: `matches` requires the feature `text`".to_owned();
            refuse_in("where", entry, false, message)
        }

        pub(in crate::filter) fn is_match(&self, _: &[u8]) -> bool {
            match self.0 {}
        }
    }

    /// The rules of a text filter.
    #[derive(Clone, Debug)]
    pub(in crate::filter) struct TextProgram(Infallible);

    pub(in crate::filter) fn compile_text(
        _: &TextSpec,
        _: &mut RegexBudget,
    ) -> Result<TextProgram, Error> {
        let message = "`text_filter` needs tamis built with the feature `text`";
        Err(Error::new(ErrorKind::Spec, message))
    }

    /// Returns what the output is searched for, if it is. Patterns and personal data need the feature.
    pub(in crate::filter) fn secret_rules(
        redact: &Redact,
        _: &mut RegexBudget,
    ) -> Result<Option<SecretRules>, Error> {
        if !redact.patterns.is_empty() || redact.personal {
            let message =
                "redact: `patterns` and `personal` need tamis built with the feature `text`";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        Ok(redact.secrets.map(|level| match level {
            SecretLevel::Aggressive => SecretRules::aggressive(),
            SecretLevel::Known => SecretRules::built_in(),
        }))
    }
}
