//! The text that replaces a result: a template with fields, and a matcher that recognizes its output in a later run.
//!
//! This module does not depend on the history. The original numbers of a placeholder are not known later, so the
//! matcher accepts any digits.

use tamis_json::error::{Error, ErrorKind};
use tamis_json::excerpt::Excerpt;

/// The maximum length of a template in bytes.
const LONGEST: usize = 1024;
/// The maximum number of characters shown of a tool name or an id.
const SHOWN: usize = 128;
/// The maximum number of bytes shown of it: that many characters and an ellipsis.
pub(super) const SHOWN_BYTES: usize = SHOWN * 4 + "…".len();
/// The number of digits of the largest number.
const DIGITS: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Tool,
    Id,
    Bytes,
    Tokens,
}

/// A parsed template.
#[derive(Clone, Debug)]
pub(super) struct Placeholder {
    parts: Vec<Part>,
}

/// The values of a template's fields for one pruned result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) tool: &'a str,
    pub(super) id: &'a str,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
}

impl Placeholder {
    pub(super) fn parse(template: &str) -> Result<Self, Error> {
        if template.len() > LONGEST {
            let message = format!("placeholder: {} bytes, more than {LONGEST}", template.len());
            return Err(Error::new(ErrorKind::Spec, message));
        }
        let wrong = |at: usize, message: &str| {
            let excerpt = Excerpt::new(template, at);
            let error = Error::new(ErrorKind::Spec, excerpt.line("placeholder", message));
            Err(error.with_excerpt(excerpt.caret()))
        };
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            text.push_str(before);
            let offset = template.len() - after.len();
            if let Some(more) = after.strip_prefix("{{") {
                text.push('{');
                rest = more;
                continue;
            }
            if let Some(more) = after.strip_prefix("}}") {
                text.push('}');
                rest = more;
                continue;
            }
            let field = after.strip_prefix('{').and_then(|field| field.split_once('}'));
            let Some((field, more)) = field else {
                return wrong(offset, "unmatched brace; write `{{` or `}}` for a brace");
            };
            let part = match field {
                "tool" => Part::Tool,
                "id" => Part::Id,
                "bytes" => Part::Bytes,
                "tokens" => Part::Tokens,
                _ => {
                    return wrong(
                        offset + 1,
                        "unknown field, expected {tool}, {bytes}, {tokens} or {id}",
                    );
                }
            };
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(part);
            rest = more;
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        let says_something =
            parts.iter().any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()));
        if !parts.is_empty() && !says_something {
            return wrong(
                0,
                "must contain text outside the fields, so that a second run recognizes it",
            );
        }
        Ok(Self { parts })
    }

    /// Returns the text for one result.
    pub(super) fn render(&self, facts: Facts<'_>) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Tool => text.push_str(&shown(facts.tool)),
                Part::Id => text.push_str(&shown(facts.id)),
                Part::Bytes => text.push_str(&facts.bytes.to_string()),
                Part::Tokens => text.push_str(&facts.tokens.to_string()),
            }
        }
        text
    }

    /// Returns the text if it is the same for all results.
    pub(super) fn fixed(&self) -> Option<String> {
        match self.parts.as_slice() {
            [] => Some(String::new()),
            [Part::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns whether the text contains the id of the call.
    pub(super) fn has_id(&self) -> bool {
        self.parts.contains(&Part::Id)
    }

    /// Returns the length in bytes of the longest possible text.
    pub(super) fn longest(&self) -> usize {
        let of = |part: &Part| match part {
            Part::Text(text) => text.len(),
            Part::Tool | Part::Id => SHOWN_BYTES,
            Part::Bytes | Part::Tokens => DIGITS,
        };
        self.parts.iter().map(of).sum()
    }

    /// Returns whether `text` is a placeholder for a result of this tool and call.
    ///
    /// Follows all ways through the template at once, so it takes at most as many steps as the product of both lengths.
    /// The template is short.
    pub(super) fn fits(&self, text: &[u8], tool: &str, id: &str) -> bool {
        let mut ways = vec![0];
        for part in &self.parts {
            let mut next = Vec::new();
            for at in ways {
                let rest = text.get(at..).unwrap_or_default();
                let literal = match part {
                    Part::Text(literal) => literal,
                    Part::Tool => &shown(tool),
                    Part::Id => &shown(id),
                    Part::Bytes | Part::Tokens => {
                        let digits =
                            rest.iter().take(DIGITS).take_while(|byte| byte.is_ascii_digit());
                        next.extend((1..=digits.count()).map(|digits| at + digits));
                        continue;
                    }
                };
                if rest.starts_with(literal.as_bytes()) {
                    next.push(at + literal.len());
                }
            }
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return false;
            }
            ways = next;
        }
        ways.contains(&text.len())
    }
}

/// Shortens a long name for display.
fn shown(name: &str) -> String {
    let mut chars = name.chars();
    let mut shown: String = chars.by_ref().take(SHOWN).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Facts, Placeholder, SHOWN_BYTES};

    #[test]
    fn rendered_placeholders_are_recognized() {
        let long = "é".repeat(1000);
        for template in [
            "",
            "<tool-output-compacted />",
            "[{tool}: {bytes} bytes]",
            "{bytes}{tokens}{id}!",
            "{{{tool}}} {id}",
            "{tool}{tool}0{bytes}0",
        ] {
            let placeholder = Placeholder::parse(template).unwrap();
            for tool in ["", "read", "\"\\\n", &long] {
                for bytes in [0, 1200, u64::MAX] {
                    let facts = Facts { tool, id: "call_0", bytes, tokens: bytes / 4 };
                    let text = placeholder.render(facts);
                    assert!(text.len() <= placeholder.longest(), "{template}");
                    assert!(placeholder.fits(text.as_bytes(), tool, "call_0"), "{template}");
                    assert!(!placeholder.fits(format!("{text}.").as_bytes(), tool, "call_0"));
                    assert!(!placeholder.fits(format!(" {text}").as_bytes(), tool, "call_0"));
                }
            }
        }
        let placeholder = Placeholder::parse("{tool}, {bytes}").unwrap();
        assert!(placeholder.fits(b"read, 77", "read", ""));
        assert!(!placeholder.fits(b"write, 77", "read", ""));
        assert!(!placeholder.fits(b"read, seven", "read", ""));
        assert!(Placeholder::parse("{tool}.").unwrap().longest() <= SHOWN_BYTES + 1);
    }

    #[test]
    fn no_text_takes_long() {
        let placeholder = Placeholder::parse(&("{bytes}".repeat(140) + ".")).unwrap();
        let text = "1".repeat(placeholder.longest());
        let begin = tamis_testkit::clock::cpu_time();
        assert!(!placeholder.fits(text.as_bytes(), "", ""));
        assert!((tamis_testkit::clock::cpu_time() - begin).as_secs() < 6);
    }

    #[test]
    fn invalid_templates_are_refused() {
        for (template, words) in [
            (
                "a {tools}",
                "unknown field, expected {tool}, {bytes}, {tokens} or {id} (character 4 of `a {tools}`)",
            ),
            ("a }", "unmatched brace"),
            ("é {", "(character 3 of `é {`)"),
            ("{tool} {bytes}", "must contain text outside the fields"),
        ] {
            let error = Placeholder::parse(template).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert!(error.excerpt().is_some());
        }
        assert!(Placeholder::parse(&"x".repeat(1024)).is_ok());
        assert!(Placeholder::parse(&"x".repeat(1025)).is_err());
    }
}
