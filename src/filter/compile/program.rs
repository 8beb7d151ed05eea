//! Compiles a [`Spec`] into a [`Program`].
//!
//! Errors of a spec are reported here, with their place in its text. `explain` describes how a program will run.

use std::sync::{Arc, OnceLock};

use tamis_json::error::Error;
use tamis_json::path::Path;
use tamis_json::path::trie::Trie;
use tamis_json::policy::Action;
use tamis_json::regex_budget::RegexBudget;

use super::items::ItemRules;
use super::nested::{JsonStringRules, When, WholeRules};
use super::output::OutputRules;
use super::patches::Patches;
use super::rule_paths::{MAX_RULES, one_place, refuse, refuse_in, steps};
use super::shape::RequiredShape;
use crate::spec::{Encode, Spec};

/// A compiled [`Spec`]. Immutable, cheap to clone, and shareable between threads and runs.
///
/// `Display` prints its [`Explanation`](crate::Explanation): the stages in order, and how each runs.
///
/// ```
/// use tamis::{Program, Spec};
///
/// let program = Program::compile(&Spec::new().select("id").root("items"))?;
/// assert!(program.to_string().starts_with("plan: hold\n"));
///
/// let error = Program::compile(&Spec::new().select("a..b")).unwrap_err();
/// assert_eq!(error.kind(), tamis::ErrorKind::Spec);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program(Arc<CompiledProgram>);

#[derive(Debug)]
pub(crate) struct CompiledProgram {
    pub(in crate::filter) spec: Spec,
    /// The path of the value that becomes the document.
    pub(in crate::filter) extract: Option<Path>,
    /// If there is no value at `extract`, the whole document is filtered.
    pub(in crate::filter) may_lack_extract: bool,
    /// The JSON in strings of the document, which is filtered before everything else.
    pub(in crate::filter) json_strings: Option<JsonStringRules>,
    /// The shape of documents that the rules are for.
    pub(in crate::filter) requires: Option<Arc<RequiredShape>>,
    /// The program for documents of another shape, if it is not derived from this one.
    pub(in crate::filter) fallback: Option<Program>,
    pub(in crate::filter) when: Option<When>,
    pub(in crate::filter) retain: Option<Trie>,
    pub(in crate::filter) patches: Option<Arc<Patches>>,
    pub(in crate::filter) items: ItemRules,
    /// Used instead of all the other rules: the document is taken as a whole.
    pub(in crate::filter) whole: Option<WholeRules>,
    pub(in crate::filter) output: OutputRules,
    /// The programs that skip rules.
    pub(in crate::filter) derived: DerivedPrograms,
}

/// The programs derived from one program, each created on first use.
#[derive(Debug, Default)]
pub(in crate::filter) struct DerivedPrograms {
    pub(in crate::filter) raw: OnceLock<Program>,
    pub(in crate::filter) raw_of_failed: OnceLock<Program>,
    pub(in crate::filter) failed: OnceLock<Program>,
    pub(in crate::filter) other_shape: OnceLock<Program>,
    pub(in crate::filter) unextracted: OnceLock<Program>,
    pub(in crate::filter) after_strings: OnceLock<Program>,
}

impl Program {
    /// Compiles a spec.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Spec`](crate::ErrorKind::Spec) for invalid paths, repeated output keys and similar
    /// mistakes. The message names the offending character, and [`Error::excerpt`] points at it.
    ///
    /// # Complexity
    /// Linear in the length of all paths, which may have 100,000 steps in total. The patterns of text filters may
    /// compile to 10 MiB in one list, and to 24 MiB in all lists of all branches. Compilation stops at the first
    /// error.
    pub fn compile(spec: &Spec) -> Result<Self, Error> {
        Self::compile_within(spec, &mut RegexBudget::new())
    }

    /// Returns whether the program replaces the payload with a summary ([`compact`](Spec::compact)). Branches of `when`
    /// are not looked at.
    #[must_use]
    pub fn has_summary(&self) -> bool {
        self.compiled().spec.compact.is_some()
    }

    /// Returns whether the program, or a branch of its `when`, writes another form than JSON
    /// ([`encode`](Spec::encode)).
    #[must_use]
    pub fn is_encoded(&self) -> bool {
        let spec = &self.compiled().spec;
        let branches = spec.when.iter().flatten();
        branches.chain([spec]).any(|spec| spec.encode != Encode::Json)
    }

    /// Compiles a spec whose rules, for a document that lacks a path of [`requires`](Spec::requires), give way to those of
    /// another program.
    #[doc(hidden)]
    pub fn compile_before(
        spec: &Spec,
        fallback: &Self,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let mut program = Self::compile_within(spec, allowance)?;
        // It has no other owner yet.
        if let Some(compiled) = Arc::get_mut(&mut program.0) {
            compiled.fallback = Some(fallback.clone());
        }
        Ok(program)
    }

    /// Compiles a spec within an allowance for patterns that other specs share.
    #[doc(hidden)]
    pub fn compile_within(spec: &Spec, allowance: &mut RegexBudget) -> Result<Self, Error> {
        if spec.test.is_some() {
            let message = "`test` is only allowed in a branch of `when`";
            return refuse_in("test", 0, true, message.into());
        }
        let extract = match &spec.extract {
            None => None,
            Some(text) => {
                Some(one_place("extract", "the document", text, spec.envelope, allowance)?)
            }
        };
        Self::compile_at(spec, extract, allowance)
    }

    /// Compiles a spec whose document is at `extract` of the input.
    pub(in crate::filter) fn compile_at(
        spec: &Spec,
        extract: Option<Path>,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let Spec { select, exclude, omit, requires, retain, patches, conditions, .. } = spec;
        let json_strings = JsonStringRules::compile(spec, allowance)?;
        let shape = RequiredShape::compile(spec, allowance)?.map(Arc::new);
        let when = When::compile(spec, extract.as_ref(), allowance)?;
        let selects = select.as_ref().map_or(0, |select| select.0.len());
        let retains = retain.as_ref().map_or(0, Vec::len);
        let patches = patches.as_ref().map_or(0, Vec::len);
        let removed = exclude.len() + omit.len();
        let rules = selects + removed + requires.len() + conditions.len() + retains + patches;
        if rules > MAX_RULES {
            return refuse(format!("{rules} rules exceed the limit of {MAX_RULES}"));
        }
        let retain = match retain {
            None => None,
            Some(pointers) => {
                let mut paths = Vec::with_capacity(pointers.len());
                for (entry, text) in pointers.iter().enumerate() {
                    paths.push(steps(Path::pointer(text), "retain", entry, text, allowance)?);
                }
                let mut trie = Trie::new(&paths);
                trie.sharpen(allowance);
                trie.act_on_ends(Action::Keep);
                Some(trie)
            }
        };
        let patches = Patches::compile(spec, allowance)?;
        let whole = WholeRules::compile(spec)?;
        let items = ItemRules::compile(spec, allowance)?;
        let output = OutputRules::compile(spec, allowance)?;
        let spec = spec.clone();
        Ok(Self::of(CompiledProgram {
            spec,
            extract,
            may_lack_extract: false,
            json_strings,
            requires: shape,
            fallback: None,
            when,
            retain,
            patches,
            items,
            whole,
            output,
            derived: DerivedPrograms::default(),
        }))
    }

    pub(in crate::filter) fn of(compiled: CompiledProgram) -> Self {
        Self(Arc::new(compiled))
    }

    /// Returns the spec that this program was compiled from.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.0.spec
    }

    /// Returns the error of a name in the summary's header or footer that never has a value.
    #[doc(hidden)]
    #[must_use]
    pub fn unknown_name(&self) -> Option<Error> {
        self.0.output.unknown_name(&self.0.spec)
    }

    pub(crate) fn compiled(&self) -> &Arc<CompiledProgram> {
        &self.0
    }
}
