//! Values that are written, and how the text around them is laid out.

use super::json::{JsonFault, JsonNode};

/// A value that is written into a text. Members keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Object(Vec<(String, Shape)>),
    Array(Vec<Shape>),
    Text(String),
    Number(u64),
    /// A value that is written as it is.
    Raw(String),
}

impl Shape {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns the value as a text of its own.
    pub(crate) fn document(&self) -> String {
        self.render(&Layout::lines("\n", "  "), "") + "\n"
    }

    /// Returns the value as text. `indent` is that of the line on which it begins.
    pub(crate) fn render(&self, layout: &Layout, indent: &str) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Raw(raw) => raw.clone(),
            Self::Object(members) => {
                let colon = if layout.has_lines || layout.has_blanks { ": " } else { ":" };
                let inner = layout.inner(indent);
                let members = members.iter().map(|(name, value)| {
                    format!("{}{colon}{}", quoted(name), value.render(layout, &inner))
                });
                layout.wrap('{', &members.collect::<Vec<_>>(), '}', indent)
            }
            Self::Array(elements) => {
                let inner = layout.inner(indent);
                let elements = elements.iter().map(|value| value.render(layout, &inner));
                layout.wrap('[', &elements.collect::<Vec<_>>(), ']', indent)
            }
        }
    }
}

/// Returns a string of JSON. It is also one of TOML.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How values are laid out: on lines of their own, or on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) newline: &'static str,
    /// The indentation that each level adds.
    pub(crate) unit: String,
    pub(crate) has_lines: bool,
    /// On one line: whether a blank follows colons and commas.
    pub(crate) has_blanks: bool,
}

impl Layout {
    pub(crate) fn lines(newline: &'static str, unit: &str) -> Self {
        Self { newline, unit: unit.to_owned(), has_lines: true, has_blanks: true }
    }

    /// Returns the layout of a text with this document. An empty one gets lines.
    pub(crate) fn of(text: &str, root: &JsonNode<'_>) -> Result<Self, JsonFault> {
        let newline = newline_of(text);
        let members = root.members()?;
        let Some(first) = members.first() else {
            return Ok(Self::lines(newline, "  "));
        };
        let before = text.get(root.start + 1..first.start).unwrap_or_default();
        let has_blanks = text.get(..first.value.start).is_some_and(|text| text.ends_with(' '));
        Ok(match before.rsplit_once('\n') {
            Some((_, "")) => Self::lines(newline, "  "),
            Some((_, unit)) => Self::lines(newline, unit),
            None => Self { newline, unit: String::new(), has_lines: false, has_blanks },
        })
    }

    /// Returns the same layout, on one line.
    pub(crate) fn on_one_line(&self) -> Self {
        Self { has_lines: false, ..self.clone() }
    }

    fn inner(&self, indent: &str) -> String {
        if self.has_lines { format!("{indent}{}", self.unit) } else { String::new() }
    }

    fn wrap(&self, open: char, items: &[String], close: char, indent: &str) -> String {
        if items.is_empty() {
            return format!("{open}{close}");
        }
        if !self.has_lines {
            return format!(
                "{open}{}{close}",
                items.join(if self.has_blanks { ", " } else { "," })
            );
        }
        let (newline, inner) = (self.newline, self.inner(indent));
        let items = items.join(&format!(",{newline}{inner}"));
        format!("{open}{newline}{inner}{items}{newline}{indent}{close}")
    }
}

/// Returns the line end of a text.
pub(crate) fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the blanks at the start of the line with this byte.
pub(crate) fn indent_at(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    let line = line.trim_start_matches('\u{feff}');
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blanks).unwrap_or_default()
}
