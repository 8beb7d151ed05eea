//! Compiles the rules on the filtered document: `text_filter`, `redact` and `compact`.

use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind};
use tamis_json::key;
use tamis_json::path::trie::Trie;
use tamis_json::regex_budget::RegexBudget;
use tamis_text::secrets::SecretRules;

use super::items::trie_of;
use super::rule_paths::refuse_in;
use crate::filter::patterns::{TextProgram, compile_text, secret_rules};
use crate::filter::templates::{TemplateError, TemplatePart, Templates};
use crate::spec::Compact;
use crate::spec::{Encode, Spec, Whitespace};

/// The compiled rules on the filtered document.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputRules {
    pub(in crate::filter) text: Option<TextProgram>,
    pub(in crate::filter) compact: Option<Arc<Templates>>,
    pub(in crate::filter) redact: Option<Arc<RedactRules>>,
}

/// The compiled rule `redact`.
#[derive(Clone, Debug)]
pub(crate) struct RedactRules {
    /// The paths in an item as it is written.
    pub(in crate::filter) paths: Trie,
    /// The paths in an item of the document, which also has the names that `select` replaces.
    pub(in crate::filter) source_paths: Trie,
    /// The string that replaces a value.
    pub(in crate::filter) mark: Vec<u8>,
    pub(in crate::filter) secrets: Option<SecretRules>,
}

/// The text that replaces a value at a path.
const REDACTED: &str = "[redacted]";

impl RedactRules {
    fn compile(spec: &Spec, allowance: &mut RegexBudget) -> Result<Option<Arc<Self>>, Error> {
        let Some(redact) = spec.redact.as_ref().filter(|redact| !redact.is_nothing()) else {
            return Ok(None);
        };
        let paths = trie_of("redact", &redact.paths, spec.envelope, allowance)?;
        let Some(source) = spec.redacted_from_source(false) else {
            let message = "redact: the paths are too many in the names of the document";
            return Err(Error::new(ErrorKind::Spec, message));
        };
        Ok(Some(Arc::new(Self {
            paths,
            source_paths: trie_of("redact", &source, spec.envelope, &mut RegexBudget::new())?,
            mark: key::quote(redact.with.as_deref().unwrap_or(REDACTED)),
            secrets: secret_rules(redact, allowance)?,
        })))
    }

    /// Returns the rule for a document of which nothing is selected.
    fn of_source(&self) -> Self {
        Self { paths: self.source_paths.clone(), ..self.clone() }
    }
}

impl OutputRules {
    /// Compiles the rules of a spec on the filtered document.
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        if spec.whitespace == Whitespace::Keep && spec.shapes_output() {
            let message = "`whitespace: keep` cannot be combined with omit_base64_over, text_filter, redact, budget, compact, encode or `omitted: mark`, whose output is minified";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        if spec.compact.is_some() && spec.encode != Encode::Json {
            let message = "`encode` cannot be combined with `compact`, which writes text";
            return refuse_in("encode", 0, true, message.into());
        }
        Ok(Self {
            redact: RedactRules::compile(spec, allowance)?,
            text: match &spec.text_filter {
                None => None,
                Some(filter) => Some(compile_text(filter, allowance)?),
            },
            compact: match &spec.compact {
                None => None,
                Some(compact) => Some(Arc::new(compile_compact(compact, spec.foreign, allowance)?)),
            },
        })
    }
}

impl OutputRules {
    /// Returns the rules for the response of a failed call: without the summary of items, and for the document's own
    /// names.
    pub(in crate::filter) fn failed(&self) -> Self {
        Self {
            redact: self.redact.as_ref().map(|redact| Arc::new(redact.of_source())),
            text: self.text.clone(),
            compact: None,
        }
    }
}

impl OutputRules {
    /// Returns the rules for raw output.
    pub(in crate::filter) fn raw(&self) -> Self {
        let redact = self.redact.as_ref().map(|redact| Arc::new(redact.of_source()));
        Self { redact, text: None, compact: None }
    }
}

impl OutputRules {
    /// Returns the error of a name in the header or footer that never has a value.
    pub(in crate::filter) fn unknown_name(&self, spec: &Spec) -> Option<Error> {
        let unknown = self.compact.as_ref()?.unknown()?;
        let compact = spec.compact.as_ref()?;
        Some(in_compact(&unknown, compact))
    }
}

/// Compiles templates. `foreign`: the templates are another system's, where an unknown name is not an error.
fn compile_compact(
    compact: &Compact,
    foreign: bool,
    allowance: &mut RegexBudget,
) -> Result<Templates, Error> {
    let Compact { header, item, footer } = compact;
    let compiled = Templates::compile_within(header.as_deref(), item, footer.as_deref(), allowance);
    let known = compiled.and_then(|templates| match templates.unknown().filter(|_| !foreign) {
        Some(unknown) => Err(unknown),
        None => Ok(templates),
    });
    known.map_err(|error| in_compact(&error, compact))
}

/// Returns the error with its place in the spec's templates.
fn in_compact(error: &TemplateError, compact: &Compact) -> Error {
    let template = match error.part() {
        TemplatePart::Header => compact.header.as_deref(),
        TemplatePart::Item => Some(compact.item.as_str()),
        TemplatePart::Footer => compact.footer.as_deref(),
    };
    error.in_spec(template.unwrap_or_default())
}
