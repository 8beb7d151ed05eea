//! Filters for gateways and services: HTTP bodies, streams of chunks, and a tower layer.
//!
//! Use it in a proxy or a server that forwards responses. A [`Transform`] is a filter of any kind for one body: JSON,
//! lines, events, text, or the output of a command. It is chosen for each response and driven by one of the adapters
//! here. None of them blocks the thread of a task.
//!
//! | adapter | feature | filters |
//! |---|---|---|
//! | [`transform_async`] | `tokio` | a reader into a writer |
//! | [`FilterStream`] | `tokio` | a stream of chunks |
//! | `FilterBody` | `http-body` | a body, for hyper, axum and tonic |
//! | `FilterLayer` | `tower` | the responses of a service |
//!
//! With the feature `decode`, compressed bodies are decoded before the filter, within the limits of `DecodeOptions`.
//!
//! ```
//! use tamis::http::{Transform, transform_async};
//! use tamis::{Program, Spec};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tamis::Error> {
//! let program = Program::compile(&Spec::new().select("id"))?;
//! let body = &b"data: {\"id\": 1, \"name\": \"x\"}\n\n"[..];
//! let transform = Transform::for_media_type("text/event-stream", &program).unwrap();
//! let mut output = Vec::new();
//! transform_async(transform, body, &mut output).await?;
//! assert_eq!(output, b"data: {\"id\":1}\n\n");
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "http-body")]
mod body;
#[cfg(feature = "decode")]
mod decode;
mod gather;
#[cfg(feature = "tower")]
mod layer;
#[cfg(not(feature = "decode"))]
mod no_decode;
mod steps;
pub(crate) mod streams;
mod transform;

/// Parts of the adapters, for filters of other packages of the workspace.
#[doc(hidden)]
pub mod parts {
    pub use super::gather::GatherSink;
    pub use super::transform::{BodyFilter, Pace};
}

#[cfg(feature = "http-body")]
pub use body::FilterBody;
#[cfg(feature = "decode")]
pub use decode::{ContentCoding, DecodeOptions};
#[cfg(feature = "tower")]
pub use layer::{Choice, FilterFuture, FilterLayer, FilterService};
#[cfg(not(feature = "decode"))]
use no_decode as decode;
pub use streams::{FilterStream, transform_async};
pub use tamis_json::limits::HeldPool;
#[cfg(feature = "text")]
pub use transform::RedactedTextReport;
pub use transform::{OtherReport, Outcome, Transform};
