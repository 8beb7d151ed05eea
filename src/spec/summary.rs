//! A one-line summary of a spec, for lists of tools: one function for each rule that the table (`rule_kind.rs`) describes.

use super::{Budget, Root, Spec};

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
        if self.pass {
            return "the full response".to_owned();
        }
        if let Some(content) = &self.content {
            let what = match content.extract.as_slice() {
                [] => "the content".to_owned(),
                fields => format!("the content, of JSON {}", fields.join(", ")),
            };
            return match content.max_tokens {
                0 => what,
                count => format!("{what}; at most {}", Budget::Tokens(count)),
            };
        }
        let parts = self.rules().filter_map(|rule| rule.traits().describe?(self));
        let everything = !self.chooses() && self.exclude.is_empty();
        let all = everything.then(|| "all".to_owned());
        all.into_iter().chain(parts).collect::<Vec<_>>().join("; ")
    }

    /// Returns whether the output has only values that a rule names.
    fn chooses(&self) -> bool {
        self.retain.is_some() || self.select.is_some()
    }
}

pub(super) fn retain(spec: &Spec) -> Option<String> {
    spec.retain.as_ref().map(|pointers| format!("retains {}", pointers.join(", ")))
}

pub(super) fn select(spec: &Spec) -> Option<String> {
    let sources = &spec.select.as_ref()?.0;
    let keys = sources.iter().map(|source| source.output_key().unwrap_or_default());
    Some(keys.collect::<Vec<_>>().join(", "))
}

pub(super) fn exclude(spec: &Spec) -> Option<String> {
    let which = if spec.chooses() { "without" } else { "all but" };
    Some(format!("{which} {}", spec.exclude.join(", ")))
}

pub(super) fn omit(spec: &Spec) -> Option<String> {
    Some(format!("leaves out {}", spec.omit.join(", ")))
}

pub(super) fn extract(spec: &Spec) -> Option<String> {
    spec.extract.as_ref().map(|path| format!("of {path}"))
}

pub(super) fn json_strings(spec: &Spec) -> Option<String> {
    let places = spec.json_strings.iter().map(|entry| entry.at.as_str());
    Some(format!("JSON in strings at {}", places.collect::<Vec<_>>().join(", ")))
}

pub(super) fn root(spec: &Spec) -> Option<String> {
    match &spec.root {
        Root::At(path) => Some(format!("items at {path}")),
        Root::Auto | Root::First | Root::Object => None,
    }
}

pub(super) fn items_by(spec: &Spec) -> Option<String> {
    let paths = spec.conditions.iter().map(|condition| condition.path.as_str());
    Some(format!("items by {}", paths.collect::<Vec<_>>().join(", ")))
}

pub(super) fn max_items(spec: &Spec) -> Option<String> {
    Some(format!("at most {} items", spec.max_items))
}

pub(super) fn text_filter(_: &Spec) -> Option<String> {
    Some("text by lines".to_owned())
}

pub(super) fn redact(spec: &Spec) -> Option<String> {
    let redact = spec.redact.as_ref()?;
    let secrets = redact.secrets.map(|_| "secrets");
    let patterns = redact.patterns.iter().map(|(name, _)| name);
    let paths = redact.paths.iter().chain(patterns).map(String::as_str);
    let personal = redact.personal.then_some("personal data");
    let redacted = paths.chain(secrets).chain(personal);
    Some(format!("{} redacted", redacted.collect::<Vec<_>>().join(", ")))
}

pub(super) fn factor(_: &Spec) -> Option<String> {
    Some("shared values once".to_owned())
}

pub(super) fn budget(spec: &Spec) -> Option<String> {
    spec.budget.map(|budget| format!("at most {budget}"))
}

pub(super) fn compact(_: &Spec) -> Option<String> {
    Some("as lines of text".to_owned())
}

pub(super) fn encode(spec: &Spec) -> Option<String> {
    Some(format!("as {}", spec.encode.as_str()))
}
