//! The main text of a page: HTML to text or Markdown, and the place where a text that is too long is cut (seed: AIOS's
//! `content` filter; SPEC §10).
//!
//! ```text
//! bytes ─▶ decode ─▶ tags ─▶ strip ─▶ render ──▶ cut ─▶ text
//!                     │        └─▶ article (a worker, bounded) ─▶ render
//!                  lol_html           dom_smoothie
//! ```
//!
//! Knows no JSON, no rule, and no report: `filter` has those. Invariants: work is linear in the bytes, whatever they are;
//! nothing recurses on the depth of a page in the caller's thread; what is kept is bounded by the constants below.

mod article;
mod css;
mod cut;
mod decode;
mod page;
mod references;
mod render;
mod strip;
mod style;
mod table;
mod tags;
mod values;

pub(crate) use cut::{Cut, Sizes};
pub(crate) use decode::{Decoder, is_html};
pub(crate) use page::{From, Page};

/// Bytes that are looked at to find out what a document is.
pub(crate) const SNIFFED: usize = 64 << 10;
/// Elements that may be open at once. More are forgotten: a page that has so many has no structure left to know.
const OPEN: usize = 4096;
/// Bytes of one tag, comment or the like, and of what lol_html keeps. What is longer is left out.
const TOKEN: usize = 4 << 20;
/// Bytes of a stripped page in which an article is looked for; of a longer one all of the body's text is kept.
const ARTICLE_BYTES: usize = 2 << 20;
/// Elements of such a page.
const ARTICLE_NODES: usize = 30_000;
/// Elements inside one another in such a page: the tags of deeper ones are left out, their text is kept.
const ARTICLE_DEPTH: usize = 128;
/// Those that change how text looks (`<b>`, `<i>`, …): a parser repeats them in each paragraph that they are open in.
const ARTICLE_STYLES: usize = 8;
/// Bytes of one line of text, one paragraph without a break, that are kept before they are handed on.
const LINE: usize = 64 << 10;
/// Bytes of a page's title.
const TITLE: usize = 1 << 10;
