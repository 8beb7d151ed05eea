//! The filter of one tool, with everything that the proxy has to know about it.

use tamis::text::TextProgram;
use tamis::{Error, Program, Spec};

use super::facts::SpecFacts;
use super::profile::Profile;
use crate::mcp::RuleSource;

/// Whether a result keeps its `structuredContent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// It is filtered, like the text.
    Keep,
    /// It is removed together with the schema in the listing, so that clients show the text.
    Drop,
}

/// What is stored of a result that something was cut from.
#[derive(Clone, Debug)]
pub(crate) enum StoredForm {
    /// Nothing.
    Nothing,
    /// The result as it came.
    Source,
    /// The output of this program: the result without what was removed for safety.
    Program(Program),
}

/// The compiled filter of a tool.
///
/// A tool may have several programs, which are applied one after the other.
#[derive(Clone, Debug)]
pub struct ToolFilter {
    pub(crate) source: RuleSource,
    pub(crate) programs: Vec<Program>,
    pub(crate) text: Option<TextProgram>,
    pub(crate) stored: StoredForm,
    pub(crate) structured: Structured,
    /// Whether text that is not JSON passes beside a structured result, or without one, although the filter removes for
    /// safety.
    pub(crate) keeps_text: bool,
    /// Whether the messages of failed calls pass, although the filter removes for safety.
    pub(crate) keeps_error_text: bool,
    /// Whether the filter fails closed.
    pub(crate) removes_for_safety: bool,
    /// The parameters that the tool takes in addition to its own.
    pub(crate) parameters: Parameters,
    /// The most tokens of a whole result.
    pub(crate) max_tokens: Option<u64>,
    /// Whether the results keep every value, so that they still fit the schema in the listing.
    pub(crate) keeps_everything: bool,
    /// Whether a text is dropped that only repeats the structured result.
    pub(crate) drops_copies: bool,
    /// Whether rules are skipped for the result of a failed call.
    pub(crate) minds_errors: bool,
    /// Why no result passes, if the rules cannot be used.
    pub(crate) refuses: Option<&'static str>,
}

/// The parameters that a filtered tool takes in addition to its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// `_output_mode`.
    pub(crate) raw: bool,
    /// `_budget`.
    pub(crate) budget: bool,
}

impl ToolFilter {
    /// Compiles the filter of a manifest or of the catalog.
    pub(crate) fn own(program: &Program, source: RuleSource) -> Result<Self, Error> {
        let spec = program.spec();
        let facts = SpecFacts::of(spec);
        // Filters of the catalog only save, whatever rules they use.
        let removes = match source {
            RuleSource::Catalog => facts.says_closed,
            RuleSource::Manifest | RuleSource::Profile => facts.removes_for_safety,
        };
        let text = facts.text.as_ref().map(TextProgram::compile).transpose()?;
        let offered = spec.reserved_parameters();
        let names: Vec<&str> =
            offered.iter().flat_map(|all| all.iter()).map(|parameter| parameter.name()).collect();
        let raw = names.contains(&"_output_mode") && (!removes || facts.allow_raw == Some(true));
        Ok(Self {
            source,
            programs: vec![program.clone()],
            text,
            stored: stored_form(&facts)?,
            structured: if facts.renders { Structured::Drop } else { Structured::Keep },
            keeps_text: false,
            keeps_error_text: false,
            removes_for_safety: removes,
            parameters: Parameters { raw, budget: names.contains(&"_budget") },
            max_tokens: None,
            keeps_everything: offered.is_none() && facts.extract.is_none(),
            drops_copies: false,
            minds_errors: true,
            refuses: None,
        })
    }

    /// Compiles a profile. Returns `None` for [`Profile::Off`].
    pub(crate) fn of_profile(profile: Profile) -> Result<Option<Self>, Error> {
        if profile == Profile::Off {
            return Ok(None);
        }
        let keeps_everything = profile.keeps_everything();
        Ok(Some(Self {
            source: RuleSource::Profile,
            programs: vec![Program::compile(&profile.spec())?],
            text: None,
            stored: if keeps_everything { StoredForm::Nothing } else { StoredForm::Source },
            structured: Structured::Keep,
            keeps_text: true,
            keeps_error_text: true,
            removes_for_safety: false,
            parameters: Parameters::default(),
            max_tokens: profile.max_tokens(),
            keeps_everything,
            drops_copies: true,
            minds_errors: false,
            refuses: None,
        }))
    }

    /// Returns a filter that withholds every result, for rules that cannot be used.
    pub(crate) fn refusing(reason: &'static str) -> Self {
        Self {
            source: RuleSource::Manifest,
            programs: Vec::new(),
            text: None,
            stored: StoredForm::Nothing,
            structured: Structured::Keep,
            keeps_text: false,
            keeps_error_text: false,
            removes_for_safety: true,
            parameters: Parameters::default(),
            max_tokens: None,
            keeps_everything: false,
            drops_copies: false,
            minds_errors: true,
            refuses: Some(reason),
        }
    }

    /// Returns whether the filter was written for this tool.
    pub(crate) fn is_own(&self) -> bool {
        self.source != RuleSource::Profile
    }
}

/// Returns what is stored of a result. A filter that removes for safety stores nothing until the form without what it
/// removes can be derived.
fn stored_form(facts: &SpecFacts) -> Result<StoredForm, Error> {
    if facts.removes_for_safety {
        return Ok(StoredForm::Nothing);
    }
    match &facts.extract {
        None => Ok(StoredForm::Source),
        Some(path) => Program::compile(&Spec::new().extract(path)).map(StoredForm::Program),
    }
}
