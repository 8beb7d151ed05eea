//! Insight into payloads and filters: what is in a document, which filter fits it, and what a filter did to it.
//!
//! | module | for |
//! |---|---|
//! | [`look`] | the bytes and tokens of a document per path, of a chat per tool, of a text per kind of line |
//! | [`suggest`] | a filter that samples suggest, and whether samples still fit a filter |
//! | [`why`] | which rule of a filter removed which bytes, per rule and path |

// Table of contents only. Nothing here changes a document: the modules read, count and describe.

pub mod look;
pub mod suggest;
pub mod why;
