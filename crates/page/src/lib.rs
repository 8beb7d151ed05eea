//! Extracts the main text of a page: HTML becomes text or Markdown, and a long text is cut at a suitable place. For
//! [tamis](https://docs.rs/tamis).
//!
//! **Internal: no stable API.**
//!
//! ```text
//! bytes ─▶ decode ─▶ tags ─▶ strip ─▶ render ──────────────▶ cut ─▶ text
//!            │        │        └─▶ outline ─▶ choose ─▶ render
//!         chardetng lol_html              ▲
//!                              article (a worker, bounded): dom_smoothie
//! ```
//!
//! It deliberately knows no JSON, no rules and no reports. Invariants: the work is linear in the number of
//! bytes for any input; nothing in the caller's thread recurses on the depth of a page; memory is bounded by the
//! constants below.

mod article;
mod choose;
mod css;
mod cut;
mod data;
mod decode;
mod elements;
mod escapes;
mod formula;
mod outline;
mod page;
mod panels;
mod references;
mod render;
mod segments;
mod strip;
mod style;
mod table;
mod tags;
mod values;

pub use choose::LeftOut;
pub use cut::{Cut, Sizes, TextLimit};
pub use decode::{Decoder, binary_kind, is_html};
pub use page::{From, Page, PageText};

/// How many bytes are inspected to detect the kind and the encoding of a document.
pub const SNIFFED: usize = 64 << 10;
/// The maximum number of open elements. Further ones are ignored: such a page has no useful structure left.
const OPEN: usize = 4096;
/// The maximum size in bytes of a tag or a comment, and of lol_html's buffers. Longer ones are dropped.
const TOKEN: usize = 4 << 20;
/// The maximum size in bytes of a stripped page that is searched for an article. If the page is larger, the text of
/// the whole body is kept.
const ARTICLE_BYTES: usize = 2 << 20;
/// The maximum number of elements in such a page.
const ARTICLE_NODES: usize = 30_000;
/// The maximum depth of elements in such a page. The tags of deeper elements are dropped; their text is kept.
const ARTICLE_DEPTH: usize = 128;
/// The maximum number of open formatting elements (`<b>`, `<i>`, …). A parser repeats them in each paragraph in which
/// they are open.
const ARTICLE_STYLES: usize = 8;
/// The maximum number of bytes of one line (one paragraph without a break) that are buffered.
const LINE: usize = 64 << 10;
/// The maximum size of a page's title in bytes.
const TITLE: usize = 1 << 10;
