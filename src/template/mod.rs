//! What `compact` renders items with: Go's `text/template`.
//!
//! A response becomes a few lines of text: a header, a line for each item, a footer. Three templates are compiled once, as
//! [`Templates`], and rendered any number of times, by any number of threads. Knows nothing of filters: an item comes as
//! its bytes, counts come as [`Totals`], text goes to the end of a buffer.

mod engine;
mod error;
mod functions;
mod lex;
mod meter;
mod quote;
mod reads;
mod rewrite;
mod value;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use gtmpl_ng::Value;

use crate::limits::Limits;
use crate::regex_budget::RegexBudget;

use self::engine::{Data, Engine, Template};
pub use self::error::{TemplateError, TemplateErrorKind, TemplatePart};
pub(crate) use self::value::Unread;

/// The three templates of a `compact`: Go's `text/template`.
///
/// ```
/// use tamis::{Templates, Totals};
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
/// # Ok::<(), tamis::TemplateError>(())
/// ```
///
/// # What a template sees
///
/// - A **header**: `.Total` and `.Count` (both the number of items that are rendered or skipped here), `.Original` (how many
///   the response had), `.Omitted` (the difference). A **footer** sees `.Remaining`, too, which is 0.
/// - An **item** sees its members, and `.Original` and `.Omitted` if its template names them and it has no such members.
///   Of members of one name the last counts. Elements that are no objects are not rendered.
/// - **Integers** print exactly. Up to 64 bits they are integers; past that they are strings of their digits, which print,
///   and compare with other strings, but not with numbers.
/// - **Other numbers** are floats and print as Go prints them: `1.10` is `1.1`, `1000000.0` is `1e+06`, `1E20` is `1e+20`.
///   One too large for a float (`1E400`) is a string of its text. `-0` is `-0`. (Go programs that decode JSON the usual
///   way make a float of every number and print the integer 12345678 as `1.2345678e+07`; here it is `12345678`.)
/// - **`null`** and a member that is missing print `<no value>`, and `<nil>` where `print` or `printf` prints them or a list
///   contains them. Both are false, equal each other and `nil`. A field of what is missing is missing; a field of `null`
///   is an error.
/// - Objects are ranged over and printed in the order of their keys. A lone surrogate is U+FFFD. Containers inside more than
///   100 others are strings of their text.
///
/// Go's functions are there: `and or not len index slice print printf println html js urlquery eq ne lt le gt ge`; but not
/// `call`, since there is nothing to call. `corpus/templates` has some 460 templates with what Go 1.27 makes of them.
///
/// # Differences from Go
///
/// | | Go | here |
/// |---|---|---|
/// | Numbers of different types compare: `{{eq 1 1.0}}`, `{{gt .stars 99.5}}` | an error | by value, exactly: `true` |
/// | Float verbs take integers: `{{printf "%.2f" 5}}` | `%!f(int=05)` | `5.00` |
/// | A float that is zero, `0.0`, `0e0`: `{{printf "%T" .x}}` | `float64` | `int`; it prints `0` in both |
/// | `-0` in `and` and `or`, or declared in `if`: `{{or .x 5}}` | is false: `5` | is true: `-0` |
/// | `%x` and `%b` of floats: `{{printf "%x" 1.5}}` | `0x1.8p+00` | `%!x(float64=1.5)` |
/// | `%#v` is `%v`: `{{printf "%#v" "s"}}` | `"s"` | `s` |
/// | Null in a list or object with a verb that is not its own: `{{printf "%d" .list}}` | `<nil>` | `%!d(<nil>)` |
/// | Bytes that are no character: `{{len "\xff"}}` | `1` | U+FFFD: `3` |
/// | `slice` within a character: `{{slice "é" 0 1}}` | half a character | an error |
/// | Complex numbers: `{{2i}}` | `(0+2i)` | an error |
/// | A number past `int` in a branch that does not run | ignored | an error |
/// | A second `define` of a name, with nothing but white space | ignored | an error |
///
/// # Limits
///
/// 64 KiB of template, and 64 MiB of memory for what the three compile to. 40 blocks, `else if`s and parentheses inside
/// each other; 100 templates and blocks that run inside each other. In one rendering: a million turns of loops and calls of
/// templates, 512 MiB of values that are looked at (a template that names `$` in a loop looks at all of it each time),
/// 64 MiB of text and of copies together (what variables, loops and functions hold, beyond 256 bytes each), and the caller's
/// `room` for the text.
///
/// Of an item only the members become values that the template can name: all of them, where it names `.` or `$` as a
/// whole. Those may take 48 MiB of memory; in a filter, three times its limit `item`. None of these limits depends on the
/// time; each is a [`TemplateErrorKind::Limit`].
pub struct Templates {
    header: Option<Box<dyn Template>>,
    item: Box<dyn Template>,
    footer: Option<Box<dyn Template>>,
}

impl Templates {
    /// Compiles the templates of a `compact`.
    ///
    /// # Errors
    ///
    /// [`TemplateErrorKind::Parse`], with part, line and column, if one is no template;
    /// [`TemplateErrorKind::Limit`] if one has more than 64 KiB, or more than 40 blocks, `else if`s and parentheses inside
    /// each other, or if they take more than 64 MiB of memory together.
    ///
    /// ```
    /// use tamis::{TemplatePart, Templates};
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

    /// The same where other templates have taken their part of the allowance.
    pub(crate) fn compile_within(
        header: Option<&str>,
        item: &str,
        footer: Option<&str>,
        allowance: &mut RegexBudget,
    ) -> Result<Self, TemplateError> {
        let mut compile = |part, source: &str| -> Result<Box<dyn Template>, TemplateError> {
            Ok(Box::new(Engine::compile(part, source, allowance)?))
        };
        Ok(Self {
            header: header.map(|source| compile(TemplatePart::Header, source)).transpose()?,
            item: compile(TemplatePart::Item, item)?,
            footer: footer.map(|source| compile(TemplatePart::Footer, source)).transpose()?,
        })
    }

    /// Whether items can be rendered only once the counts are known: their template names `.Original` or `.Omitted`.
    #[must_use]
    pub fn item_needs_totals(&self) -> bool {
        self.item.names_cut()
    }

    /// What is named by a header or a footer that does not have it, with its place: it always prints as `<no value>`.
    pub(crate) fn unknown(&self) -> Option<TemplateError> {
        [&self.header, &self.footer].into_iter().flatten().find_map(|part| part.names_unknown())
    }

    /// Appends the header, at most `room` bytes of it. False if there is none.
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
        template.render(&Data::new(totals.members(false)), room, out)?;
        Ok(true)
    }

    /// Appends what the item template makes of one item, the JSON text `item`, at most `room` bytes of it. False, and
    /// nothing, if the item is no object.
    ///
    /// `totals` are looked at only where [`item_needs_totals`](Self::item_needs_totals); members of the item go before
    /// them.
    ///
    /// # Errors
    ///
    /// [`TemplateErrorKind::Data`], if the item is not JSON, [`TemplateErrorKind::Render`] or
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

    /// Reads the members of an item that its template can name; none, if the item is no object. What they take is bounded by
    /// a small multiple of `limit`.
    pub(crate) fn read(&self, item: &[u8], limit: u64) -> Result<Option<ItemMembers>, Unread> {
        Ok(value::read_object(item, self.item.reads(), limit)?.map(ItemMembers))
    }

    /// Appends what the item template makes of an item that was read.
    pub(crate) fn read_item(
        &self,
        item: ItemMembers,
        totals: &Totals,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, TemplateError> {
        let ItemMembers(mut members) = item;
        if self.item.names_cut() {
            for (name, value) in totals.cut() {
                members.entry(name.to_owned()).or_insert(value);
            }
        }
        self.item.render(&Data::new(Value::Map(members)), room, out)?;
        Ok(true)
    }

    /// Appends the footer, at most `room` bytes of it. False if there is none.
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
        template.render(&Data::new(totals.members(true)), room, out)?;
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
pub(crate) struct ItemMembers(HashMap<String, Value>);

/// How many items there are: what a header and a footer can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    total: u64,
    original: u64,
}

impl Totals {
    /// Of `original` items of the response `total` are rendered.
    #[must_use]
    pub const fn new(total: u64, original: u64) -> Self {
        Self { total, original }
    }

    fn cut(&self) -> [(&'static str, Value); 2] {
        [
            ("Original", Value::from(self.original)),
            ("Omitted", Value::from(self.original.saturating_sub(self.total))),
        ]
    }

    fn members(&self, is_footer: bool) -> Value {
        let mut members: HashMap<String, Value> =
            self.cut().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        members.insert(String::from("Total"), Value::from(self.total));
        members.insert(String::from("Count"), Value::from(self.total));
        if is_footer {
            members.insert(String::from("Remaining"), Value::from(0u64));
        }
        Value::Map(members)
    }
}
