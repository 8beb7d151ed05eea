//! The purposes of runs.

/// The purpose of a run, and whether its input can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum RunMode {
    /// Produces the output of a document that arrives as a stream.
    Stream,
    /// Produces the output of a document in one chunk, which can be read again.
    Slice,
    /// Writes nothing; only finds the branch and the payload, which a run over a stream would hold the document for.
    FirstPass,
}
