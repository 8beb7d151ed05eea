//! The report of rules that ran inside strings.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Report, add_counts, is_zero};

/// The report of one entry of `json_strings`: the sums over all strings at its pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InnerReport {
    /// The pointer of the entry.
    pub at: String,
    /// Number of strings whose JSON was filtered.
    pub filtered: u64,
    /// Number of values that are not strings with JSON, and were kept or dropped.
    pub not_json: u64,
    /// Number of bytes of the filtered texts, after unescaping.
    #[serde(rename = "filter_original_bytes")]
    pub original_bytes: u64,
    /// Number of bytes of the texts that are left, before escaping.
    #[serde(rename = "filter_result_bytes")]
    pub result_bytes: u64,
    /// Number of elements of the payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_seen: Option<u64>,
    /// Number of elements that are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<u64>,
    /// Number of elements that `where` dropped.
    #[serde(skip_serializing_if = "is_zero")]
    pub where_dropped: u64,
    /// Number of values that `on_kind: keep` kept although they are of another kind than a path needs.
    #[serde(skip_serializing_if = "is_zero")]
    pub kind_kept: u64,
    /// Number of values that `omit` left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_members: u64,
    /// Number of values that projections left out, because they are not objects.
    #[serde(skip_serializing_if = "is_zero")]
    pub projection_skipped: u64,
    /// Selected paths that none of the texts has.
    #[serde(rename = "filter_partial_miss", skip_serializing_if = "Vec::is_empty")]
    pub partial_miss: Vec<String>,
    /// The first warning that rules did not apply to a text.
    #[serde(rename = "filter_error", skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The first reason why `compact` left a text unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_error: Option<String>,
    /// Whether a budget shortened a text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_applied: bool,
    /// Whether a text exceeds its budget.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_exceeded: bool,
    /// Number of operations of `patches` that were applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches_applied: Option<u64>,
    /// Number of members that were dropped because their name occurred before.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates_dropped: u64,
    /// Whether the rest of a text was neither read nor validated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tail_unread: bool,
    /// Number of replaced values, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// The reports of the entries of `json_strings` inside the texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<InnerReport>,
    /// Bytes that the rules inside held and that the meter of the run does not know.
    #[serde(skip)]
    pub(crate) held_peak_bytes: u64,
}

impl InnerReport {
    /// The report of an entry before the first string.
    pub(crate) fn new(at: &str) -> Self {
        Self { at: at.to_owned(), ..Self::default() }
    }

    /// Adds the report of one text.
    pub(crate) fn add(&mut self, one: &Report) {
        self.merge(&Self {
            at: String::new(),
            filtered: 1,
            not_json: 0,
            original_bytes: one.original_bytes,
            result_bytes: one.output_bytes.unwrap_or(one.result_bytes),
            items_seen: one.items_seen,
            items_kept: one.items_kept,
            where_dropped: one.where_dropped,
            kind_kept: one.kind_kept,
            omitted_members: one.omitted_members,
            projection_skipped: one.projection_skipped,
            partial_miss: one.partial_miss.clone(),
            fallback: one.fallback.clone(),
            compact_error: one.compact_error.clone(),
            budget_applied: one.budget_applied,
            budget_exceeded: one.budget_exceeded,
            patches_applied: one.patches_applied,
            duplicates_dropped: one.duplicates_dropped,
            tail_unread: one.tail_unread,
            redacted: one.redacted.clone(),
            inner: one.inner.clone(),
            held_peak_bytes: one.held_peak_bytes,
        });
    }

    /// Adds the reports of all entries of one run to those of others.
    pub(crate) fn add_all(sums: &mut Vec<Self>, more: &[Self]) {
        if sums.is_empty() {
            sums.extend_from_slice(more);
            return;
        }
        for (sum, one) in sums.iter_mut().zip(more) {
            sum.merge(one);
        }
    }

    /// Adds the sums of another run.
    fn merge(&mut self, more: &Self) {
        if more.filtered > 0 && self.filtered > 0 {
            self.partial_miss.retain(|path| more.partial_miss.contains(path));
        } else if self.filtered == 0 {
            self.partial_miss.clone_from(&more.partial_miss);
        }
        self.filtered += more.filtered;
        self.not_json += more.not_json;
        self.original_bytes += more.original_bytes;
        self.result_bytes += more.result_bytes;
        self.items_seen = sum(self.items_seen, more.items_seen);
        self.items_kept = sum(self.items_kept, more.items_kept);
        self.where_dropped += more.where_dropped;
        self.kind_kept += more.kind_kept;
        self.omitted_members += more.omitted_members;
        self.projection_skipped += more.projection_skipped;
        keep_first(&mut self.fallback, more.fallback.as_ref());
        keep_first(&mut self.compact_error, more.compact_error.as_ref());
        self.budget_applied |= more.budget_applied;
        self.budget_exceeded |= more.budget_exceeded;
        self.patches_applied = sum(self.patches_applied, more.patches_applied);
        add_counts(&mut self.redacted, &more.redacted);
        self.duplicates_dropped += more.duplicates_dropped;
        self.tail_unread |= more.tail_unread;
        self.held_peak_bytes = self.held_peak_bytes.max(more.held_peak_bytes);
        Self::add_all(&mut self.inner, &more.inner);
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

fn keep_first(first: &mut Option<String>, more: Option<&String>) {
    if first.is_none() {
        *first = more.cloned();
    }
}
