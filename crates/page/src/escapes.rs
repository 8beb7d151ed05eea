//! Estimates how long a serializer takes to escape the texts of a page.
//!
//! After each `&` and each character from U+0080 to U+00BF (first byte 0xC2), the serializer of html5ever 0.40 searches the
//! rest of the text node for `<` and `>`. So its work grows with the square of a text's length, and an ordinary paragraph
//! of addresses or of non-breaking spaces takes seconds once it is long enough. The estimate is an upper bound for every
//! tree that a parser may build from the page.

/// The number of steps, in bytes that are searched, up to which a page is searched for an article: a few hundredths of a
/// second.
const MOST_STEPS: u64 = 1 << 30;

/// The steps for the texts so far.
#[derive(Debug, Default)]
pub(super) struct Escapes {
    /// Characters to escape in the open text node.
    open: u64,
    /// Those in all texts in the structure of tables. A parser moves such texts before the table, where they become one
    /// node.
    in_tables: u64,
    steps: u64,
}

impl Escapes {
    /// Adds text. `in_table`: it is in the structure of a table.
    pub(super) fn text(&mut self, text: &str, in_table: bool) {
        let marks = memchr::memchr2_iter(b'&', 0xc2, text.as_bytes()).count() as u64;
        let node = if in_table { &mut self.in_tables } else { &mut self.open };
        *node += marks;
        self.steps = self.steps.saturating_add(node.saturating_mul(text.len() as u64));
    }

    /// Begins or ends an element.
    pub(super) fn tag(&mut self, name: &str) {
        // A parser ignores such tags in some places, so the text before and the text after may be one node.
        let may_be_ignored = is_in_table(name)
            || matches!(name, "html" | "head" | "body" | "form" | "frame" | "frameset");
        if !may_be_ignored {
            self.open = 0;
        }
    }

    /// Whether a serializer would take too long.
    pub(super) fn are_too_many(&self) -> bool {
        self.steps > MOST_STEPS
    }
}

/// Whether an element belongs to the structure of a table.
pub(super) fn is_in_table(name: &str) -> bool {
    matches!(
        name,
        "table" | "caption" | "colgroup" | "col" | "tbody" | "thead" | "tfoot" | "tr" | "td" | "th"
    )
}
