//! The main text of HTML pages, of JSON responses with a text, and of plain text.
//!
//! Use it for tools that fetch pages: a model needs the article, not the navigation, scripts and hidden elements around
//! it. A [`Content`] is a rule of a spec ([`Spec::content`](crate::Spec::content)). To compile such a spec, enable the
//! feature `content`.
//!
//! ```
//! # #[cfg(feature = "content")] {
//! use tamis::content::{Content, ContentFormat, ContentSource};
//! use tamis::{Program, Spec, filter_slice};
//!
//! let content = Content::new().max_tokens(2000).format(ContentFormat::Markdown);
//! let program = Program::compile(&Spec::new().content(content))?;
//! let page = b"<nav>Home</nav><h1>Tides</h1><p>High water is at <b>noon</b>.";
//! let (output, report) = filter_slice(&program, page)?;
//! assert_eq!(output, b"# Tides\n\nHigh water is at noon.");
//! assert_eq!(report.content_from, Some(ContentSource::Article));
//! # }
//! # Ok::<(), tamis::Error>(())
//! ```

pub use crate::report::{ContentSource, LeftOut};
pub use crate::spec::content::{Content, ContentFormat};
