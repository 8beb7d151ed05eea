//! Parts of a run over records that only the asynchronous drivers use.

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use super::{Record, RecordForm, Records};

impl<C: RecordForm, S: Sink, F: FnMut(u64, &Error)> Records<C, S, F> {
    /// Returns the largest number of bytes held at once so far.
    pub(crate) fn held_peak(&self) -> u64 {
        let Record { filter, sum, .. } = &self.record;
        sum.report.held_peak_bytes.max(filter.held_peak() + filter.sink().peak())
    }

    /// Returns the sink.
    pub(crate) fn sink(&self) -> &S {
        &self.record.sink
    }
}
