//! Derives the programs of calls that skip rules: of raw output, and of the response of a failed call (seed: kimbap;
//! SPEC §3).
//!
//! Each is a complete program with the rules that still apply, so that the run, the plan and the explanation only
//! deal with programs. It shares the compiled rules of the original program, and is created when a call first needs
//! it.

use tamis_json::path::Path;
use tamis_json::path::trie::Trie;
use tamis_json::regex_budget::RegexBudget;

use super::call::Skips;
use super::items::{self, ItemRules, RootRule};
use super::nested::{JsonStringRules, When, WholeRules};
use super::program::{CompiledProgram, DerivedPrograms, Program};
use crate::spec::{DuplicateKeys, Encode, OnError, Root, Siblings, Spec};

impl Program {
    /// Returns the program for a call that skips rules.
    pub(in crate::filter) fn for_call(&self, skips: Option<Skips>) -> &Self {
        let compiled = self.compiled();
        let derived = &compiled.derived;
        match skips {
            None => self,
            Some(Skips::Raw) => derived.raw.get_or_init(|| Self::of(compiled.raw(false))),
            Some(Skips::RawOfFailed) => {
                derived.raw_of_failed.get_or_init(|| Self::of(compiled.raw(true)))
            }
            Some(Skips::Failed) => derived.failed.get_or_init(|| Self::of(compiled.failed())),
        }
    }

    /// Returns the program with the same rules for a document that lacks the value at `extract`.
    pub(in crate::filter) fn unextracted(&self) -> &Self {
        let compiled = self.compiled();
        compiled.derived.unextracted.get_or_init(|| {
            let depth = compiled.extract.as_ref().map_or(0, |path| path.0.len());
            Self::of(compiled.without_extract(depth))
        })
    }

    /// Returns the program with the rules that apply after `json_strings`, to what `extract` and these leave.
    pub(in crate::filter) fn after_strings(&self) -> &Self {
        let compiled = self.compiled();
        compiled.derived.after_strings.get_or_init(|| {
            let depth = compiled.extract.as_ref().map_or(0, |path| path.0.len());
            let rest = compiled.without_extract(depth);
            let spec = Spec { json_strings: Vec::new(), ..rest.spec };
            Self::of(CompiledProgram { spec, json_strings: None, ..rest })
        })
    }
}

impl CompiledProgram {
    /// Returns a program with no rules but `extract` and `redact`. `failed`: the call failed as well.
    fn raw(&self, failed: bool) -> Self {
        // The other rules do not apply to raw output, and neither does a new one that does not say so here.
        let Spec { extract, validation, whitespace, allow_raw, redact, .. } = self.spec.clone();
        let on_error = Some(self.on_error());
        let pass = self.whole.is_some();
        let output = self.output.raw();
        let has_paths =
            output.redact.as_ref().is_some_and(|redact| !redact.source_paths.is_empty());
        let root = match &self.items.root {
            RootRule::DocumentOrArray => RootRule::Document,
            root if has_paths => root.clone(),
            _ => RootRule::Document,
        };
        let spec = Spec {
            extract,
            validation,
            whitespace,
            allow_raw,
            redact,
            on_error,
            pass,
            ..Spec::new()
        };
        Self {
            spec,
            extract: self.extract.clone(),
            may_lack_extract: failed && self.may_lack_extract_of_failed(),
            json_strings: None,
            when: None,
            retain: None,
            patches: None,
            items: ItemRules { root, ..ItemRules::none() },
            whole: self.whole.as_ref().map(|_| WholeRules::Pass { warns: false }),
            output,
            derived: DerivedPrograms::default(),
        }
    }

    /// Returns a program with the rules that apply to the response of a failed call: those that remove values, and
    /// those on text and length. Rules that select, limit or summarise items do not apply, and nothing is a miss.
    fn failed(&self) -> Self {
        // The document has the names of the source. Its payload is the one that the spec names.
        let exclude = self.spec.excluded_from_source(false);
        let items = self.items.failed(exclude.as_deref(), self.spec.envelope);
        let exclude = exclude.unwrap_or_default();
        let text = self.whole.is_some();
        // Every field is named: a new rule does not compile until this says whether it applies to a failed call.
        let Spec {
            extract,
            json_strings,
            select: _,
            exclude: _,
            retain,
            patches,
            lenient_remove,
            on_test_failure,
            test,
            when,
            otherwise,
            root,
            siblings: _,
            conditions: _,
            max_items: _,
            stop_early: _,
            drop_nulls: _,
            drop_empty: _,
            omit_base64_over,
            text_filter,
            redact,
            budget,
            min_items,
            omitted,
            on_over,
            compact: _,
            encode: _,
            content: _,
            on_error: _,
            validation,
            whitespace,
            duplicate_keys,
            allow_raw,
            envelope,
            foreign,
            wrap: _,
            pass: _,
        } = self.spec.clone();
        let spec = Spec {
            extract,
            json_strings,
            exclude,
            retain,
            patches,
            lenient_remove,
            on_test_failure,
            test,
            when,
            otherwise,
            omit_base64_over,
            text_filter,
            redact,
            budget,
            min_items,
            omitted,
            on_over,
            validation,
            whitespace,
            duplicate_keys,
            allow_raw,
            envelope,
            foreign,
            select: None,
            conditions: Vec::new(),
            max_items: 0,
            stop_early: false,
            drop_nulls: false,
            drop_empty: false,
            siblings: Siblings::Keep,
            compact: None,
            encode: Encode::Json,
            content: None,
            wrap: false,
            on_error: Some(self.on_error()),
            root: if items.refuses { Root::Object } else { root },
            pass: text,
        };
        Self {
            spec,
            extract: self.extract.clone(),
            may_lack_extract: self.may_lack_extract_of_failed(),
            json_strings: self.json_strings.as_ref().map(JsonStringRules::failed),
            when: self.when.as_ref().map(|when| {
                when.map(|program| {
                    // A branch is chosen inside the document, so the value that the branch itself extracts must
                    // exist.
                    let failed = program.compiled().failed();
                    Program::of(Self { may_lack_extract: false, ..failed })
                })
            }),
            retain: self.retain.clone(),
            patches: self.patches.clone(),
            items,
            whole: self.whole.as_ref().map(|_| WholeRules::Pass { warns: false }),
            output: self.output.failed(),
            derived: DerivedPrograms::default(),
        }
    }

    fn may_lack_extract_of_failed(&self) -> bool {
        self.extract.is_some() && !self.spec.is_closed()
    }

    fn on_error(&self) -> OnError {
        if self.spec.is_closed() { OnError::Closed } else { OnError::Raw }
    }

    /// Returns the program with the same rules on a document that is `depth` steps further out.
    fn without_extract(&self, depth: usize) -> Self {
        let inside = self.extract.as_ref().and_then(|path| path.0.get(depth..)).unwrap_or_default();
        let extract = (!inside.is_empty()).then(|| Path(inside.to_vec()));
        let spec = Spec { extract: extract.as_ref().map(Path::to_string), ..self.spec.clone() };
        Self {
            spec,
            extract,
            may_lack_extract: false,
            json_strings: self.json_strings.clone(),
            when: self.when.as_ref().map(|when| {
                when.map(|program| Program::of(program.compiled().without_extract(depth)))
            }),
            retain: self.retain.clone(),
            patches: self.patches.clone(),
            items: self.items.clone(),
            whole: self.whole.as_ref().map(|_| WholeRules::Pass { warns: false }),
            output: self.output.clone(),
            derived: DerivedPrograms::default(),
        }
    }
}

impl ItemRules {
    /// Returns rules that change nothing.
    fn none() -> Self {
        Self {
            idle: true,
            root: RootRule::Document,
            keep_siblings: true,
            conditions: None,
            max_items: u64::MAX,
            stop_early: false,
            select: None,
            exclude: Trie::new([]),
            drop_nulls: false,
            drop_empty: false,
            closed: false,
            judges: false,
            refuses: false,
            duplicates: DuplicateKeys::First,
        }
    }

    /// Returns the rules that apply to the response of a failed call. `excluded`: the paths of `exclude`, also
    /// translated to the names of the source; `None` if these are too many, so that every document is an error.
    fn failed(&self, excluded: Option<&[String]>, envelope: bool) -> Self {
        // Every rule is named: a new one does not compile until this says whether it applies to a failed call.
        let Self {
            idle: _,
            root,
            keep_siblings: _,
            conditions: _,
            max_items: _,
            stop_early: _,
            select,
            exclude,
            drop_nulls: _,
            drop_empty: _,
            closed,
            judges: _,
            refuses: _,
            duplicates,
        } = self;
        let exclude = match select {
            None => Some(exclude.clone()),
            Some(_) => excluded
                .and_then(|list| items::excluded(list, envelope, &mut RegexBudget::new()).ok()),
        };
        let refuses = exclude.is_none() || (*closed && select.is_some());
        let exclude = exclude.unwrap_or_else(|| Trie::new([]));
        Self {
            idle: exclude.is_empty() && !refuses,
            root: match root {
                _ if refuses => RootRule::Document,
                RootRule::DocumentOrArray => RootRule::Document,
                root => root.clone(),
            },
            exclude,
            closed: *closed,
            refuses,
            duplicates: *duplicates,
            ..Self::none()
        }
    }
}

impl When {
    /// Returns the same choice between other programs.
    fn map(&self, to: impl Fn(&Program) -> Program) -> Self {
        Self {
            tests: self.tests.clone(),
            trie: self.trie.clone(),
            below: self.below.clone(),
            branches: self.branches.iter().map(&to).collect(),
            otherwise: self.otherwise.as_ref().map(to),
        }
    }
}
