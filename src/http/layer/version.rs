//! The version of the rules in entity tags: a cached response is not valid any more after the rules have changed.
//!
//! A tag `"a"` is sent as `W/"a.t-VERSION"`. In a conditional request, tags with the current version get their own text
//! back and others are removed, so that the service never says "not modified" about the output of other rules.

use http::Method;
use http::header::{self, HeaderMap, HeaderValue};

/// Separates the service's own tag from the version.
const MARK: &str = ".t-";

/// The version of the rules, as it appears in tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RulesVersion(String);

impl RulesVersion {
    /// Creates a version. Only characters that a tag may have are used.
    pub(super) fn new(text: &str) -> Self {
        Self(text.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '-').collect())
    }

    /// Changes the conditions of a request for a representation, so that they refer to the service's own tags. Those of
    /// other methods protect what a request changes, such as `If-None-Match: *` of a PUT that must not overwrite.
    pub(super) fn asked(&self, method: &Method, fields: &mut HeaderMap) {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return;
        }
        // A date does not show which rules were in force.
        for name in [header::IF_MODIFIED_SINCE, header::IF_RANGE, header::RANGE] {
            fields.remove(name);
        }
        let written: Vec<HeaderValue> =
            fields.get_all(header::IF_NONE_MATCH).iter().cloned().collect();
        fields.remove(header::IF_NONE_MATCH);
        let tags = written.iter().filter_map(|value| value.to_str().ok());
        let own: Vec<String> =
            tags.flat_map(|list| list.split(',')).filter_map(|tag| self.own(tag.trim())).collect();
        if let Ok(value) = HeaderValue::from_str(&own.join(", "))
            && !own.is_empty()
        {
            fields.insert(header::IF_NONE_MATCH, value);
        }
    }

    /// Returns the service's own tag in one of ours. `None` if it is not ours, or of another version.
    fn own(&self, tag: &str) -> Option<String> {
        let inner = tag.strip_prefix("W/")?.strip_prefix('"')?.strip_suffix('"')?;
        let own = inner.strip_suffix(self.0.as_str())?.strip_suffix(MARK)?;
        Some(format!("W/\"{own}\""))
    }

    /// Returns the tag of a filtered response, from that of the service in its weak form.
    pub(super) fn tag(&self, weak: &HeaderValue) -> Option<HeaderValue> {
        let own = weak.to_str().ok()?.strip_suffix('"')?;
        HeaderValue::from_str(&format!("{own}{MARK}{}\"", self.0)).ok()
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::RulesVersion;

    #[test]
    fn tags_keep_their_own_text() {
        let version = RulesVersion::new("v\"2, x");
        let tag = version.tag(&"W/\"a\"".parse().unwrap()).unwrap();
        assert_eq!(tag, "W/\"a.t-v2x\"");
        for (asked, passed) in [
            ("W/\"a.t-v2x\"", Some("W/\"a\"")),
            ("\"b\", W/\"a.t-v2x\" , W/\"c.t-v1\"", Some("W/\"a\"")),
            ("W/\"a.t-v1\"", None),
            ("\"a\"", None),
            ("*", None),
        ] {
            let mut fields = HeaderMap::new();
            fields.insert("if-none-match", asked.parse().unwrap());
            fields.insert("if-modified-since", "Sat, 21 Nov 2026 10:00:00 GMT".parse().unwrap());
            let unchanged = fields.clone();
            version.asked(&Method::PUT, &mut fields);
            assert_eq!(fields, unchanged);
            version.asked(&Method::GET, &mut fields);
            let left = fields.get("if-none-match").map(|value| value.to_str().unwrap());
            assert_eq!(left, passed, "{asked}");
            assert_eq!(fields.len(), usize::from(passed.is_some()));
        }
    }
}
