//! The conditions of a route.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, Method};
use tamis_manifest::Diagnostic;
use tamis_manifest::error::Text;
use tamis_manifest::placed::Placed;

use super::pattern::PathPattern;
use super::written::{OneOrMany, StatusPattern, WrittenWhen};

/// The conditions of a route. Each is empty if the route has none of its kind.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    methods: Vec<Method>,
    paths: Vec<PathPattern>,
    headers: Vec<(HeaderName, String)>,
    media_types: Vec<String>,
    statuses: Vec<StatusPattern>,
}

impl Conditions {
    pub(super) fn new(written: WrittenWhen, source: &Text<'_>) -> Result<Self, Diagnostic> {
        let WrittenWhen { method, path, header, media_type, status } = written;
        let methods = each(method, source, |text: &String| {
            let known = text.bytes().all(|byte| byte.is_ascii_uppercase()) && !text.is_empty();
            let method = Method::from_bytes(text.as_bytes()).ok().filter(|_| known);
            method.ok_or_else(|| format!("expected a method such as GET, not `{text}`"))
        })?;
        let paths = each(path, source, |text: &String| PathPattern::parse(text))?;
        let mut headers = Vec::new();
        for (name, value) in header {
            let parsed = name.parse::<HeaderName>();
            let message = format!("expected the name of a header, not `{name}`");
            let name = parsed.map_err(|_error| source.problem(value.at, message))?;
            headers.push((name, value.value));
        }
        let media_types = each(media_type, source, |text: &String| {
            let is_type = |(kind, rest): &(&str, &str)| {
                let is_pattern = kind.contains('*') || (rest.contains('*') && *rest != "*");
                !kind.is_empty() && !rest.is_empty() && !text.contains(';') && !is_pattern
            };
            let parts = text.split_once('/').filter(is_type);
            let expected = || {
                format!("expected a media type such as application/json or text/*, not `{text}`")
            };
            parts.map(|_| text.to_ascii_lowercase()).ok_or_else(expected)
        })?;
        let statuses = each(status, source, |status| Ok(*status))?;
        Ok(Self { methods, paths, headers, media_types, statuses })
    }

    /// Adds the conditions of a route that reads stored results: GET of a path below a prefix.
    pub(super) fn for_recall(mut self, prefix: &str) -> Result<Self, String> {
        if !self.methods.is_empty() || !self.paths.is_empty() || self.ask_response() {
            return Err("a route with `recall` can only have the condition `header`".to_owned());
        }
        // The prefix is checked first, so that an error has the text of the file.
        PathPattern::parse(prefix)?;
        let pattern = PathPattern::parse(&format!("{}/*", prefix.trim_end_matches('/')));
        let expected = || format!("expected a prefix that does not end with `**`, not `{prefix}`");
        self.methods.push(Method::GET);
        self.paths.push(pattern.map_err(|_error| expected())?);
        Ok(self)
    }

    /// Returns whether every request and response matches.
    pub(super) fn match_all(&self) -> bool {
        self.methods.is_empty()
            && self.headers.is_empty()
            && !self.ask_response()
            && self.any_path()
    }

    /// Returns whether a request can match both these conditions and `other`. Only patterns that cover the text of a
    /// pattern of `other` are found.
    pub(super) fn overlap(&self, other: &Self) -> bool {
        let same_method = |method| other.methods.contains(method);
        let same_path = |pattern: &PathPattern| other.paths.iter().any(|path| pattern.covers(path));
        let contradict = |(name, value): &(HeaderName, String)| {
            let mut others = other.headers.iter().filter(|(other, _)| other == name);
            others.any(|(_, other)| other != value && other != "*" && value != "*")
        };
        (self.methods.is_empty()
            || other.methods.is_empty()
            || self.methods.iter().any(same_method))
            && (self.any_path() || self.paths.iter().any(same_path))
            && !self.headers.iter().any(contradict)
    }

    /// Returns whether every path matches.
    fn any_path(&self) -> bool {
        self.paths.is_empty()
            || PathPattern::parse("/**").is_ok_and(|every| self.paths.contains(&every))
    }

    /// Returns whether a request matches with this form of its path, before its response is known.
    pub(super) fn match_request(
        &self,
        method: &Method,
        path: &[String],
        headers: &HeaderMap,
    ) -> bool {
        let any_path = || self.paths.iter().any(|pattern| pattern.matches_form(path));
        (self.methods.is_empty() || self.methods.contains(method))
            && (self.paths.is_empty() || any_path())
            && self.headers.iter().all(|(name, value)| has(headers, name, value))
    }

    /// Returns whether a response matches. The conditions of the request are not compared.
    #[must_use]
    pub fn match_response(&self, status: u16, headers: &HeaderMap) -> bool {
        let any_status = || self.statuses.iter().any(|pattern| pattern.matches(status));
        let any_type = || {
            let essence = essence(headers);
            self.media_types.iter().any(|known| match known.strip_suffix("/*") {
                Some(kind) => essence.split('/').next() == Some(kind),
                None => *known == essence,
            })
        };
        (self.statuses.is_empty() || any_status()) && (self.media_types.is_empty() || any_type())
    }

    /// Returns whether the route depends on the response.
    #[must_use]
    pub fn ask_response(&self) -> bool {
        !self.statuses.is_empty() || !self.media_types.is_empty()
    }

    /// Returns the request headers that the route depends on.
    pub fn headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.headers.iter().map(|(name, _)| name)
    }
}

/// Returns whether a header has a value. `*` is any value.
fn has(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    // A server may use any of several values.
    match (values.next(), values.next()) {
        (Some(_), _) if value == "*" => true,
        (Some(one), None) => one.as_bytes() == value.as_bytes(),
        _ => false,
    }
}

/// Returns the media type without parameters, in lower case. Empty if there is none, or several.
pub fn essence(headers: &HeaderMap) -> String {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let one = values.next().filter(|_| values.next().is_none());
    let text = one.and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Converts each value of a list, which must not be empty: a condition without values would always match. Errors point
/// at the value.
fn each<T, U>(
    list: Option<Placed<OneOrMany<T>>>,
    source: &Text<'_>,
    convert: impl Fn(&T) -> Result<U, String>,
) -> Result<Vec<U>, Diagnostic> {
    let Some(Placed { at, value }) = list else { return Ok(Vec::new()) };
    let converted = |at, value: &T| convert(value).map_err(|why| source.problem(at, why));
    match value {
        OneOrMany::One(value) => Ok(vec![converted(at, &value)?]),
        OneOrMany::Many(list) if list.is_empty() => {
            Err(source.problem(at, "expected at least one value, not an empty list"))
        }
        OneOrMany::Many(list) => list.iter().map(|item| converted(item.at, &item.value)).collect(),
    }
}
