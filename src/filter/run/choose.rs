//! Chooses the branch of `when` for a document: the first one whose test holds (seed: reShapr ToolsFilters; SPEC §8).
//!
//! The chooser reads the tested values as early as possible and writes nothing. A test is decided when its value is
//! known, or when a container on its path ends without it. The choice is certain once a test holds and all tests
//! before it have failed. The rest of the document is still watched after that: a second member of the same name on a
//! test's path is always an error, because other readers may use the second one.
//!
//! **Cost.** In addition to reading the document, each test is looked at once. Each test of a place is compared with
//! the value there, which costs tests × length. A held value is read once for each level at which tests refer to
//! values inside it.
//!
//! Example: two branches with the tests `/kind` = `"a"` and `/v` = `1`.
//!
//! | input so far | test 0 | test 1 | choice |
//! |---|---|---|---|
//! | `{"v":1,` | undecided | holds | none yet: test 0 comes first and may still hold |
//! | `{"v":1,"kind":"b",` | failed | holds | branch 1 |
//! | `{"v":1,"kind":"b","kind":"a"` | | | an error: a duplicate key, even after the choice |
//! | `{"v":2}` instead | failed at `}` | failed | `otherwise` |
//!
//! A value is copied until its end and then compared. If its kind differs from that of the test, the test fails at
//! once.

use std::sync::Arc;

use smallvec::SmallVec;
use tamis_json::error::{ErrorKind, LimitName, Raise};
use tamis_json::key::{is_too_long_for, unescape};
use tamis_json::limits::Limits;
use tamis_json::path::trie::NodeId;
use tamis_json::policy::{Action, Policy};
use tamis_json::sink::Sink;
use tamis_json::test_work::{WorkKind, count, words};
use tamis_json::tree::{children, equal};
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::document::scope::DocumentScope;
use super::lookahead::{Input, Lookahead, Probe};
use super::stage::{StageHandler, StageState, machine_config};
use crate::filter::compile::nested::When;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::report::WhenBranch;

/// The choice of a branch, reused for all documents of a run.
#[derive(Debug)]
pub(super) struct BranchChoice {
    /// The machine of the chooser, with the input that is held for it.
    pub(super) ahead: Lookahead<BranchChooser>,
}

/// The probe for the branch.
///
/// A test refers to one place of the document. The places of all tests form a trie, which the chooser follows. A test
/// holds if the value at its place equals its own.
#[derive(Debug)]
pub(super) struct BranchChooser {
    program: Arc<CompiledProgram>,
    /// Follows `extract`: tests refer to the extracted value.
    scope: DocumentScope,
    /// The trie nodes of the open containers.
    open: SmallVec<[NodeId; 8]>,
    /// By node: whether it was seen. A node is one place of the document, so a second time is a duplicate.
    met: Vec<bool>,
    /// By test: the result, once it is known.
    holds: Vec<Option<bool>>,
    /// The first test that has not failed.
    next: usize,
    /// The branch, and the offset of the byte that made it certain. Set once in a document.
    choice: Option<(WhenBranch, u64)>,
    /// The value that is being read for tests.
    captured: Option<TestedValue>,
    /// The limit of a tested value, in bytes.
    item: u64,
}

/// A value that is copied, because it is compared with the values of tests.
#[derive(Debug)]
struct TestedValue {
    /// The node of the trie for its place.
    node: NodeId,
    /// Its text so far, as the machine passes it on.
    text: Vec<u8>,
    /// Longer values equal no test.
    most: u64,
    /// The value is longer than `most` or the limit, and the end of its text is missing.
    over: bool,
}

impl BranchChoice {
    /// `input`: whether the document has to be held until the choice.
    pub(super) fn new(program: &Arc<CompiledProgram>, options: &CallOptions, input: Input) -> Self {
        let config = machine_config(&program.spec, options.limits(), false);
        let chooser = BranchChooser::new(program, options.limits());
        let ahead = Lookahead::new(config, options.scanner(), chooser, input);
        Self { ahead }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, program: &Arc<CompiledProgram>, options: &CallOptions) {
        let config = machine_config(&program.spec, options.limits(), false);
        self.ahead.restart(config, Input::once());
        self.ahead.probe_mut().restart();
    }
}

impl BranchChooser {
    fn new(program: &Arc<CompiledProgram>, limits: &Limits) -> Self {
        let scope = DocumentScope::new(program, false);
        let mut chooser = Self {
            program: program.clone(),
            scope,
            open: SmallVec::new(),
            met: Vec::new(),
            holds: Vec::new(),
            next: 0,
            choice: None,
            captured: None,
            item: limits.item(),
        };
        chooser.restart();
        chooser
    }

    /// Begins a new document. All tests become undecided. Costs one write for each test and each node of the trie.
    fn restart(&mut self) {
        self.scope.restart();
        self.open.clear();
        let when = self.program.when.as_ref();
        let (tests, nodes) = when.map_or((0, 0), |when| (when.tests.len(), when.trie.len()));
        self.holds.clear();
        self.holds.resize(tests, None);
        self.met.clear();
        self.met.resize(nodes, false);
        (self.next, self.choice, self.captured) = (0, None, None);
    }

    fn when(&self) -> Option<&When> {
        self.program.when.as_ref()
    }

    /// Returns the node of a value, if a test refers to it or to something inside it. The machine may have looked the
    /// name up already (`entry`), because the policy has the names of this level.
    fn child(&self, slot: ValueSlot<'_>) -> Option<NodeId> {
        let trie = &self.when()?.trie;
        match (slot, self.open.last()) {
            (ValueSlot::Top, _) => Some(0),
            (ValueSlot::Member(key), Some(top)) => {
                key.entry().or_else(|| key.with_name(|name| trie.member(*top, name?)))
            }
            (ValueSlot::Element(index), Some(top)) => trie.element(*top, index),
            _ => None,
        }
    }

    /// Records a member on a path. Returns an error if it was seen before. Only paths of tests are watched, so a
    /// duplicate elsewhere in the document is not an error here.
    fn meet(&mut self, node: NodeId) -> Result<(), Raise> {
        match self.met.get_mut(node as usize).map(|met| std::mem::replace(met, true)) {
            Some(true) => Err(twice()),
            _ => Ok(()),
        }
    }

    /// Returns the interest in a value at a node: copied if a test may hold for it, entered if tests refer to values
    /// inside it, else skipped. `offset` is the byte that decides its kind. All undecided tests of this
    /// place are compared when the copied value ends.
    fn look(&mut self, node: NodeId, kind: ValueKind, offset: u64) -> Interest {
        let program = self.program.clone();
        let Some(when) = &program.when else { return Interest::Skip };
        // Tests refer to values inside this one.
        let goes_on = kind.is_container() && !when.trie.children(node).is_empty();
        // After the choice the value is only watched for duplicate members.
        if self.choice.is_none() {
            let (mut wanted, mut most) = (false, 0);
            for number in when.trie.ends(node) {
                count(WorkKind::Branches, 1);
                let number = *number as usize;
                // The test was decided before.
                if self.holds.get(number) != Some(&None) {
                    continue;
                }
                match when.tests.get(number) {
                    Some(test) if test.may_hold(kind) => {
                        wanted = true;
                        most = most.max(test.longest().unwrap_or(u64::MAX));
                    }
                    // A value of this kind cannot equal that of the test.
                    _ => self.decide(number, false),
                }
            }
            // A copied container has no events inside it, so `judge` reads its text.
            if wanted {
                let text = Vec::new();
                self.captured = Some(TestedValue { node, text, most, over: false });
                return Interest::Copy;
            }
            // A scalar or a container that is not entered: no test below can hold.
            if !goes_on {
                self.complete(node);
            }
            self.conclude(offset);
        }
        if !goes_on {
            return Interest::Skip;
        }
        self.open.push(node);
        Interest::Inspect
    }

    /// Records the result of a test. The first one counts.
    fn decide(&mut self, test: usize, holds: bool) {
        if let Some(state) = self.holds.get_mut(test) {
            state.get_or_insert(holds);
        }
    }

    /// Fails the undecided tests at and below a node, because its value has ended. A test below a scalar fails, and so
    /// does one whose place is missing in a container.
    fn complete(&mut self, node: NodeId) {
        let program = self.program.clone();
        let Some(when) = &program.when else { return };
        for test in when.below.get(node as usize).into_iter().flatten() {
            count(WorkKind::Branches, 1);
            self.decide(*test as usize, false);
        }
    }

    /// Chooses a branch if the tests so far allow it: that of the first test that holds, if all tests before it have
    /// failed. `offset` is the byte that made it certain. Each test is passed at most once in a document. Without a
    /// test that holds the choice is `Otherwise`.
    fn conclude(&mut self, offset: u64) {
        while self.choice.is_none() {
            count(WorkKind::Branches, 1);
            match self.holds.get(self.next) {
                // Undecided: a later byte may make it hold.
                Some(None) => return,
                Some(Some(false)) => self.next += 1,
                Some(Some(true)) => self.choice = Some((WhenBranch::Number(self.next), offset)),
                None => self.choice = Some((WhenBranch::Otherwise, offset)),
            }
        }
    }

    /// Decides the tests of a value, and those of the values inside it, from its text. `text` is the complete and
    /// valid text of the value. After it, the tests whose places are missing in it fail.
    ///
    /// # Errors
    /// A duplicate member on a test's path inside the value, or a comparison that exceeds the limit of tested values.
    fn judge(&mut self, node: NodeId, text: &str) -> Result<(), Raise> {
        let program = self.program.clone();
        let Some(When { trie, tests, .. }) = &program.when else { return Ok(()) };
        // A stack instead of recursion: nothing recurses on the depth of the input.
        let mut values = vec![(node, text)];
        while let Some((node, text)) = values.pop() {
            for number in trie.ends(node) {
                count(WorkKind::Branches, 1);
                let number = *number as usize;
                if self.holds.get(number) == Some(&None)
                    && let Some(test) = tests.get(number)
                {
                    let same = equal(text.as_bytes(), test.value.as_bytes(), self.item);
                    let same =
                        same.map_err(|raise| raise.named(&WhenBranch::Number(number).to_string()))?;
                    self.decide(number, same);
                }
            }
            if trie.children(node).is_empty() {
                continue;
            }
            let object = text.starts_with('{');
            for (index, (key, value)) in children(text).enumerate() {
                let child = if object {
                    unescape(key.as_bytes()).and_then(|name| trie.member(node, &name))
                } else {
                    trie.element(node, index as u64)
                };
                let Some(child) = child else { continue };
                if object {
                    self.meet(child)?;
                }
                values.push((child, value));
            }
        }
        self.complete(node);
        Ok(())
    }
}

/// Returns the error of a duplicate member on the path of a test.
fn twice() -> Raise {
    let message = "duplicate key in an object tested by `when`";
    Raise::new(ErrorKind::Duplicate, message)
}

impl Probe for BranchChooser {
    type Decision = WhenBranch;

    fn decided(&self) -> Option<(WhenBranch, u64)> {
        self.choice
    }
}

impl StageState for BranchChooser {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, BranchChooser> {
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let chooser = &mut *self.stage;
        if let Some(interest) = chooser.scope.find(&mut slot, kind)? {
            return Ok(interest);
        }
        let Some(node) = chooser.child(slot) else { return Ok(Interest::Skip) };
        if let ValueSlot::Member(_) = slot {
            chooser.meet(node)?;
        }
        let interest = chooser.look(node, kind, offset);
        // The document is a scalar, or no test refers to anything inside it: it ends without `close`.
        if let (ValueSlot::Top, Interest::Skip) = (slot, interest) {
            chooser.scope.leave();
        }
        Ok(interest)
    }

    fn policy(&mut self) -> Policy<'_> {
        let chooser = &*self.stage;
        // Only the names on paths of tests matter. The loops of the machine skip all other members.
        let top = chooser.open.last().filter(|_| chooser.scope.is_inside());
        let names = top.and_then(|top| chooser.when()?.trie.names(*top));
        names.map_or(Policy::ASK, |names| Policy::ask_named(names, Action::Skip))
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let chooser = &mut *self.stage;
        if !chooser.scope.close()? {
            return Ok(());
        }
        // A container on a path has ended: tests of places that it lacks have failed.
        if let Some(top) = chooser.open.pop()
            && chooser.choice.is_none()
        {
            chooser.complete(top);
            chooser.conclude(offset);
        }
        if chooser.open.is_empty() {
            chooser.scope.leave();
        }
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        let item = self.stage.item;
        let Some(captured) = &mut self.stage.captured else { return };
        // A text that is too long for every test is not stored further. `copied` decides whether that is an error.
        let len = captured.text.len() as u64 + bytes.len() as u64;
        if len > captured.most.min(item) {
            captured.over = true;
        } else if !captured.over {
            count(WorkKind::Branches, words(bytes.len()));
            captured.text.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        let chooser = &mut *self.stage;
        let Some(TestedValue { node, text, most, over }) = chooser.captured.take() else {
            return Ok(());
        };
        // A longer value could have been equal, so its test cannot be decided.
        if over && most > chooser.item {
            let message = format!("a value tested by `when` exceeds {} bytes", chooser.item);
            return Err(Raise::limit(LimitName::Item, message));
        }
        // A string that is longer than every tested string equals none of them.
        match std::str::from_utf8(&text) {
            Ok(text) if !over => chooser.judge(node, text)?,
            _ => chooser.complete(node),
        }
        chooser.conclude(offset);
        if chooser.open.is_empty() {
            chooser.scope.leave();
        }
        Ok(())
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        let chooser = &*self.stage;
        if !chooser.scope.is_inside() {
            return chooser.scope.takes_long_keys(limit);
        }
        is_too_long_for(limit, chooser.when().map_or(0, |when| when.trie.longest_name()))
    }
}
