//! Derives the programs that skip rules: of calls for raw output, of the response of a failed call, and of documents of another
//! shape (seed: kimbap; SPEC §3, §5).
//!
//! Each is a complete program with the rules that still apply, so that the run, the plan and the explanation only
//! deal with programs. It shares the compiled rules of the original program, and is created when a call first needs
//! it.

use tamis_json::path::Path;

use super::call::Skips;
use super::items::{ItemRules, RootRule};
use super::nested::{JsonStringRules, When, WholeRules};
use super::program::{CompiledProgram, DerivedPrograms, Program};
use crate::spec::rule_kind::{Calls, RuleKind};
use crate::spec::{OnError, Root, Spec};

impl Program {
    /// Returns the program for a call that skips rules.
    pub(in crate::filter) fn for_call(&self, skips: Option<Skips>) -> &Self {
        let compiled = self.compiled();
        let derived = &compiled.derived;
        match skips {
            None => self,
            Some(Skips::Raw) => derived.raw.get_or_init(|| Self::of(compiled.raw())),
            Some(Skips::RawOfFailed) => {
                derived.raw_of_failed.get_or_init(|| Self::of(compiled.raw_of_failed()))
            }
            Some(Skips::Failed) => derived.failed.get_or_init(|| Self::of(compiled.failed())),
        }
    }

    /// Returns the program for a document that lacks a path of `requires`.
    pub(in crate::filter) fn other_shape(&self) -> &Self {
        let compiled = self.compiled();
        if let Some(fallback) = &compiled.fallback {
            return fallback;
        }
        compiled
            .derived
            .other_shape
            .get_or_init(|| Self::of(compiled.of_source(RuleKind::is_for_any_shape)))
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
            let fallback = rest.fallback.map(|fallback| fallback.after_strings().clone());
            Self::of(CompiledProgram { spec, json_strings: None, fallback, ..rest })
        })
    }
}

impl CompiledProgram {
    /// Returns whether a call may ask for raw output: each level of the program allows it.
    pub(in crate::filter) fn allows_raw(&self) -> bool {
        let mut level = Some(self);
        while let Some(compiled) = level {
            if !compiled.spec.allows_raw() {
                return false;
            }
            level = compiled.fallback.as_ref().map(|program| &**program.compiled());
        }
        true
    }

    /// Returns a program with no rules but `extract` and `redact`.
    fn raw(&self) -> Self {
        self.of_source(|rule| rule.traits().calls == Calls::Raw)
    }

    /// Returns the same program for the response of a failed call.
    fn raw_of_failed(&self) -> Self {
        Self { may_lack_extract: self.may_lack_extract_of_failed(), ..self.raw() }
    }

    /// Returns a program that keeps the document as the source wrote it, with `extract`, `redact` and such of the other rules
    /// as need no items. The paths of `redact` are read as names of the source.
    fn of_source(&self, keeps: impl Fn(RuleKind) -> bool) -> Self {
        let output = self.output.raw();
        let has_paths =
            output.redact.as_ref().is_some_and(|redact| !redact.source_paths.is_empty());
        let root = match &self.items.root {
            RootRule::DocumentOrArray => RootRule::Document,
            root if has_paths => root.clone(),
            _ => RootRule::Document,
        };
        let spec = Spec {
            on_error: Some(self.on_error()),
            pass: self.whole.is_some(),
            ..self.spec.only(keeps)
        };
        Self {
            spec,
            extract: self.extract.clone(),
            may_lack_extract: false,
            json_strings: None,
            requires: None,
            fallback: None,
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
        let rules = self.spec.only(|rule| rule.traits().calls >= Calls::Failed);
        let spec = Spec {
            exclude,
            on_error: Some(self.on_error()),
            root: if items.refuses { Root::Object } else { rules.root.clone() },
            pass: self.whole.is_some(),
            ..rules
        };
        Self {
            spec,
            extract: self.extract.clone(),
            may_lack_extract: self.may_lack_extract_of_failed(),
            json_strings: self.json_strings.as_ref().map(JsonStringRules::failed),
            requires: None,
            fallback: None,
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
            requires: self.requires.clone(),
            fallback: self
                .fallback
                .as_ref()
                .map(|fallback| Program::of(fallback.compiled().without_extract(depth))),
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
