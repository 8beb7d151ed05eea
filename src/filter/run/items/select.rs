//! Selects from an item: walks the select trie, collects wildcard matches, and replays shared values.
//!
//! All sources of a select form one trie, so that a member is looked up once for all of them. A node at which the output
//! of a source begins is the selected value, or the container of the first wildcard of its path.
//!
//! | value at a node | what happens |
//! |---|---|
//! | no source begins here, but some begin below | the value is entered with the role `Select` |
//! | one source ends here | the value is emitted |
//! | one source with a projection ends here | `project.rs` |
//! | a wildcard of one source is next | an array is opened, and the value is entered with the role `Gather` |
//! | more than one output needs the value (`shared`) | the value is held, then read once for each of them |
//!
//! Each name counts once. Later members of the same name are duplicates.
//!
//! Example: `select: id, user, name=user.name, t=tags.*.t`. Outputs begin at the nodes `id`, `user`, `user.name` and
//! `tags`.
//!
//! ```text
//! item    {"id":1,"user":{"name":"Ada","mail":"x"},"tags":[{"t":1},{"u":2},{"t":3}]}
//!
//! id      one source ends here                  `"id":1`
//! user    one source ends here, one is below    held; read for `user`, then for the sources inside it
//! tags    the next token of `t` is a wildcard   writes `"t":[`, role Gather with token 1 (`*`)
//!   {     matched by `*`                        role Gather with token 2 (`t`)
//!   t     the last token                        an element of the output: `1`, later `3`
//!   ]     the end of the outer Gather           writes `]`
//!
//! output  {"id":1,"user":{"name":"Ada","mail":"x"},"name":"Ada","t":[1,3]}
//! ```
//!
//! Members are written in the order of the document. A held value is read for each source that begins with it, in the
//! order of the spec, then for the sources inside it.

use tamis_json::error::{LimitName, Raise};
use tamis_json::path::PathToken;
use tamis_json::path::trie::{Cursor, NodeId};
use tamis_json::policy::WantedNames;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::captured::{CapturedValue, ReplayTask};
use super::first_hit::HitOutcome;
use super::label::Label;
use super::seen_names::SeenNames;
use super::sighting::Sighting;
use super::{ContainerRole, Cx, ItemsStage, ItemsState};
use crate::filter::compile::select::SelectRules;
use crate::filter::compile::select_source::SelectSource;
use crate::filter::run::stage::{StageHandler, StageMachine, machine_config};
use crate::spec::DuplicateKeys;

impl ItemsState {
    /// Enters a container at a node of the select trie. `item`: it is an item. `left` counts the children that may
    /// still be found; at 0 the rest is skipped. Costs constant time, however many names are selected: `met` need not
    /// be cleared.
    pub(super) fn enter_select(
        &mut self,
        selection: &SelectRules,
        node: NodeId,
        object: bool,
        item: bool,
    ) {
        // The serial number makes all marks of earlier containers invalid without clearing them.
        self.serial += 1;
        let at = selection.node(node);
        let left = match (object, item && !self.single) {
            (true, false) => at.members,
            // Members of the envelope are kept only with a single object.
            (true, true) => at.members - at.passing_members,
            (false, _) => at.elements,
        };
        let names = object && self.seen.as_mut().is_some_and(|seen| SeenNames::begin(seen, node));
        if let Some(seen) = self.seen.as_mut().filter(|_| !object && !item) {
            SeenNames::array(seen, node);
        }
        let wanted = WantedNames { serial: self.serial, left };
        self.roles.push(ContainerRole::Select { node, wanted, item, names });
    }

    /// Handles a member or element of a container in an item. Looks the child up in the trie, unless the machine has
    /// done so. Children that no path leads to are skipped.
    ///
    /// # Errors
    /// A duplicate under `duplicate_keys: reject`.
    #[inline]
    pub(super) fn in_select(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let rules = cx.rules;
        let (Some(ContainerRole::Select { node, wanted, names, .. }), Some(selection)) =
            (self.roles.last_mut(), &rules.select)
        else {
            return Ok(Interest::Skip);
        };
        if wanted.left == 0 && rules.duplicates == DuplicateKeys::First {
            // Everything that could be selected was found: skip the rest.
            return Ok(Interest::SkipRest);
        }
        if let (ValueSlot::Member(key), true) = (slot, *names) {
            *names = key.with_name(|name| {
                self.seen.as_mut().is_some_and(|seen| SeenNames::add(seen, *node, name))
            });
        }
        // The machine has looked the name up already if the policy had the names.
        let child = match slot {
            ValueSlot::Member(key) => key.entry().or_else(|| {
                key.with_name(|name| name.and_then(|name| selection.trie.member(*node, name)))
            }),
            ValueSlot::Element(index) => selection.trie.element(*node, index),
            ValueSlot::Top => None,
        };
        let Some(child) = child else { return Ok(Interest::Skip) };
        self.select_child(cx, child, slot, kind)
    }

    /// Handles a member or element whose node in the select trie is known. A second child at the same node is a
    /// duplicate. It is dropped even if the first one was not a hit, as in `{"user":3,"user":{"name":"Ada"}}` with
    /// `select: user.name`.
    #[inline(always)]
    pub(super) fn select_child(
        &mut self,
        cx: &mut Cx<'_>,
        child: NodeId,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let (Some(ContainerRole::Select { wanted, .. }), Some(selection)) =
            (self.roles.last_mut(), &cx.rules.select)
        else {
            return Ok(Interest::Skip);
        };
        let at = selection.node(child);
        // Members of the envelope are only kept with a payload that is a single object.
        if at.passing && !self.single {
            return Ok(Interest::Skip);
        }
        let Some(met) = self.met.get_mut(child as usize) else { return Ok(Interest::Skip) };
        if !wanted.meet(met) {
            return self.duplicate(cx);
        }

        if at.shared {
            self.capture(child, false);
            return Ok(Interest::Copy);
        }
        match at.starts.first() {
            Some(source) => {
                let interest = self.source(cx, *source, at.depth, slot, kind)?;
                // The first hit of a source releases the output. From then on the machine need not ask.
                if self.found.get(*source as usize) == Some(&Sighting::Value)
                    && let Some(action) = self.actions.get_mut(child as usize)
                {
                    *action = at.action;
                }
                Ok(interest)
            }
            None => self.inside(cx, child, slot, kind),
        }
    }

    /// Handles a value that contains selected values. A scalar cannot contain them, so it is skipped, and its sources
    /// have no hit here.
    pub(super) fn inside(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let Some(selection) = &cx.rules.select else { return Ok(Interest::Skip) };
        let at = selection.node(node);
        if !at.kept.is_empty() && kind != ValueKind::Object {
            return self.inside_other_kind(cx, node, at, slot, kind);
        }
        self.enter_inside(cx, node, kind)
    }

    /// Enters a container with selected values at a node.
    pub(super) fn enter_inside(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let Some(selection) = &cx.rules.select else { return Ok(Interest::Skip) };
        if !kind.is_container() {
            return Ok(Interest::Skip);
        }
        self.enter_select(selection, node, kind == ValueKind::Object, false);
        Ok(Interest::Inspect)
    }

    /// Handles the value at which a source's output begins, `token` tokens into its path: the selected value, or the
    /// container of its first wildcard. A value that ends the path counts as found. In the probe this decides the search.
    ///
    /// Returns the interest in the value: skipped if the kind does not fit, `Stop` in a probe that has decided, and
    /// otherwise that of [`emit`](Self::emit) or of the array for a wildcard.
    #[inline(always)]
    pub(super) fn source(
        &mut self,
        cx: &mut Cx<'_>,
        number: u32,
        token: usize,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let Some(select) = &cx.rules.select else { return Ok(Interest::Skip) };
        let Some(source) = select.sources.get(number as usize) else {
            return Ok(Interest::Skip);
        };
        if source.passing && !self.single {
            return Ok(Interest::Skip);
        }
        // The rest of the path begins with a wildcard, which needs a container.
        let gathers = token < source.path.0.len();
        if gathers
            && source.keeps_kinds.is_some()
            && let Some(interest) = self.keep(cx, number, token, Some(slot), kind)
        {
            return Ok(interest);
        }
        if gathers && !kind.is_container() {
            return Ok(Interest::Skip);
        }
        if gathers {
            self.see(number, Sighting::Empty);
            return Ok(self.gather(cx, number, select, source, token));
        }
        if source.may_be_missed() && self.find(cx, number as usize) {
            return Ok(Interest::Stop);
        }
        let label = label_of(select, source, number, slot);
        match source.projection {
            None => Ok(self.emit(cx, label, kind, &source.exclude)),
            Some(node) => self.project(cx, node, label, kind, &source.exclude),
        }
    }

    /// Marks a source as found. Returns whether the probe has decided by that, and need not read on.
    #[inline(always)]
    pub(super) fn find(&mut self, cx: &Cx<'_>, number: usize) -> bool {
        let Some(found) = self.found.get_mut(number) else { return false };
        if *found == Sighting::Value {
            return false;
        }
        *found = Sighting::Value;
        self.decide(cx, HitOutcome::Hit);
        // A value that is read again is read to its end.
        self.has_decided() && self.replaying.is_none()
    }

    /// Opens an array for the matches of a source's first wildcard. The array has the source's key and exists even if
    /// nothing matches: `tags.*.t` on `{"tags":[]}` results in `"t":[]`. Its elements are the matches in the order of
    /// the document.
    #[cold]
    fn gather(
        &mut self,
        cx: &mut Cx<'_>,
        number: u32,
        select: &SelectRules,
        source: &SelectSource,
        token: usize,
    ) -> Interest {
        // Excluded values are read, too, so that hits do not depend on them.
        let is_excluded = source.exclude.is_hit();
        self.count_removed(cx.rules, &source.exclude);
        // Without matches the array is empty, and `drop_empty` drops it.
        let deferred = cx.rules.drop_empty;
        if !is_excluded {
            self.open_labelled(cx, Label::Given(select.key(number)), ValueKind::Array, deferred);
        }
        self.gathered = 0;
        let outer = !is_excluded;
        self.roles.push(ContainerRole::Gather {
            source: number,
            token,
            met: false,
            outer,
            each: false,
        });
        Interest::Inspect
    }

    /// Handles a member or element below a wildcard's container. Each level of the container has a role of its own
    /// with the next token, so nested wildcards (`a.*.b.*`) need no recursion. All matches are elements of the same
    /// array, numbered by `gathered`.
    ///
    /// # Errors
    /// A duplicate of a named child under `duplicate_keys: reject`.
    pub(super) fn in_gather(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let rules = cx.rules;
        let Some(ContainerRole::Gather { source: number, token, met, each, .. }) =
            self.roles.last_mut()
        else {
            return Ok(Interest::Skip);
        };
        let Some(source) =
            rules.select.as_ref().and_then(|select| select.sources.get(*number as usize))
        else {
            return Ok(Interest::Skip);
        };
        // A wildcard matches every child. A name after a wildcard is compared directly, without the trie.
        let here = match (source.path.0.get(*token), slot) {
            _ if *each => true,
            (Some(PathToken::Any), _) => true,
            (Some(PathToken::Name(name)), ValueSlot::Member(key)) => {
                if *met && rules.duplicates == DuplicateKeys::First {
                    return Ok(Interest::SkipRest);
                }
                let here = key.with_name(|spelled| spelled == Some(name.as_bytes()));
                if here && *met {
                    return self.duplicate(cx);
                }
                *met |= here;
                here
            }
            (Some(name), ValueSlot::Element(index)) => {
                let here = name.index() == Some(index);
                *met |= here;
                here
            }
            _ => false,
        };
        if !here {
            return Ok(Interest::Skip);
        }
        let (number, next) = (*number, *token + usize::from(!*each));
        // The end of the path: the match is an element of the output, which may have its own excluded parts.
        if next == source.path.0.len() {
            if source.may_be_missed() && self.find(cx, number as usize) {
                return Ok(Interest::Stop);
            }
            let keeps_kinds = source.keeps_kinds.is_some();
            if keeps_kinds && source.projection.is_some() && kind == ValueKind::Array {
                return Ok(self.gather_each(number, next));
            }
            let cursor = self.of_element(cx, source);
            // A projection leaves out what is not an object.
            let is_kept = source.projection.is_none() || keeps_kinds;
            self.gathered += u64::from(is_kept || kind == ValueKind::Object);
            return match source.projection {
                None => Ok(self.emit(cx, Label::None, kind, &cursor)),
                Some(node) => self.project(cx, node, Label::None, kind, &cursor),
            };
        }
        if source.keeps_kinds.is_some()
            && let Some(interest) = self.keep(cx, number, next, None, kind)
        {
            return Ok(interest);
        }
        if !kind.is_container() {
            self.see(number, Sighting::Elements);
            return Ok(Interest::Skip);
        }
        self.roles.push(ContainerRole::Gather {
            source: number,
            token: next,
            met: false,
            outer: false,
            each: false,
        });
        Ok(Interest::Inspect)
    }

    /// Returns the place of the next element of a source's array.
    pub(super) fn of_element(&self, cx: &Cx<'_>, source: &SelectSource) -> Cursor {
        cx.rules.element_place(&source.exclude, self.gathered)
    }

    /// Starts to hold the value that begins now, because more than one output needs it. From now on
    /// [`Handler::raw`](tamis_json::Handler::raw) appends its bytes to the held value instead of the output. `item`:
    /// the value is the item itself, whose opening bracket was already written. The end of the value calls `replay`.
    pub(super) fn capture(&mut self, node: NodeId, item: bool) {
        self.capture = Some(CapturedValue { node, item, bytes: Vec::new(), over: false });
    }
}

/// Returns the label of a selected value.
fn label_of<'a>(
    select: &'a SelectRules,
    source: &SelectSource,
    number: u32,
    slot: ValueSlot<'a>,
) -> Label<'a> {
    let key = select.key(number);
    match slot {
        // The key is spelled the same, so the member can be copied as a whole.
        ValueSlot::Member(name) if source.key_is_name && name.raw().len() + 2 == key.len() => {
            Label::Spelled(name)
        }
        _ => Label::Given(key),
    }
}

impl StageHandler<'_, ItemsStage> {
    /// Reads a complete held value once for each output that begins with it, then once for the outputs inside it. `end` is
    /// the offset of the end of the value, which stands for all offsets inside it.
    ///
    /// Held values may be nested: each level has a machine of its own, and the bytes of all levels count against the
    /// limit. Each level of overlapping paths reads the value once more, and the compiler limits the number of levels.
    ///
    /// # Errors
    /// The held values exceed the limit `item`, or a rule fails inside the value.
    #[cold]
    pub(super) fn replay(&mut self, end: u64) -> Result<(), Raise> {
        let outer = self.stage.state.replaying;
        let offset = *self.stage.state.replaying.get_or_insert(end);
        let Some(capture) = self.stage.state.capture.take() else { return Ok(()) };
        let limit = self.stage.state.limits.item();
        if capture.over {
            let message = format!("values needed by more than one output exceed {limit} bytes");
            return Err(Raise::limit(LimitName::Item, message));
        }
        let program = self.stage.program.clone();
        let rules = &program.items;
        let Some(selection) = &rules.select else { return Ok(()) };
        let node = selection.node(capture.node);
        let state = &mut self.stage.state;
        let bytes = capture.bytes.len() as u64;
        state.captured += bytes;
        state.counts.captured_peak = state.counts.captured_peak.max(state.captured);

        let token = node.depth;
        let starts = node.starts.iter().map(|source| ReplayTask::Source { source: *source, token });
        let is_object = capture.bytes.first() == Some(&b'{');
        let kept = node.kept.iter().filter(|_| !is_object);
        let kept = kept.map(|source| ReplayTask::Kept { source: *source, token });
        let inside = (node.members > 0).then_some(ReplayTask::Inside(capture.node));
        // The role `Replay` is the container of the value: `value` for the top of the held text carries out the task.
        for task in starts.chain(kept).chain(inside) {
            self.stage.state.roles.push(ContainerRole::Replay(task));
            let config = machine_config(&program.spec, &self.stage.state.limits, rules.drop_empty);
            let mut engine = match self.stage.state.replays.0.pop() {
                Some(mut engine) => {
                    engine.restart(config);
                    engine
                }
                None => StageMachine::new(config, self.stage.state.scanner),
            };
            let replayed = engine
                .feed(self.stage, &capture.bytes, self.sink)
                .and_then(|_| engine.end(self.stage, self.sink));
            self.stage.state.replays.0.push(engine);
            replayed.map_err(|error| error.to_raise())?;
            self.stage.state.roles.pop();
        }
        self.stage.state.replaying = outer;
        self.stage.state.captured -= bytes;
        // The brackets of an item belong to its selection, not to any of the tasks.
        if capture.item {
            let state = &mut self.stage.state;
            let mut cx = Cx { rules, sink: self.sink, offset };
            state.item_ends(&mut cx)?;
            state.writer.close(cx.sink, b'}');
        }
        Ok(())
    }
}
