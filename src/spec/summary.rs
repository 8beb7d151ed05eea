//! A one-line summary of a spec, for lists of tools.

use super::{Budget, Encode, Root, Spec};

impl Spec {
    /// Returns on one line what the spec keeps: the output keys, what is retained or excluded, the number of items, the
    /// maximum length, and whether the output is text.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::{Budget, Compact};
    ///
    /// let spec = Spec::new().select("id").select_as("login", "owner.login").max_items(25);
    /// assert_eq!(spec.summary(), "id, login; at most 25 items");
    /// assert_eq!(Spec::new().exclude("body").summary(), "all but body");
    /// let spec = Spec::new().budget(Budget::Bytes(4096)).compact(Compact::new("{{.id}}"));
    /// assert_eq!(spec.summary(), "all; at most 4096 bytes; as lines of text");
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        // Every field is named: a new rule does not compile until it is described here, or left out on purpose.
        let Self {
            extract,
            json_strings,
            select,
            exclude,
            retain,
            patches: _,
            lenient_remove: _,
            on_test_failure: _,
            test: _,
            when: _,
            otherwise: _,
            root,
            siblings: _,
            conditions,
            max_items,
            stop_early: _,
            drop_nulls: _,
            drop_empty: _,
            omit_base64_over: _,
            text_filter,
            redact,
            budget,
            min_items: _,
            omitted: _,
            on_over: _,
            compact,
            encode,
            content,
            on_error: _,
            validation: _,
            whitespace: _,
            duplicate_keys: _,
            allow_raw: _,
            envelope: _,
            foreign: _,
            wrap: _,
            pass,
        } = self;
        let mut parts = Vec::new();
        if *pass {
            return "the full response".to_owned();
        }
        if let Some(content) = content {
            parts.push(match content.extract.as_slice() {
                [] => "the content".to_owned(),
                fields => format!("the content, of JSON {}", fields.join(", ")),
            });
            if content.max_tokens > 0 {
                parts.push(format!("at most {}", Budget::Tokens(content.max_tokens)));
            }
            return parts.join("; ");
        }
        if let Some(pointers) = retain {
            parts.push(format!("retains {}", pointers.join(", ")));
        }
        if let Some(select) = select {
            let keys = select.0.iter().map(|source| source.output_key().unwrap_or_default());
            parts.push(keys.collect::<Vec<_>>().join(", "));
        }
        match (parts.is_empty(), exclude.is_empty()) {
            (true, true) => parts.push("all".to_owned()),
            (true, false) => parts.push(format!("all but {}", exclude.join(", "))),
            (false, true) => {}
            (false, false) => parts.push(format!("without {}", exclude.join(", "))),
        }
        if let Some(path) = extract {
            parts.push(format!("of {path}"));
        }
        if !json_strings.is_empty() {
            let places = json_strings.iter().map(|entry| entry.at.as_str());
            parts.push(format!("JSON in strings at {}", places.collect::<Vec<_>>().join(", ")));
        }
        if let Root::At(path) = root {
            parts.push(format!("items at {path}"));
        }
        if !conditions.is_empty() {
            let paths = conditions.iter().map(|condition| condition.path.as_str());
            parts.push(format!("items by {}", paths.collect::<Vec<_>>().join(", ")));
        }
        if *max_items > 0 {
            parts.push(format!("at most {} items", max_items));
        }
        if text_filter.is_some() {
            parts.push("text by lines".to_owned());
        }
        if let Some(redact) = redact {
            let secrets = redact.secrets.then_some("secrets");
            let patterns = redact.patterns.iter().map(|(name, _)| name);
            let paths = redact.paths.iter().chain(patterns).map(String::as_str);
            let redacted = paths.chain(secrets);
            parts.push(format!("{} redacted", redacted.collect::<Vec<_>>().join(", ")));
        }
        if let Some(budget) = budget {
            parts.push(format!("at most {budget}"));
        }
        if compact.is_some() {
            parts.push("as lines of text".to_owned());
        }
        if *encode != Encode::Json {
            parts.push(format!("as {}", encode.as_str()));
        }
        parts.join("; ")
    }
}
