//! Decides which items `where` keeps, ahead of the stage.
//!
//! Items without containers are mostly tested while they are selected ([`MemberTester`]). For all others, the tester looks
//! ahead at the members that the conditions name, before the machine asks the stage about an item. Most items are in the
//! window of the machine as a whole, so that this look decides ([`ItemTester::look_ahead`]). Before an item that it does
//! not decide, the stage stops:
//!
//! ```text
//! an item that the window cuts ──▶ the machine goes on with a window that begins at the item
//! any other                    ──▶ the tester reads the input ahead of the stage, with a machine of its own, until it has
//!                                  a verdict; it notes those of the next items that it has read, too
//! no verdict in the input      ──▶ the input from the item on is held until there is one
//! ```
//!
//! So the stage never reads such an item while it may still be dropped, and nothing that it counts, finds or refuses has
//! to be undone. The tester validates only the structure of what it skips. The stage finds the errors of the document, because
//! it reads every byte, too.

use std::sync::Arc;

use tamis_json::error::Error;
use tamis_json::limits::Limits;
use tamis_json::machine::{Machine, MachineConfig, ObjectAhead};
use tamis_json::scan::Scanner;

use super::member_tester::MemberTester;
use super::verdicts::{ItemVerdict, TesterState};
use crate::filter::compile::conditions::ItemConditions;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::run::stage::{DiscardSink, StageMachine};
use crate::spec::Validation;

/// An item whose verdict the stage needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AwaitedItem {
    /// An element of the payload.
    Element,
    /// The payload, which is an object.
    Payload,
}

/// Bytes that are read ahead at once. They are still in the cache when the machine of the stage reads them.
const AHEAD: usize = 64 << 10;

/// Reads the payload ahead of the stage. A copy of it, in the probe for the first hit, has read nothing.
#[derive(Debug)]
pub(super) struct ItemTester {
    engine: StageMachine,
    config: MachineConfig,
    state: TesterState,
    /// The error at which the tester has stopped to decide.
    failed: Option<Error>,
    /// Whether undecided items are dropped, because the document is invalid.
    gives_up: bool,
    /// Input that waits for a verdict.
    held: Vec<u8>,
    /// The item with which the machine has begun.
    item: AwaitedItem,
    /// The item before which the stage has stopped.
    pub(super) awaited: Option<AwaitedItem>,
    /// Tests items while they are selected.
    pub(super) members: MemberTester,
}

impl Clone for ItemTester {
    fn clone(&self) -> Self {
        let state = TesterState::new(&self.state.program, self.state.limit);
        Self::of(self.config.clone(), self.engine.scanner(), state)
    }
}

impl ItemTester {
    /// Returns the tester of a program, if it has conditions.
    pub(super) fn new(
        program: &Arc<CompiledProgram>,
        limits: &Limits,
        scanner: Scanner,
    ) -> Option<Box<Self>> {
        program.items.conditions.as_ref()?;
        let config = MachineConfig { structure: true, ..MachineConfig::new(limits) };
        Some(Box::new(Self::of(config, scanner, TesterState::new(program, limits.item()))))
    }

    fn of(config: MachineConfig, scanner: Scanner, state: TesterState) -> Self {
        let members = MemberTester::new(&state.program, state.limit);
        Self {
            engine: StageMachine::new(config.clone(), scanner),
            config,
            state,
            failed: None,
            gives_up: false,
            held: Vec::new(),
            item: AwaitedItem::Element,
            awaited: None,
            members,
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.state.restart();
        self.failed = None;
        self.gives_up = false;
        self.held.clear();
        self.awaited = None;
        self.members.restart();
    }

    /// Returns the verdict for the next element that is an object, with the offset of the byte that made it certain, and
    /// turns to the element after it. `None` if there is none yet.
    pub(super) fn next(&mut self) -> Option<(ItemVerdict, u64)> {
        self.members.gave_up = false;
        let failed_at = self.failed.as_ref().and_then(Error::offset).unwrap_or_default();
        let next = self.state.verdicts.pop_front();
        next.or_else(|| self.gives_up.then_some((ItemVerdict::Drop, failed_at)))
    }

    /// Whether the next element is tested by its members.
    pub(super) fn tests_members(&self) -> bool {
        self.members.is_ready() && !self.has_verdict()
    }

    /// Takes the verdict for the next element if it is kept.
    pub(super) fn takes_kept(&mut self) -> bool {
        let is_kept = matches!(self.state.verdicts.front(), Some((ItemVerdict::Keep, _)));
        is_kept && self.next().is_some()
    }

    /// Returns the number of bytes that wait for a verdict.
    pub(super) fn waiting(&self) -> u64 {
        self.held.len() as u64
    }

    /// Whether the tester decides about most items by looking ahead.
    pub(super) fn looks_ahead(&self) -> bool {
        let conditions = self.state.program.items.conditions.as_ref();
        conditions.is_some_and(|conditions| conditions.names_only)
    }

    /// Decides about the item that the stage is asked about next, if its members in the window are enough for that.
    pub(super) fn look_ahead(&mut self, conditions: &ItemConditions, item: &mut ObjectAhead<'_>) {
        if conditions.names_only && !self.has_verdict() && !self.members.is_ready() {
            self.state.look_ahead(conditions, item);
        }
    }

    /// Reads ahead until there is a verdict for the item at `offset`, before which the stage has stopped. `input`: the
    /// document from there on.
    pub(super) fn read_from(&mut self, offset: u64, input: &[u8], item: AwaitedItem) {
        self.state.restart();
        self.engine.restart(self.config.clone());
        self.item = item;
        match item {
            AwaitedItem::Payload => self.engine.machine.skip_prefix(offset),
            AwaitedItem::Element => {
                self.engine.machine.skip_prefix(offset.saturating_sub(1));
                // The machine is then inside the payload.
                self.read(b"[");
            }
        }
        for piece in input.chunks(AHEAD) {
            self.read(piece);
            if self.has_verdict() {
                break;
            }
        }
    }

    /// Whether the stage can be fed: the next item has a verdict.
    pub(super) fn has_verdict(&self) -> bool {
        self.gives_up || !self.state.verdicts.is_empty()
    }

    /// Reads the next bytes of the document.
    fn read(&mut self, bytes: &[u8]) {
        if self.state.has_ended || self.failed.is_some() {
            return;
        }
        let fed = self.engine.feed(&mut self.state, bytes, &mut DiscardSink);
        if self.state.has_ended {
            // The bytes after the payload are not part of this machine's document.
            return;
        }
        match fed {
            Ok(_) => self.state.check_size(self.engine.machine.offset()),
            Err(error) => {
                // The open item may have become too large before the error, wherever the input was cut.
                self.state.check_size(error.offset().unwrap_or_default());
                // Whether an error after the decision counts depends on what the stage does with the item. The stage finds
                // it; a look ahead does not.
                if self.state.undecided.is_none() {
                    self.state.has_ended = true;
                    return;
                }
                // If the stage validates the whole document, it finds the same syntax errors. It also finds places that are too
                // deep, because it counts from the root of the document. Other limits may only concern the tests.
                let is_found = self.state.program.spec.validation == Validation::Full;
                self.gives_up = is_found && matches!(error.limit(), None | Some("depth"));
                self.failed = Some(error);
            }
        }
    }

    /// Reads input after the bytes that wait, and lets it wait as well. Returns all of it once there is a verdict.
    ///
    /// # Errors
    /// As for [`hold`](Self::hold).
    pub(super) fn read_waiting(
        &mut self,
        piece: &[u8],
        stage: &Machine,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.read(piece);
        self.hold(piece, stage)?;
        Ok(self.has_verdict().then(|| std::mem::take(&mut self.held)))
    }

    /// Takes back the memory of input that has waited and was read.
    pub(super) fn reuse(&mut self, mut input: Vec<u8>) {
        input.clear();
        self.held = input;
    }

    /// Holds input until there is a verdict. `stage`: the machine that has stopped before the item.
    ///
    /// # Errors
    /// There will never be a verdict.
    pub(super) fn hold(&mut self, input: &[u8], stage: &Machine) -> Result<(), Error> {
        if !self.has_verdict()
            && let Some(error) = self.failed.take()
        {
            // The first token of an element's path is its index, counted from where the tester has begun.
            let path = match (self.item, error.path().match_indices('/').nth(1)) {
                (AwaitedItem::Payload, _) => error.path(),
                (AwaitedItem::Element, Some((at, _))) => error.path().get(at..).unwrap_or_default(),
                (AwaitedItem::Element, None) => "",
            };
            let path = stage.next_pointer() + path;
            return Err(error.rephrased(path, None));
        }
        self.held.extend_from_slice(input);
        Ok(())
    }

    /// Ends the waiting, because the document has ended. Returns the input that the stage has not read.
    pub(super) fn give_up(&mut self) -> Vec<u8> {
        self.gives_up = true;
        std::mem::take(&mut self.held)
    }
}
