//! Compiles the branches of `when` (seed: reShapr ToolsFilters; SPEC §8), each into a program of its own.
//!
//! `run::choose` finds the branch for a document.

use tamis_json::ValueKind;
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::path::Path;
use tamis_json::path::trie::Trie;
use tamis_json::regex_budget::RegexBudget;

use super::nested::{TestRule, When};
use super::program::Program;
use super::rule_paths::{MAX_RULES, one_place, refuse, refuse_in, steps};
use crate::report::WhenBranch;
use crate::spec::{OnError, Spec, WhenFallback};

impl WhenBranch {
    /// Returns the program of the branch. `None` means an error.
    pub(in crate::filter) fn program(self, when: &When) -> Option<&Program> {
        match self {
            Self::Number(number) => when.branches.get(number),
            Self::Otherwise => when.otherwise.as_ref(),
        }
    }
}

impl When {
    /// Compiles the branches of a spec whose document is at `extract`, if it has any.
    pub(in crate::filter) fn compile(
        spec: &Spec,
        extract: Option<&Path>,
        allowance: &mut RegexBudget,
    ) -> Result<Option<Self>, Error> {
        let Some(branches) = &spec.when else {
            if spec.otherwise.is_some() {
                let message = "`otherwise` requires `when`";
                return refuse_in("otherwise", 0, true, message.into());
            }
            return Ok(None);
        };
        check_beside(spec)?;
        if branches.is_empty() {
            return refuse_in("when", 0, true, "when: expected at least one branch".into());
        }
        if branches.len() > MAX_RULES {
            return refuse(format!(
                "when: {} branches exceed the limit of {MAX_RULES}",
                branches.len()
            ));
        }
        let mut tests = Vec::with_capacity(branches.len());
        let mut paths = Vec::with_capacity(branches.len());
        let mut programs = Vec::with_capacity(branches.len());
        for (entry, branch) in branches.iter().enumerate() {
            let test = check_branch(entry, branch)?;
            paths.push(steps(Path::pointer(&test.path), "when", entry, &test.path, allowance)?);
            tests.push(TestRule { value: test.value.clone() });
            let program = compile_branch(spec, extract, branch, allowance);
            programs.push(
                program.map_err(|error| {
                    error.in_branch(entry, &WhenBranch::Number(entry).to_string())
                })?,
            );
        }
        let mut trie = Trie::new(&paths);
        trie.sharpen(allowance);
        let mut below = vec![Vec::new(); trie.len()];
        for (number, path) in paths.iter().enumerate() {
            let mut node = 0;
            for step in 0..=path.0.len() {
                if let Some(tests) = below.get_mut(node as usize) {
                    tests.push(number as u32);
                }
                let Some(tamis_json::path::PathToken::Name(name)) = path.0.get(step) else { break };
                node = trie.member(node, name.as_bytes()).unwrap_or_default();
            }
        }
        let plain = Spec {
            validation: spec.validation,
            whitespace: spec.whitespace,
            on_error: Some(OnError::Closed),
            foreign: spec.foreign,
            ..Spec::new()
        };
        let otherwise = match spec.otherwise {
            None | Some(WhenFallback::Error) => None,
            Some(WhenFallback::Pass) => Some(plain),
            Some(WhenFallback::Drop) => Some(Spec { retain: Some(Vec::new()), ..plain }),
        };
        let otherwise = otherwise.map(|plain| compile_branch(spec, extract, &plain, allowance));
        let otherwise = otherwise.transpose()?;
        Ok(Some(Self { tests, trie, below, branches: programs, otherwise }))
    }

    /// Returns each branch with its program, and of `otherwise`.
    pub(in crate::filter) fn programs(&self) -> impl Iterator<Item = (WhenBranch, &Program)> {
        let branches = self.branches.iter().enumerate();
        let branches = branches.map(|(number, program)| (WhenBranch::Number(number), program));
        let otherwise = self.otherwise.iter().map(|program| (WhenBranch::Otherwise, program));
        branches.chain(otherwise)
    }

    /// Returns the error of a document that matches no branch.
    pub(in crate::filter) fn none_holds() -> Raise {
        let message = "when: no branch matches this document, and `otherwise` is `error`";
        Raise::new(ErrorKind::Miss, message)
    }
}

/// Refuses rules next to `when`. Only settings that hold for all branches are allowed there.
fn check_beside(spec: &Spec) -> Result<(), Error> {
    let defaults = Spec::new();
    let beside = Spec {
        extract: None,
        requires: Vec::new(),
        json_strings: Vec::new(),
        when: None,
        otherwise: None,
        redact: None,
        on_error: None,
        lenient_remove: false,
        on_test_failure: None,
        validation: defaults.validation,
        whitespace: defaults.whitespace,
        allow_raw: None,
        envelope: false,
        foreign: false,
        ..spec.clone()
    };
    if beside == defaults {
        return Ok(());
    }
    let message = "rules are not allowed next to `when`: move them into its branches, and keep only `otherwise`, `extract`, \
                   `requires`, `json_strings`, `on_error`, `lenient_remove`, `on_test_failure`, `validation`, `whitespace` and `allow_raw`";
    refuse_in("when", 0, true, message.into())
}

fn check_branch(entry: usize, branch: &Spec) -> Result<&crate::spec::Condition, Error> {
    let refuse = |message: &str| {
        refuse_in("when", entry, false, format!("{}: {message}", WhenBranch::Number(entry)))
    };
    let Some(test) = &branch.test else {
        return refuse("a branch requires a `test` with `path` and `value`");
    };
    if branch.when.is_some() || branch.otherwise.is_some() {
        return refuse("branches cannot be nested");
    }
    if !branch.requires.is_empty() {
        return refuse("`requires` is not allowed in a branch: write it next to `when`");
    }
    let alone = Spec { test: None, ..branch.clone() };
    if !alone.has_rules() {
        return refuse("a branch requires a rule, such as `retain` or `patches`");
    }
    let defaults = Spec::new();
    if alone.validation != defaults.validation
        || alone.whitespace != defaults.whitespace
        || alone.allow_raw.is_some()
    {
        return refuse(
            "`validation`, `whitespace` and `allow_raw` apply to all branches: set them next to `when`",
        );
    }
    Ok(test)
}

/// Compiles a branch, which inherits the settings of the spec.
fn compile_branch(
    spec: &Spec,
    extract: Option<&Path>,
    branch: &Spec,
    allowance: &mut RegexBudget,
) -> Result<Program, Error> {
    let mut place = extract.cloned().unwrap_or_default();
    if let Some(inside) = &branch.extract {
        place.0.extend(one_place("extract", "the document", inside, false, allowance)?.0);
    }
    let extract = (!place.0.is_empty()).then_some(place);
    let spec = Spec {
        test: None,
        extract: extract.as_ref().map(Path::to_string),
        on_error: branch.on_error.or(spec.on_error).or(Some(OnError::Closed)),
        redact: match (&branch.redact, &spec.redact) {
            (Some(inner), Some(outer)) => Some(inner.and(outer)),
            (inner, outer) => inner.as_ref().or(outer.as_ref()).cloned(),
        },
        lenient_remove: branch.lenient_remove || spec.lenient_remove,
        on_test_failure: branch.on_test_failure.or(spec.on_test_failure),
        validation: spec.validation,
        whitespace: spec.whitespace,
        ..branch.clone()
    };
    Program::compile_at(&spec, extract, allowance)
}

impl TestRule {
    /// Returns whether a value of this kind can equal the test's value.
    pub(in crate::filter) fn may_hold(&self, kind: ValueKind) -> bool {
        matches!(
            (self.value.as_bytes().first(), kind),
            (Some(b'{'), ValueKind::Object)
                | (Some(b'['), ValueKind::Array)
                | (Some(b'"'), ValueKind::String | ValueKind::EmptyString)
                | (Some(b't' | b'f'), ValueKind::Bool)
                | (Some(b'n'), ValueKind::Null)
                | (Some(b'-' | b'0'..=b'9'), ValueKind::Number)
        )
    }

    /// Returns the length of the longest spelling of the value, if that is bounded.
    pub(in crate::filter) fn longest(&self) -> Option<u64> {
        // Each byte of a string may be written as a six-byte escape.
        let string = self.value.as_bytes().starts_with(b"\"");
        string.then(|| 6 * self.value.as_bytes().len() as u64)
    }
}
