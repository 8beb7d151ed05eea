//! The filter of one tool, with everything that the proxy has to know about it.

use std::sync::Arc;

use serde_json::{Map, Value};
use tamis::spec::{Redact, Retrieve};
use tamis::text::{TextProgram, TextSpec};
use tamis::{Error, Program, Spec};
use tamis_manifest::{Level, ManifestEntry, Profile, Structured, UnreadText};

use super::output_type::{OutputType, keeps_schema};
use super::profile;
use crate::record::RuleSource;

/// Keys of a spec that change no value of a document.
const HARMLESS: [&str; 6] =
    ["root", "validation", "whitespace", "duplicate_keys", "allow_raw", "on_error"];

/// Those of them under which every member is kept, also one that occurs twice.
const KEEPING: [&str; 5] = ["root", "validation", "whitespace", "allow_raw", "on_error"];

/// The form in which a result is stored if something was cut from it.
#[derive(Clone, Debug)]
pub(crate) enum StoredForm {
    /// Nothing.
    Nothing,
    /// The unfiltered result.
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
    /// The rules of the stored form, if it is the output of a program.
    stored_spec: Option<Spec>,
    pub(crate) structured: Structured,
    /// Whether text that is not JSON passes although the filter removes for safety.
    pub(crate) keeps_text: bool,
    /// Whether the messages of failed calls pass although the filter removes for safety.
    pub(crate) keeps_error_text: bool,
    /// Whether the filter fails closed.
    pub(crate) removes_for_safety: bool,
    /// The rule for text that is not JSON. In JSON, a program applies it.
    pub(crate) redacts: Option<Redact>,
    /// The parameters that the tool takes in addition to its own.
    pub(crate) parameters: Parameters,
    /// The most tokens of a whole result.
    pub(crate) max_tokens: Option<u64>,
    /// Whether the results keep every value, so that they still fit the schema in the listing.
    pub(crate) keeps_everything: bool,
    /// Whether the output is text rather than the document's own shape, so that sizes do not show whether something is
    /// missing.
    pub(crate) renders: bool,
    /// Whether what is stored is all that may be shown, so that sizes need not be compared.
    pub(crate) shows_all_that_is_stored: bool,
    /// Whether a text is dropped that only repeats the structured result.
    pub(crate) drops_copies: bool,
    /// Whether rules are skipped for the result of a failed call.
    pub(crate) minds_errors: bool,
    /// Why no result passes, if the rules cannot be used.
    pub(crate) refuses: Option<&'static str>,
    /// The level of the catalog for results of another shape.
    pub(crate) next: Option<Arc<ToolFilter>>,
    /// The type of the results, if it is known.
    pub(crate) output_type: Option<Arc<OutputType>>,
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
    /// Compiles the filter of a manifest at a level.
    pub(crate) fn own(entry: &ManifestEntry, level: Level) -> Result<Self, Error> {
        let max_tokens = entry.profile().and_then(profile::max_tokens);
        let program = match max_tokens {
            Some(tokens) => {
                &Program::compile(&profile::limited(entry.program_at(level).spec(), tokens))?
            }
            None => entry.program_at(level),
        };
        let spec = program.spec();
        let keys = keys(spec);
        let offered = spec.reserved_parameters();
        let names: Vec<&str> =
            offered.iter().flat_map(|all| all.iter()).map(|parameter| parameter.name()).collect();
        let raw = names.contains(&"_output_mode") && entry.allows_raw_for_models();
        // The search for credentials is the only rule for safety that also reads text.
        let redacts_only = spec.redacts_secrets() && !spec.removes_values_for_safety();
        let (stored, stored_spec) = stored_form(entry);
        Ok(Self {
            source: if entry.is_builtin() { RuleSource::Catalog } else { RuleSource::Manifest },
            programs: vec![program.clone()],
            text: text_rules(&keys).as_ref().map(TextProgram::compile).transpose()?,
            stored,
            stored_spec,
            structured: entry.structured(),
            keeps_text: entry.text_beside() == UnreadText::Keep || redacts_only,
            keeps_error_text: entry.error_text() == UnreadText::Keep || redacts_only,
            removes_for_safety: entry.removes_for_safety(),
            redacts: spec.searched(),
            parameters: Parameters { raw, budget: names.contains(&"_budget") },
            max_tokens,
            renders: renders(&keys),
            shows_all_that_is_stored: shows_all_that_is_stored(entry, &keys),
            keeps_everything: keys.keys().all(|key| HARMLESS.contains(&key.as_str())),
            drops_copies: false,
            minds_errors: true,
            refuses: None,
            next: None,
            output_type: match renders(&keys) {
                true => None,
                false => OutputType::of(spec, entry.output_schema()).map(Arc::new),
            },
        })
    }

    /// Compiles the rules of a manifest that remove for safety, without those that save. Nothing is cut, so that
    /// nothing is stored.
    pub(crate) fn for_safety(entry: &ManifestEntry) -> Result<Self, Error> {
        let own = Self::own(entry, Level::Careful)?;
        // The rules of a filter that fails closed belong together.
        let safe = safe_form(entry, entry.spec().default_retrieve());
        let programs = match safe {
            Some(safe) => vec![Program::compile(&safe)?],
            None => own.programs,
        };
        Ok(Self {
            programs,
            text: None,
            stored: StoredForm::Nothing,
            stored_spec: None,
            structured: Structured::Keep,
            parameters: Parameters::default(),
            max_tokens: None,
            renders: false,
            output_type: None,
            ..own
        })
    }

    /// Compiles a filter of the catalog with the rules and the limit of a profile.
    pub(crate) fn of_catalog(entry: &ManifestEntry, profile: Profile) -> Result<Self, Error> {
        let careful = Self::of_level(entry, Level::Careful, profile)?;
        match profile::level(profile) {
            Level::Tight if entry.has_levels() => {
                let tight = Self::of_level(entry, Level::Tight, profile)?;
                Ok(Self { next: Some(Arc::new(careful)), ..tight })
            }
            _ => Ok(careful),
        }
    }

    /// Compiles one level of a filter of the catalog.
    fn of_level(entry: &ManifestEntry, level: Level, profile: Profile) -> Result<Self, Error> {
        let spec = profile::with_catalog(entry.program_at(level).spec(), profile);
        let keys = keys(&spec);
        Ok(Self {
            programs: vec![Program::compile(&spec)?],
            text: text_rules(&keys).as_ref().map(TextProgram::compile).transpose()?,
            renders: renders(&keys),
            max_tokens: profile::max_tokens(profile),
            parameters: Parameters::default(),
            keeps_everything: false,
            drops_copies: true,
            output_type: None,
            ..Self::own(entry, level)?
        })
    }

    /// Compiles a profile. Returns `None` for [`Profile::Off`].
    pub(crate) fn of_profile(profile: Profile) -> Result<Option<Self>, Error> {
        let Some(spec) = profile::spec(profile) else { return Ok(None) };
        let max_tokens = profile::max_tokens(profile);
        let keeps_everything = max_tokens.is_none();
        Ok(Some(Self {
            source: RuleSource::Profile,
            programs: vec![Program::compile(&spec)?],
            text: None,
            // Also if it keeps everything: a result that is longer than clients accept is cut.
            stored: StoredForm::Source,
            stored_spec: None,
            structured: Structured::Keep,
            keeps_text: true,
            keeps_error_text: true,
            removes_for_safety: false,
            redacts: None,
            parameters: Parameters::default(),
            max_tokens,
            keeps_everything,
            renders: false,
            shows_all_that_is_stored: false,
            drops_copies: true,
            minds_errors: false,
            refuses: None,
            next: None,
            output_type: None,
        }))
    }

    /// Returns a filter that withholds every result, for rules that cannot be used.
    pub(crate) fn refusing(reason: &'static str) -> Self {
        Self {
            source: RuleSource::Manifest,
            programs: Vec::new(),
            text: None,
            stored: StoredForm::Nothing,
            stored_spec: None,
            structured: Structured::Keep,
            keeps_text: false,
            keeps_error_text: false,
            removes_for_safety: true,
            redacts: None,
            parameters: Parameters::default(),
            max_tokens: None,
            keeps_everything: false,
            renders: false,
            shows_all_that_is_stored: false,
            drops_copies: false,
            minds_errors: true,
            refuses: Some(reason),
            next: None,
            output_type: None,
        }
    }

    /// Returns whether the filter comes from the user. Others cut nothing that cannot be fetched.
    pub(crate) fn is_of_user(&self) -> bool {
        self.source == RuleSource::Manifest
    }

    /// Returns whether base64 is left out, and images in strings become blocks: by the catalog and profiles.
    pub(crate) fn leaves_out_base64(&self) -> bool {
        self.max_tokens.is_some() && !self.is_of_user() && !self.removes_for_safety
    }

    /// Returns whether what is stored has only those items that `where` keeps.
    pub(crate) fn stores_kept_items(&self) -> bool {
        self.stored_spec.as_ref().is_some_and(|form| keys(form).contains_key("where"))
    }

    /// Returns whether what is stored may lack a part of the result, apart from values whose replacement is counted.
    pub(crate) fn stores_less(&self) -> bool {
        match (&self.stored, &self.stored_spec) {
            (StoredForm::Source, _) => false,
            // Other rules remove something, such as `extract`, or `select` with `retrieve: cut`. A search counts what it replaces.
            (StoredForm::Program(_), Some(spec)) => {
                let is_known = |key: &String| key == "redact" || KEEPING.contains(&key.as_str());
                spec.removes_values_for_safety() || !keys(spec).keys().all(is_known)
            }
            (StoredForm::Program(_) | StoredForm::Nothing, _) => true,
        }
    }

    /// Returns whether results that fit a schema still fit it after the filter.
    pub(crate) fn keeps_schema(&self, schema: &Value) -> bool {
        match self.programs.as_slice() {
            [only] => keeps_schema(only.spec(), &keys(only.spec()), schema),
            _ => false,
        }
    }

    /// Returns whether the filter was written for this tool.
    pub(crate) fn is_own(&self) -> bool {
        self.source != RuleSource::Profile
    }

    /// Returns the filter with a search before its rules. It then fails closed.
    pub(crate) fn redacting(self, redact: &Redact) -> Result<Self, Error> {
        let search = Spec::new().redact(redact.clone());
        let mut programs = self.programs;
        programs.insert(0, Program::compile(&search)?);
        let saves = !self.removes_for_safety;
        // The stored form has the same rule, so that both have the same text.
        let (stored, stored_spec) = match (self.stored, self.stored_spec) {
            (StoredForm::Source, _) => program_form(search),
            (StoredForm::Program(_), Some(spec)) => program_form(spec.redact_also(redact)),
            (StoredForm::Program(_) | StoredForm::Nothing, _) => (StoredForm::Nothing, None),
        };
        Ok(Self {
            programs,
            stored,
            stored_spec,
            redacts: both(self.redacts.as_ref(), Some(redact)),
            removes_for_safety: true,
            // Text is searched, so that it may pass where the filter only saves.
            keeps_text: self.keeps_text || saves,
            keeps_error_text: self.keeps_error_text || saves,
            parameters: Parameters { raw: false, ..self.parameters },
            next: match self.next {
                Some(next) => Some(Arc::new(Self::clone(&next).redacting(redact)?)),
                None => None,
            },
            ..self
        })
    }

    /// Combines a filter of a file that was found with one of the user that removes for safety.
    ///
    /// The user's rules apply first, to the names of the source: a file that only came with a project cannot rename
    /// the values that they remove. Excluded names are removed from the output as well, where they may appear again.
    pub(crate) fn under(self, user: &ManifestEntry) -> Result<Self, Error> {
        let safe = safe_form(user, user.spec().default_retrieve());
        let (Some(safe), None) = (safe, self.refuses) else {
            return Ok(Self::refusing(
                "the user's rules for the tool cannot be combined with others",
            ));
        };
        let mut programs = vec![Program::compile(&safe)?];
        programs.extend(self.programs);
        if let Some(excluded) = excluded(user.spec()) {
            programs.push(Program::compile(&excluded)?);
        }
        let (stored, stored_spec) = match self.stored {
            // Of both forms, the user's lacks what must not be stored.
            StoredForm::Source if user.retrieve() != Retrieve::None => program_form(safe),
            _ => (StoredForm::Nothing, None),
        };
        Ok(Self {
            programs,
            stored,
            stored_spec,
            keeps_text: self.keeps_text && user.text_beside() == UnreadText::Keep,
            keeps_error_text: self.keeps_error_text && user.error_text() == UnreadText::Keep,
            removes_for_safety: true,
            redacts: both(self.redacts.as_ref(), user.spec().searched().as_ref()),
            parameters: Parameters { raw: false, ..self.parameters },
            keeps_everything: false,
            shows_all_that_is_stored: false,
            ..self
        })
    }
}

/// Returns what either of two rules searches for.
fn both(one: Option<&Redact>, other: Option<&Redact>) -> Option<Redact> {
    let rules = one.into_iter().chain(other);
    rules.fold(Spec::new(), |spec, redact| spec.redact_also(redact)).searched()
}

/// Returns the keys of a spec, as a native manifest has them.
fn keys(spec: &Spec) -> Map<String, Value> {
    match serde_json::to_value(spec) {
        Ok(Value::Object(keys)) => keys,
        _ => Map::new(),
    }
}

/// Returns the rules of a spec for text that is not JSON.
fn text_rules(keys: &Map<String, Value>) -> Option<TextSpec> {
    let rules = keys.get("text_filter")?;
    serde_json::from_value(rules.clone()).ok()
}

/// Returns a spec that removes only what a spec excludes.
fn excluded(spec: &Spec) -> Option<Spec> {
    let mut keys = keys(spec);
    keys.retain(|key, _| key == "exclude" || key == "root");
    if !keys.contains_key("exclude") {
        return None;
    }
    serde_json::from_value(Value::Object(keys)).ok()
}

/// Returns whether a spec, or a branch of it, renders its output as text.
fn renders(keys: &Map<String, Value>) -> bool {
    let encodes = keys.get("encode").and_then(Value::as_str).is_some_and(|form| form != "json");
    let branches = keys.get("when").and_then(Value::as_array).into_iter().flatten();
    keys.contains_key("compact")
        || keys.contains_key("content")
        || encodes
        || branches.filter_map(Value::as_object).any(renders)
}

/// Returns whether the stored form has the rules of the spec itself: these only remove for safety.
fn shows_all_that_is_stored(entry: &ManifestEntry, own: &Map<String, Value>) -> bool {
    if entry.is_builtin() && !entry.removes_for_safety() {
        return false;
    }
    let Some(form) = safe_form(entry, entry.retrieve()) else { return false };
    let without_raw = |mut keys: Map<String, Value>| {
        keys.remove("allow_raw");
        keys
    };
    without_raw(keys(&form)) == without_raw(own.clone())
}

/// Returns what is stored of a result. Nothing is stored if the form without what is removed for safety is not known.
///
/// Filters of the catalog only save, whatever rules they use, so that the whole result is stored.
fn stored_form(entry: &ManifestEntry) -> (StoredForm, Option<Spec>) {
    if entry.is_builtin() && !entry.removes_for_safety() {
        return (StoredForm::Source, None);
    }
    let Some(form) = safe_form(entry, entry.retrieve()) else {
        return (StoredForm::Nothing, None);
    };
    let is_source = keys(&form).keys().all(|key| HARMLESS.contains(&key.as_str()));
    if is_source && !entry.removes_for_safety() {
        return (StoredForm::Source, None);
    }
    program_form(form)
}

/// Returns the stored form of a filter. Of two levels, it lacks what either excludes: one reads the names of the source, the
/// other those of its output.
fn safe_form(entry: &ManifestEntry, retrieve: Retrieve) -> Option<Spec> {
    let form = |level| entry.program_at(level).spec().stored_form(retrieve);
    let careful = form(Level::Careful)?;
    if !entry.has_levels() {
        return Some(careful);
    }
    // A form with the rules that select has those of one level.
    (retrieve == Retrieve::All).then_some(())?;
    let tight = form(Level::Tight)?;
    Some(tight.exclude.iter().fold(careful, |form, path| form.exclude(path)))
}

/// Returns the form that a spec makes of a result.
fn program_form(spec: Spec) -> (StoredForm, Option<Spec>) {
    match Program::compile(&spec) {
        Ok(program) => (StoredForm::Program(program), Some(spec)),
        Err(_) => (StoredForm::Nothing, None),
    }
}

#[cfg(test)]
mod tests {
    use tamis::Program;
    use tamis::spec::Retrieve;
    use tamis_manifest::Manifest;

    #[test]
    fn a_stored_form_lacks_what_either_level_excludes() {
        let text = "version: 1\nfilters:\n  a: {root: object, exclude: [user, mail], \
                    tight: {select: {user: user.login, mail: contact.mail}}}\n";
        let manifest = Manifest::parse("tamis.yaml", text).unwrap();
        let form = super::safe_form(manifest.entry("a").unwrap(), Retrieve::All).unwrap();
        let program = Program::compile(&form).unwrap();
        let result =
            br#"{"id":1,"user":{"login":"mira","mail":"m"},"contact":{"mail":"n","at":2}}"#;
        let (stored, _) = tamis::filter_slice(&program, result).unwrap();
        assert_eq!(String::from_utf8(stored).unwrap(), r#"{"id":1,"contact":{"at":2}}"#);
    }

    #[test]
    fn stored_forms_compile() {
        for spec in [
            "{exclude: [ssn], root: object}",
            "{retain: [/id]}",
            "{patches: [{op: remove, path: /ssn}], lenient_remove: true}",
            "{select: [id], on_error: closed, root: object}",
            "{select: [id], max_items: 3, extract: data, compact: {item: 'x'}}",
            "{when: [{test: {path: /id, value: 1}, retain: [/id]}], otherwise: drop}",
        ] {
            let text = format!("version: 1\nfilters:\n  a: {spec}\n");
            let manifest = Manifest::parse("tamis.yaml", &text).unwrap();
            let entry = manifest.entry("a").unwrap();
            let form = entry.spec().stored_form(entry.retrieve()).unwrap();
            let compiled = Program::compile(&form);
            assert!(compiled.is_ok(), "{spec}: {:?} {:?}", compiled.err(), form);
        }
    }
}
