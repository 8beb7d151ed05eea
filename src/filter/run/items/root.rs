//! Follows the path from the document to its payload, and handles siblings and duplicates on it.
//!
//! The containers on the path have the role `OnPath`. Their other members are siblings, which are kept or dropped. The
//! payload is an array, whose elements are items, or an object, which is one item (or a map, see `members.rs`). Any other value is kept, unless
//! `on_error: closed` refuses it.
//!
//! A child of a container with the role `OnPath` is compared with the target:
//!
//! | target | on the path | the payload |
//! |---|---|---|
//! | `At(path)` | its name or index is token `step` of the path | the token is the last one |
//! | `Member(n)` | it is child `n` of the document | always |
//! | `First` | it is the first member of the document that is an array | always |
//!
//! Example: `root: /data/items` and `{"n":1,"data":{"items":[1,2]},"data":3}`.
//!
//! ```text
//! value({)       the document     writes `{`             OnPath, step 0
//! value(n)       a sibling        `"n":1`                dropped instead under `siblings: drop`
//! value(data)    on the path      writes `"data":{`      OnPath, step 1
//! value(items)   the payload      writes `"items":[`     Items
//! value(data)    a duplicate      dropped                an error under `duplicate_keys: reject`
//! ```

use tamis_json::error::Raise;
use tamis_json::path::{Path, PathToken};
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::first_hit::HitOutcome;
use super::{ContainerRole, Cx, ItemsState, PayloadTarget};
use crate::filter::compile::items::{ItemRules, RootRule, WaitFrom};
use crate::filter::run::root::Payload;

impl PayloadTarget {
    /// Returns the location of the payload, as far as it is known before the document.
    pub(super) fn before(rules: &ItemRules, payload: Option<Payload>) -> Self {
        match (payload, &rules.root) {
            (Some(Payload::Member(number)), _) => Self::Member(number),
            (Some(Payload::RawText), _) => Self::RawText,
            (None, RootRule::First) => Self::First,
            (None, RootRule::At(path)) => Self::At(path.clone()),
            _ => Self::Document,
        }
    }
}

impl ItemsState {
    /// Handles the document itself: refuses it, enters it, or treats it as the payload. The checks come in this order:
    /// documents that are errors in any case, then scalars, then the search for the first hit. Only after the search
    /// is a bracket written.
    ///
    /// # Errors
    /// Under `on_error: closed`, if nothing can be selected from a document of this kind.
    pub(super) fn document(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        if cx.rules.refuses {
            let message = "cannot select from the response of a failed call";
            return Err(self.closed_miss(cx, message.to_owned()));
        }
        if cx.rules.closed && cx.rules.select.is_some() {
            if self.target == PayloadTarget::RawText {
                let message = "cannot select from the document: it is plain text in `raw`";
                return Err(self.closed_miss(cx, message.to_owned()));
            }
            if !kind.is_container() {
                let message = "cannot select from the document: it is a scalar";
                return Err(self.closed_miss(cx, message.to_owned()));
            }
        }
        if !kind.is_container() {
            // There is no payload, and this is not a miss.
            self.payload_met = true;
            return Ok(self.pass(cx, slot));
        }
        // The checks above need no search for a hit: their result is certain with the first byte.
        if self.must_wait(cx.rules, WaitFrom::Document) {
            return Ok(Interest::Stop);
        }
        let here = match self.target {
            PayloadTarget::Document | PayloadTarget::RawText => true,
            PayloadTarget::Member(_) | PayloadTarget::First => kind == ValueKind::Array,
            PayloadTarget::At(_) => false,
        };
        if here {
            return self.payload(cx, slot, kind, String::new());
        }
        // The payload is below. The envelope is written with the members that are kept.
        self.open(cx, slot, kind);
        self.roles.push(ContainerRole::OnPath {
            step: 0,
            members: 0,
            met: false,
            object: kind == ValueKind::Object,
        });
        Ok(Interest::Inspect)
    }

    /// Handles a member or element of a container on the path to the payload. Nothing changes before the search for a
    /// hit has ended: the stage returns `Stop`, and the machine later asks about the same value again.
    ///
    /// # Errors
    /// A duplicate under `duplicate_keys: reject`, or a payload that `on_error: closed` refuses.
    pub(super) fn on_the_way(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let Some(ContainerRole::OnPath { step, members, met, .. }) = self.roles.last() else {
            return Ok(Interest::Skip);
        };
        // The probe has its decision and needs no more input.
        if self.has_decided() {
            return Ok(Interest::Stop);
        }
        let (step, members, met) = (*step, *members, *met);
        // Whether the value is on the path, whether it is then the payload, and whether it is a duplicate of a member on
        // the path.
        let (here, last, again) = match &self.target {
            PayloadTarget::At(path) => {
                let token = path.0.get(step);
                let here = match slot {
                    ValueSlot::Member(key) => match token {
                        Some(PathToken::Name(name)) => {
                            key.with_name(|spelled| spelled == Some(name.as_bytes()))
                        }
                        _ => false,
                    },
                    ValueSlot::Element(index) => token.and_then(PathToken::index) == Some(index),
                    ValueSlot::Top => false,
                };
                (here && !met, step + 1 == path.0.len(), here && met)
            }
            PayloadTarget::Member(number) => {
                (members == *number, true, met && self.is_payload_name(slot))
            }
            // The first array of the document.
            _ => (kind == ValueKind::Array && !met, true, met && self.is_payload_name(slot)),
        };
        // Before anything changes: after the search the machine asks about the value again.
        if here && last && self.must_wait(cx.rules, WaitFrom::Payload) && kind.is_container() {
            return Ok(Interest::Stop);
        }
        if here && last && self.must_test(kind) {
            return Ok(Interest::Stop);
        }
        if let Some(ContainerRole::OnPath { members, met, .. }) = self.roles.last_mut() {
            *members += 1;
            *met |= here;
        }
        if again && !self.is_for_factor {
            return self.duplicate(cx);
        }
        if here && last {
            // The name is kept, so that a later member of this name is recognised as a duplicate.
            let pointer = match (&self.target, slot) {
                (PayloadTarget::At(path), _) => path.to_pointer(),
                (_, ValueSlot::Member(key)) => {
                    self.payload_name = key.with_name(|name| name.map(<[u8]>::to_vec));
                    let name =
                        String::from_utf8_lossy(self.payload_name.as_deref().unwrap_or(key.raw()));
                    Path(vec![PathToken::Name(name.into())]).to_pointer()
                }
                _ => String::new(),
            };
            return self.payload(cx, slot, kind, pointer);
        }
        // A scalar on the path, as in `{"data":3}` for `/data/items`, is handled as a sibling, and a later `data` is a
        // duplicate.
        if here && kind.is_container() {
            self.open(cx, slot, kind);
            let object = kind == ValueKind::Object;
            self.roles.push(ContainerRole::OnPath {
                step: step + 1,
                members: 0,
                met: false,
                object,
            });
            return Ok(Interest::Inspect);
        }
        if cx.rules.keep_siblings { Ok(self.pass(cx, slot)) } else { Ok(Interest::Skip) }
    }

    /// Returns whether a member has the name of the payload, which was found by its index or its kind.
    pub(super) fn is_payload_name(&self, slot: ValueSlot<'_>) -> bool {
        let (ValueSlot::Member(key), Some(payload)) = (slot, &self.payload_name) else {
            return false;
        };
        key.with_name(|name| name == Some(payload))
    }

    /// Handles the payload. `pointer` is its place, for the report. In the probe, the payload ends the search with a
    /// hit if there is no select, or if it is a scalar that is kept.
    ///
    /// # Errors
    /// A payload that is a scalar under `on_error: closed` with a select.
    pub(super) fn payload(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        pointer: String,
    ) -> Result<Interest, Raise> {
        if kind.is_container() && self.must_wait(cx.rules, WaitFrom::Payload) {
            return Ok(Interest::Stop);
        }
        if self.tests_object(kind)
            && let Some(interest) = self.tested_object(cx, slot)?
        {
            return Ok(interest);
        }
        self.payload_met = true;
        self.counts.root = Some(pointer);
        // Without a select the payload itself is the hit that `on_error: closed` requires.
        let selects = cx.rules.select.is_some();
        if !selects || !(kind.is_container() || cx.rules.closed) {
            self.decide(cx, HitOutcome::Hit);
            if self.has_decided() {
                return Ok(Interest::Stop);
            }
        }
        match kind {
            ValueKind::Array => {
                self.counts.seen = Some(0);
                self.open(cx, slot, kind);
                self.roles.push(ContainerRole::Items);
                Ok(Interest::Inspect)
            }
            ValueKind::Object if self.limits_members(cx.rules) => Ok(self.open_members(cx, slot)),
            // The object is the only item.
            ValueKind::Object => {
                self.single = true;
                self.item(cx, slot, kind)
            }
            _ if cx.rules.closed && cx.rules.select.is_some() => {
                let message =
                    "cannot select from the payload: it is neither an object nor an array";
                Err(self.closed_miss(cx, message.to_owned()))
            }
            _ => Ok(self.pass(cx, slot)),
        }
    }

    /// Handles a document without a value at the root, when the document ends. Without `on_error: closed` the output
    /// is already written, and only the report has the message. In the response of a failed call a missing payload is
    /// not reported (`judges`).
    pub(super) fn no_payload(&mut self, cx: &mut Cx<'_>) -> Result<(), Raise> {
        if !cx.rules.judges || self.is_for_factor {
            return Ok(());
        }
        let message = match &self.target {
            PayloadTarget::At(path) => format!("no value at root {path}"),
            _ => "the document has no array to use as the payload".to_owned(),
        };
        if cx.rules.closed {
            return self.total_miss(cx, message);
        }
        self.counts.error = Some(format!("{message}: the rules on items have no effect"));
        Ok(())
    }
}
