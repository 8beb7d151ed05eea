//! The templates of `compact`, which are another package: with the feature `template` those, without it types that cannot
//! render, so that nothing else has to know about the feature.

#[cfg(not(feature = "template"))]
pub(super) use off::{TemplateError, TemplatePart, Templates, Totals};
#[cfg(feature = "template")]
pub(super) use tamis_template::{TemplateError, TemplatePart, Templates, Totals};

#[cfg(not(feature = "template"))]
mod off {
    use std::convert::Infallible;

    use tamis_json::error::{Error, ErrorKind};
    use tamis_json::regex_budget::RegexBudget;

    /// Compiled templates, of which no value exists.
    #[derive(Debug)]
    pub(in crate::filter) struct Templates(Infallible);

    impl Templates {
        pub(in crate::filter) fn compile_within(
            _: Option<&str>,
            _: &str,
            _: Option<&str>,
            _: &mut RegexBudget,
        ) -> Result<Self, TemplateError> {
            Err(TemplateError)
        }

        pub(in crate::filter) fn unknown(&self) -> Option<TemplateError> {
            match self.0 {}
        }

        pub(in crate::filter) fn header(
            &self,
            _: &Totals,
            _: usize,
            _: &mut Vec<u8>,
        ) -> Result<bool, TemplateError> {
            match self.0 {}
        }

        pub(in crate::filter) fn read(
            &self,
            _: &[u8],
            _: u64,
        ) -> Result<Option<Infallible>, TemplateError> {
            match self.0 {}
        }

        pub(in crate::filter) fn read_item(
            &self,
            _: Infallible,
            _: &Totals,
            _: usize,
            _: &mut Vec<u8>,
        ) -> Result<bool, TemplateError> {
            match self.0 {}
        }

        pub(in crate::filter) fn footer(
            &self,
            _: &Totals,
            _: usize,
            _: &mut Vec<u8>,
        ) -> Result<bool, TemplateError> {
            match self.0 {}
        }
    }

    /// The counts that templates would see.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::filter) struct Totals;

    impl Totals {
        pub(in crate::filter) fn new(_: u64, _: u64) -> Self {
            Self
        }
    }

    /// The error of every template.
    #[derive(Debug)]
    pub(in crate::filter) struct TemplateError;

    impl TemplateError {
        pub(in crate::filter) fn part(&self) -> TemplatePart {
            TemplatePart::Item
        }

        pub(in crate::filter) fn in_spec(&self, _: &str) -> Error {
            Error::new(ErrorKind::Spec, self.to_string())
        }
    }

    impl std::fmt::Display for TemplateError {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("`compact` needs tamis built with the feature `template`")
        }
    }

    /// The part of a summary that a template writes.
    #[derive(Clone, Copy, Debug)]
    #[expect(dead_code, reason = "nothing is rendered")]
    pub(in crate::filter) enum TemplatePart {
        Header,
        Item,
        Footer,
    }
}
