//! Compiles the branches of `when` (seed: reShapr ToolsFilters; SPEC §8), each into a program of its own.
//!
//! Knows specs, no document: which branch applies is found by `choose`.

use super::program::{MAX_RULES, Program, one_place, refuse, refuse_in, steps};
use crate::error::{Error, ErrorKind, Raise};
use crate::json::ValueKind;
use crate::path::Path;
use crate::path::trie::Trie;
use crate::regex_budget::RegexBudget;
use crate::spec::{OnError, RawJson, Spec, WhenFallback};

/// The branches of a spec.
#[derive(Debug)]
pub(crate) struct When {
    pub(super) tests: Vec<TestRule>,
    /// The paths of the tests.
    pub(super) trie: Trie,
    /// By node of the trie: the tests of it and below it.
    pub(super) below: Vec<Vec<u32>>,
    pub(super) branches: Vec<Program>,
    /// `None`: a document for which no branch holds is an error.
    pub(super) otherwise: Option<Program>,
}

/// The test of a branch.
#[derive(Clone, Debug)]
pub(super) struct TestRule {
    pub(super) value: RawJson,
}

/// What applies to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch {
    /// The branch with this number.
    Number(usize),
    Otherwise,
}

impl Branch {
    /// What the report calls it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Number(number) => format!("when[{number}]"),
            Self::Otherwise => "otherwise".to_owned(),
        }
    }

    /// The program that applies. `None`: that is an error.
    pub(super) fn program(self, when: &When) -> Option<&Program> {
        match self {
            Self::Number(number) => when.branches.get(number),
            Self::Otherwise => when.otherwise.as_ref(),
        }
    }
}

impl When {
    /// The branches of a spec, whose document is at `extract`. `None`: it has none.
    pub(super) fn compile(
        spec: &Spec,
        extract: Option<&Path>,
        allowance: &mut RegexBudget,
    ) -> Result<Option<Self>, Error> {
        let Some(branches) = &spec.when else {
            if spec.otherwise.is_some() {
                let message = "`otherwise` says what happens if no branch of `when` holds, and there is no `when`";
                return refuse_in("otherwise", 0, true, message.into());
            }
            return Ok(None);
        };
        check_beside(spec)?;
        if branches.is_empty() {
            return refuse_in("when", 0, true, "when: there is no branch".into());
        }
        if branches.len() > MAX_RULES {
            return refuse(format!("when: {} branches are more than {MAX_RULES}", branches.len()));
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
                program.map_err(|error| error.in_branch(entry, &Branch::Number(entry).name()))?,
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
                let Some(crate::path::PathToken::Name(name)) = path.0.get(step) else { break };
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

    /// What applies to the documents of each branch, and to those for which none holds.
    pub(super) fn programs(&self) -> impl Iterator<Item = (String, &Program)> {
        let branches = self.branches.iter().enumerate();
        let branches = branches.map(|(number, program)| (Branch::Number(number), program));
        let otherwise = self.otherwise.iter().map(|program| (Branch::Otherwise, program));
        branches.chain(otherwise).map(|(branch, program)| (branch.name(), program))
    }

    /// What a document is for which no branch holds, where that is an error.
    pub(super) fn none_holds() -> Raise {
        let message =
            "when: no branch holds for this document, and `otherwise` does not let it pass";
        Raise::new(ErrorKind::Miss, message)
    }
}

/// Beside `when` a spec says where the document is and how it is read, and no rule.
fn check_beside(spec: &Spec) -> Result<(), Error> {
    let defaults = Spec::new();
    let beside = Spec {
        extract: None,
        when: None,
        otherwise: None,
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
    let message = "a rule beside `when`: rules stand in the branches, and beside them only `otherwise`, `extract`, `on_error`, \
                   `lenient_remove`, `on_test_failure`, `validation`, `whitespace` and `allow_raw`";
    refuse_in("when", 0, true, message.into())
}

fn check_branch(entry: usize, branch: &Spec) -> Result<&crate::spec::Condition, Error> {
    let refuse = |message: &str| {
        refuse_in("when", entry, false, format!("{}: {message}", Branch::Number(entry).name()))
    };
    let Some(test) = &branch.test else {
        return refuse("a branch wants a `test` with `path` and `value`");
    };
    if branch.when.is_some() || branch.otherwise.is_some() {
        return refuse("a branch has no branches of its own");
    }
    let alone = Spec { test: None, ..branch.clone() };
    if !alone.has_rules() {
        return refuse("a branch wants a rule, such as `retain` or `patches`");
    }
    let defaults = Spec::new();
    if alone.validation != defaults.validation
        || alone.whitespace != defaults.whitespace
        || alone.allow_raw.is_some()
    {
        return refuse(
            "`validation`, `whitespace` and `allow_raw` are the same for all branches: they stand beside `when`",
        );
    }
    Ok(test)
}

/// The program of a branch: what is said for all of them holds for it.
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
        lenient_remove: branch.lenient_remove || spec.lenient_remove,
        on_test_failure: branch.on_test_failure.or(spec.on_test_failure),
        validation: spec.validation,
        whitespace: spec.whitespace,
        ..branch.clone()
    };
    Program::compile_at(&spec, extract, allowance)
}

impl TestRule {
    /// Whether a value of this kind may be the one.
    pub(super) fn may_hold(&self, kind: ValueKind) -> bool {
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

    /// Bytes of the longest spelling of its value, if that is bounded.
    pub(super) fn longest(&self) -> Option<u64> {
        // Each byte of a string may be spelled in six.
        let string = self.value.as_bytes().starts_with(b"\"");
        string.then(|| 6 * self.value.as_bytes().len() as u64)
    }
}
