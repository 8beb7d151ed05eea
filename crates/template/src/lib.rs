//! Go's `text/template` over JSON items, which renders the summaries of [tamis](https://docs.rs/tamis).
//!
//! **Internal: no stable API**, but for what `tamis::template` exports. This crate knows nothing of filters: an item is
//! given as its bytes, counts as [`Totals`], and text is appended to a buffer. It is deliberately as complete as Go's, as
//! far as that makes sense for JSON.
//!
//! A response becomes a few lines of text: a header, a line for each item, a footer. Three templates are compiled once, as
//! [`Templates`], and rendered any number of times by any number of threads.
//!
//! ```text
//! template ── lex ── parse ──▶ tree ──┬── reads: the names that it uses
//!                                     │
//! item ────── item ──▶ value ─────────┴── run ── functions ── format, float, escape ──▶ text
//! ```
//!
//! ```
//! use tamis::template::{Templates, Totals};
//!
//! let templates = Templates::compile(Some("{{.Total}} issues"), "#{{.number}} {{.title}}", None)?;
//! let totals = Totals::new(1, 1);
//! let mut text = Vec::new();
//! templates.item(br#"{"number": 7, "title": "Fix crash"}"#, &totals, 1 << 20, &mut text)?;
//! assert_eq!(text, b"#7 Fix crash");
//! # Ok::<(), tamis::template::TemplateError>(())
//! ```

mod buffer;
mod compiled;
mod error;
mod escape;
mod float;
mod format;
mod functions;
mod item;
mod lex;
mod number;
mod parse;
mod quota;
mod reads;
mod run;
mod tree;
mod value;
mod verb;

#[cfg(test)]
mod tests;

use std::fmt;

use tamis_json::limits::Limits;
use tamis_json::regex_budget::RegexBudget;

use self::compiled::CompiledTemplate;
pub use self::error::{TemplateError, TemplateErrorKind, TemplatePart};
pub use self::item::Unread;
use self::value::{Datum, Record};

/// The three templates of a `compact`, in the syntax of Go's `text/template`.
///
/// ```
/// use tamis::template::{Templates, Totals};
///
/// let templates = Templates::compile(
///     Some("Issues ({{.Total}} of {{.Original}}):"),
///     "  #{{.number}} {{.title}}{{range .labels}} [{{.}}]{{else}} -{{end}}",
///     Some("{{.Omitted}} more"),
/// )?;
/// let totals = Totals::new(2, 31);
/// let room = 64 << 20;
/// let mut text = Vec::new();
/// templates.header(&totals, room, &mut text)?;
/// for item in [
///     r#"{"number":9007199254740993,"title":"Fix crash","labels":["bug","p1"]}"#,
///     r#"{"number":12345678901234567890123,"title":null}"#,
/// ] {
///     text.push(b'\n');
///     templates.item(item.as_bytes(), &totals, room, &mut text)?;
/// }
/// text.push(b'\n');
/// templates.footer(&totals, room, &mut text)?;
/// assert_eq!(
///     String::from_utf8_lossy(&text),
///     "Issues (2 of 31):
///   #9007199254740993 Fix crash [bug] [p1]
///   #12345678901234567890123 <no value> -
/// 29 more"
/// );
/// # Ok::<(), tamis::template::TemplateError>(())
/// ```
///
/// # Fields of a template
///
/// - A **header** sees `.Total` and `.Count` (both are the number of items that this stage gets), `.Original` (the number of
///   items in the response) and `.Omitted` (the difference). A **footer** also sees `.Remaining`, which is 0.
/// - An **item** sees its members, and `.Original` and `.Omitted` if its template names them and it has no such members. If
///   a name occurs more than once, its last value is used. Elements that are not objects are not rendered.
/// - **Integers** print exactly. Up to 64 bits they are integers. Larger ones are strings of their digits, which print, and
///   compare with other strings, but not with numbers.
/// - **Other numbers** are floats and print as in Go: `1.10` prints `1.1`, `1000000.0` prints `1e+06`, `1E20` prints `1e+20`.
///   A number that is too large for a float (`1E400`) is a string of its text. `-0` is a float. (Go programs that decode
///   JSON in the usual way turn every number into a float and print the integer 12345678 as `1.2345678e+07`. Here it prints
///   `12345678`.)
/// - **`null`** and a missing member print `<no value>`, and `<nil>` if `print` or `printf` prints them or a list contains
///   them. Both are false, equal each other and equal `nil`. A field of a missing member is missing; a field of `null` is an
///   error.
/// - Objects are ranged over and printed in the order of their keys. A lone surrogate is U+FFFD. Containers more than 100
///   levels deep are strings of their text.
///
/// The functions are those of Go, `and or not len index slice print printf println html js urlquery eq ne lt le gt ge`,
/// except `call`. `corpus/templates` has some 800 templates with the output of Go 1.27.
///
/// # Differences from Go
///
/// | | Go | here |
/// |---|---|---|
/// | Numbers of different types compare: `{{eq 1 1.0}}`, `{{gt .stars 99.5}}` | an error | by value, exactly: `true` |
/// | Float verbs take integers: `{{printf "%.2f" 5}}` | `%!f(int=05)` | `5.00` |
/// | A byte that `index` takes of a string: `{{printf "%T" (index "a" 0)}}` | `uint8` | `int` |
/// | Invalid UTF-8: `{{len "\xff"}}` | `1` | U+FFFD: `3` |
/// | `slice` within a character: `{{slice "é" 0 1}}` | half a character | an error |
/// | Complex numbers: `{{2i}}` | `(0+2i)` | an error |
/// | A number past `int` in a branch that does not run | ignored | an error |
///
/// # Limits
///
/// - A template has at most 64 KiB, and the three take at most 64 MiB of memory when they are compiled.
/// - At most 40 blocks, `else if`s and parentheses are nested. At most 100 templates and blocks run inside each other, with
///   at most 65,536 variables together.
/// - One rendering makes at most a million turns of loops and calls of templates, and compares or writes at most 512 MiB,
///   where each value that is computed counts as 64 bytes.
/// - The rendered text and the texts that functions return have at most 64 MiB together. Texts of up to 256 bytes that
///   functions return are not counted. The rendered text also has to fit into the caller's `room`.
///
/// Only the members of an item that its template names become values, or all of them if the template names `.` or `$` as a
/// whole. They may take 48 MiB of memory; in a filter, three times its limit `item`. None of these limits depends on the
/// time. Each is reported as [`TemplateErrorKind::Limit`].
pub struct Templates {
    header: Option<CompiledTemplate>,
    item: CompiledTemplate,
    footer: Option<CompiledTemplate>,
}

impl Templates {
    /// Compiles the templates of a `compact`.
    ///
    /// # Errors
    ///
    /// [`TemplateErrorKind::Parse`], with part, line and column, if a template is not valid;
    /// [`TemplateErrorKind::Limit`] if one has more than 64 KiB, or more than 40 blocks, `else if`s and parentheses inside
    /// each other, or if they take more than 64 MiB of memory together.
    ///
    /// ```
    /// use tamis::template::{TemplatePart, Templates};
    ///
    /// let error = Templates::compile(Some("{{.Total}}"), "{{.title | upper}}", None).unwrap_err();
    /// assert_eq!((error.part(), error.line(), error.column()), (TemplatePart::Item, Some(1), Some(12)));
    /// assert_eq!(error.to_string(), r#"item:1:12: there is no function "upper""#);
    /// ```
    pub fn compile(
        header: Option<&str>,
        item: &str,
        footer: Option<&str>,
    ) -> Result<Self, TemplateError> {
        Self::compile_within(header, item, footer, &mut RegexBudget::new())
    }

    /// Compiles the templates and charges their memory to an allowance that other templates share.
    pub fn compile_within(
        header: Option<&str>,
        item: &str,
        footer: Option<&str>,
        allowance: &mut RegexBudget,
    ) -> Result<Self, TemplateError> {
        let mut compile = |part, source: &str| CompiledTemplate::compile(part, source, allowance);
        Ok(Self {
            header: header.map(|source| compile(TemplatePart::Header, source)).transpose()?,
            item: compile(TemplatePart::Item, item)?,
            footer: footer.map(|source| compile(TemplatePart::Footer, source)).transpose()?,
        })
    }

    /// Returns whether the item template may read `.Original` or `.Omitted`, so that items can only be rendered when the
    /// counts are known.
    #[must_use]
    pub fn item_needs_totals(&self) -> bool {
        self.item.names_cut()
    }

    /// Returns an error if the header or footer names a member that it never has, which would print as `<no value>`.
    pub fn unknown(&self) -> Option<TemplateError> {
        [&self.header, &self.footer].into_iter().flatten().find_map(|part| part.unknown())
    }

    /// Appends the header, at most `room` bytes. Returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`TemplateErrorKind::Render`] or [`TemplateErrorKind::Limit`]; `out` is then as it was.
    pub fn header(
        &self,
        totals: &Totals,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, TemplateError> {
        let Some(template) = &self.header else { return Ok(false) };
        template.render(&totals.members(false), room, out)?;
        Ok(true)
    }

    /// Appends the text of one item, at most `room` bytes. `item` is its JSON text. Returns `false` and appends nothing if
    /// the item is not an object.
    ///
    /// `totals` are only used if [`item_needs_totals`](Self::item_needs_totals). Members of the item take precedence over
    /// them.
    ///
    /// # Errors
    ///
    /// [`TemplateErrorKind::Data`] if the item is not JSON, [`TemplateErrorKind::Render`] or
    /// [`TemplateErrorKind::Limit`]; `out` is then as it was.
    pub fn item(
        &self,
        item: &[u8],
        totals: &Totals,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, TemplateError> {
        match self.read(item, Limits::new().item()) {
            Ok(Some(item)) => self.read_item(item, totals, room, out),
            Ok(None) => Ok(false),
            Err(unread) => {
                let kind = match unread {
                    Unread::Malformed(_) => TemplateErrorKind::Data,
                    Unread::TooLarge(_) => TemplateErrorKind::Limit,
                };
                Err(TemplateError::new(kind, TemplatePart::Item, unread.to_string()))
            }
        }
    }

    /// Reads the members of an item that its template can name. Returns `None` if the item is not an object. Their memory is
    /// bounded by a small multiple of `limit`.
    pub fn read(&self, item: &[u8], limit: u64) -> Result<Option<ItemMembers>, Unread> {
        Ok(item::read_object(item, self.item.reads(), limit)?.map(ItemMembers))
    }

    /// Appends the text of an item that was read.
    pub fn read_item(
        &self,
        item: ItemMembers,
        totals: &Totals,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, TemplateError> {
        let ItemMembers(mut members) = item;
        if self.item.names_cut() {
            for (name, value) in totals.cut() {
                members.add(name, value);
            }
        }
        self.item.render(&members, room, out)?;
        Ok(true)
    }

    /// Appends the footer, at most `room` bytes. Returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`TemplateErrorKind::Render`] or [`TemplateErrorKind::Limit`]; `out` is then as it was.
    pub fn footer(
        &self,
        totals: &Totals,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, TemplateError> {
        let Some(template) = &self.footer else { return Ok(false) };
        template.render(&totals.members(true), room, out)?;
        Ok(true)
    }
}

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Templates")
            .field("header", &self.header.is_some())
            .field("footer", &self.footer.is_some())
            .finish_non_exhaustive()
    }
}

/// The members of an item that its template can name.
pub struct ItemMembers(Record);

/// The counts that a header and a footer can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    total: u64,
    original: u64,
}

impl Totals {
    /// Creates the counts: the response has `original` items, of which `total` are rendered.
    #[must_use]
    pub const fn new(total: u64, original: u64) -> Self {
        Self { total, original }
    }

    fn cut(&self) -> [(&'static str, Datum); 2] {
        [
            ("Original", count(self.original)),
            ("Omitted", count(self.original.saturating_sub(self.total))),
        ]
    }

    fn members(&self, is_footer: bool) -> Record {
        let mut members = Record::default();
        for (name, value) in self.cut() {
            members.add(name, value);
        }
        members.add("Total", count(self.total));
        members.add("Count", count(self.total));
        if is_footer {
            members.add("Remaining", count(0));
        }
        members
    }
}

fn count(count: u64) -> Datum {
    i64::try_from(count).map_or(Datum::Uint(count), Datum::Int)
}
