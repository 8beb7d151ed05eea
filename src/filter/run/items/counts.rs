//! [`ItemCounts`]: the counts of the stage for the report.

/// The counts for the report.
#[derive(Clone, Debug, Default)]
pub(in crate::filter::run) struct ItemCounts {
    /// Elements of the payload, as far as it was read. `None` if it is not an array.
    pub(in crate::filter::run) seen: Option<u64>,
    /// Elements that `max_items` kept.
    pub(in crate::filter::run) kept: u64,
    /// Elements that `where` dropped.
    pub(in crate::filter::run) dropped: u64,
    /// `where` dropped the document, which is one of many.
    pub(in crate::filter::run) is_document_dropped: bool,
    /// `stop_early` ended the run.
    pub(in crate::filter::run) stopped: bool,
    /// Members that were dropped as duplicates.
    pub(in crate::filter::run) duplicates: u64,
    /// Values that were kept although they are of another kind than a path needs.
    pub(in crate::filter::run) other_kinds: u64,
    /// Values that `omit` removed.
    pub(in crate::filter::run) omitted: u64,
    /// Values that a projection left out, because they are not objects.
    pub(in crate::filter::run) projection_skipped: u64,
    /// The payload as a JSON Pointer, once it has begun.
    pub(in crate::filter::run) root: Option<String>,
    /// Why the select or all rules on items do not apply, or why the run failed.
    pub(in crate::filter::run) error: Option<String>,
    /// The largest number of bytes held at once, over all levels of held values.
    pub(in crate::filter::run) captured_peak: u64,
}
