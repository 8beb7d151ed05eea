//! Follows the path from the document to its payload, and handles siblings and duplicates on it.
//!
//! The containers on the path have the role `OnPath`. Their other members are siblings, which are kept or dropped. The
//! payload is an array, whose elements are items, or an object, which is one item. Any other value is kept, unless
//! `on_error: closed` refuses it.

use super::first_hit::HitOutcome;
use super::{ContainerRole, Cx, ItemsState, PayloadTarget};
use crate::error::Raise;
use crate::filter::compile::items::WaitFrom;
use crate::json::{Interest, ValueKind, ValueSlot};
use crate::path::{Path, PathToken};

impl ItemsState {
    /// Handles the document itself: refuses it, enters it, or treats it as the payload.
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
            return self.payload(cx, slot, kind, "");
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

    /// Handles a member or element of a container on the path to the payload.
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
        if let Some(ContainerRole::OnPath { members, met, .. }) = self.roles.last_mut() {
            *members += 1;
            *met |= here;
        }
        if again {
            return self.duplicate(cx);
        }
        if here && last {
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
            return self.payload(cx, slot, kind, &pointer);
        }
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

    /// Handles the payload. `pointer` is its place, for the report.
    pub(super) fn payload(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        pointer: &str,
    ) -> Result<Interest, Raise> {
        if kind.is_container() && self.must_wait(cx.rules, WaitFrom::Payload) {
            return Ok(Interest::Stop);
        }
        self.payload_met = true;
        self.counts.root = Some(pointer.to_owned());
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

    /// Handles a document without a value at the root, when the document ends.
    pub(super) fn no_payload(&mut self, cx: &mut Cx<'_>) -> Result<(), Raise> {
        if !cx.rules.judges {
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
