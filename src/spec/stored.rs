//! The spec whose output a gateway stores, so that a caller can fetch what rules have cut.
//!
//! The stored form of a result is the document before the rules that only save, without everything that the output must
//! not contain. It is made by the engine itself: [`Spec::stored_form`] returns another spec, which runs over the same
//! input.
//!
//! ```text
//! spec:     strings ─ extract ─ when ─ retain ─ patches ─ root ─ where ─ max_items ─ select ─ exclude ─ drops ─ text ─ redact ─ base64 ─ budget ─ compact
//! all:      strings ─ extract ─ when ─ retain ─ patches ─ root ─────────────────────────────── exclude' ────────────── redact
//! cut:      strings ─ extract ─ when ─ retain ─ patches ─ root ─ where ───────────── select ─ exclude ─ drops ─ text ─ redact
//! ```
//!
//! `exclude` reads output keys, which the source does not have. `exclude'` has each path twice: as it is written, which
//! covers results that are not selected, and translated to the names of the source. Example: `select: {login:
//! owner.login}` with `exclude: [login.token]` is stored with `exclude: [login.token, owner.login.token]`. A path that
//! cannot be translated exactly removes the whole source. Removing more than the output lacks is safe; removing less
//! is not.

use std::collections::HashSet;

use tamis_json::path::projection::{ProjectedField, SelectedPath};
use tamis_json::path::{Path, PathError, PathToken};

use super::rule_kind::Stored;
use super::{InnerRules, OnKind, Redact, Retrieve, Root, SelectPath, Spec};

/// The largest number of paths that a stored form excludes. A program may have as many rules in total.
const MAX_EXCLUDED: usize = 10_000;

impl Spec {
    /// Returns the spec whose output may be stored for later retrieval. `None` if nothing may be stored: for
    /// [`Retrieve::None`], or if the stored form would need more than 10,000 paths.
    ///
    /// With [`Retrieve::All`] the stored form is the document after `extract`, `when`, `retain` and `patches`, without
    /// the values that `exclude` removes from the output. With [`Retrieve::Cut`] it is the output without the limits on
    /// its length: `max_items`, `omit_base64_over`, `budget`, `max_lines`, `max_tokens`, `compact` and `encode`. Run it over the same input and with
    /// the same [`CallOptions::is_error`](crate::CallOptions::is_error), without raw output and without a budget of the
    /// call, and only if the run of the spec itself succeeded.
    ///
    /// ```
    /// use tamis::spec::Retrieve;
    /// use tamis::{Program, Spec, filter_slice};
    ///
    /// let spec = Spec::new().select_as("user", "owner").exclude("user.token").max_items(1);
    /// let stored = spec.stored_form(Retrieve::All).expect("everything but the token");
    /// let input = br#"[{"id": 1, "owner": {"login": "mira", "token": "t"}}, {"id": 2}]"#;
    /// let (output, _) = filter_slice(&Program::compile(&stored)?, input)?;
    /// assert_eq!(output, br#"[{"id":1,"owner":{"login":"mira"}},{"id":2}]"#);
    ///
    /// let stored = spec.stored_form(Retrieve::Cut).expect("the items after the first");
    /// let (output, _) = filter_slice(&Program::compile(&stored)?, input)?;
    /// assert_eq!(output, br#"[{"user":{"login":"mira"}},{}]"#);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Complexity
    /// Linear in the number of paths, except for paths of `exclude` that begin with a wildcard, which are translated
    /// once for each selected path.
    #[must_use]
    pub fn stored_form(&self, retrieve: Retrieve) -> Option<Self> {
        let mut stored = match retrieve {
            Retrieve::All => self.without_saving_rules()?,
            Retrieve::Cut => self.without_limits(),
            Retrieve::None => return None,
        };
        if let Some(branches) = &mut stored.when {
            for branch in branches {
                // Raw output is a setting of the whole spec.
                *branch = Self { allow_raw: None, ..branch.stored_form(retrieve)? };
                // A branch requires a rule. This one keeps the whole document.
                if !branch.has_rules() {
                    branch.retain = Some(vec![String::new()]);
                }
            }
        }
        // `same` stands for the rules of the stored form.
        for entry in &mut stored.json_strings {
            if let InnerRules::Spec(inner) = &mut entry.apply {
                **inner = Self { allow_raw: None, ..inner.stored_form(retrieve)? };
            }
        }
        Some(stored)
    }

    /// Returns the rules that remove for safety, and those that say where the items are.
    fn without_saving_rules(&self) -> Option<Self> {
        let rules = self.only(|rule| rule.traits().stored == Stored::All);
        // The values at the paths of `redact` are removed, so that only secrets are left.
        let redact = rules.redact.clone().map(|redact| Redact { paths: Vec::new(), ..redact });
        Some(Self {
            exclude: self.removed_from_source(self.may_select_elements())?,
            redact,
            allow_raw: Some(false),
            // A page is stored unchanged.
            pass: self.pass || self.content.is_some(),
            ..rules
        })
    }

    /// Returns all rules except those that limit the length of the output.
    fn without_limits(&self) -> Self {
        let rules = self.only(|rule| rule.traits().stored != Stored::None);
        let mut stored = Self { allow_raw: Some(false), ..rules };
        if let Some(text) = &mut stored.text_filter {
            text.max_lines = 0;
        }
        if let Some(content) = &mut stored.content {
            content.max_tokens = 0;
        }
        stored
    }

    /// Returns the paths of `exclude` as they are written, and translated to the names of the source. `None` if these
    /// are too many. `in_elements`: they are also read from the elements of each array in the document.
    #[doc(hidden)]
    pub fn excluded_from_source(&self, in_elements: bool) -> Option<Vec<String>> {
        self.in_source(&self.exclude, in_elements)
    }

    /// Returns the paths of `redact` like those of `exclude`.
    #[doc(hidden)]
    pub fn redacted_from_source(&self, in_elements: bool) -> Option<Vec<String>> {
        self.in_source(self.redact.as_ref().map_or(&[], |redact| &redact.paths), in_elements)
    }

    /// Returns the paths of both rules. `None` if these are too many.
    fn removed_from_source(&self, in_elements: bool) -> Option<Vec<String>> {
        let mut removed = self.excluded_from_source(in_elements)?;
        removed.extend(self.redacted_from_source(in_elements)?);
        (removed.len() <= MAX_EXCLUDED).then_some(removed)
    }

    fn in_source(&self, list: &[String], in_elements: bool) -> Option<Vec<String>> {
        let mut found = SourcePaths::default();
        let sources: Vec<SelectSource> = self.sources();
        for text in list {
            // A path that cannot be parsed makes the spec invalid, so its result is never stored.
            let Ok(path) = self.parse(text) else { return None };
            found.add_excluded(&path, in_elements)?;
            for source in &sources {
                if let Some(path) = source.translate(&path) {
                    found.add_excluded(&path, in_elements)?;
                }
            }
        }
        Some(found.list)
    }

    /// Returns each path of `exclude` with the places in the source that it removes from the output. Paths that cannot be
    /// translated exactly are left out.
    #[doc(hidden)]
    pub fn excluded_places(&self) -> Vec<(&str, Path)> {
        self.source_places(&self.exclude)
    }

    /// Returns the same for the paths of `redact`.
    #[doc(hidden)]
    pub fn redacted_places(&self) -> Vec<(&str, Path)> {
        self.redact.as_ref().map_or_else(Vec::new, |redact| self.source_places(&redact.paths))
    }

    fn source_places<'a>(&self, paths: &'a [String]) -> Vec<(&'a str, Path)> {
        let sources = self.sources();
        let mut places = Vec::new();
        for text in paths {
            let Ok(path) = self.parse(text) else { continue };
            let is_exact =
                path.0.iter().all(|step| *step != PathToken::Any && step.index().is_none());
            for source in sources.iter().filter(|_| is_exact) {
                places.extend(source.translate(&path).map(|path| (text.as_str(), path)));
            }
            if !places.iter().any(|(_, known)| *known == path) {
                places.push((text, path));
            }
        }
        places
    }

    /// Returns the sources of `select`, with the fields of their projections.
    #[doc(hidden)]
    pub fn selected_sources(&self) -> Vec<(Path, Vec<ProjectedField>)> {
        self.sources().into_iter().map(|source| (source.path, source.fields)).collect()
    }

    /// Whether the items may be those of an array in the document, which is not known without the select. With kimbap's
    /// `type: object`, they are if the document itself has no selected value.
    fn may_select_elements(&self) -> bool {
        self.envelope && self.root == Root::Object && self.select.is_some()
    }

    /// Returns the selected paths with their output keys.
    fn sources(&self) -> Vec<SelectSource> {
        let selected = self.select.iter().flat_map(|select| &select.0);
        let sources = selected.filter_map(|SelectPath { key, path, on_kind }| {
            let SelectedPath { path, fields, .. } = self.parse_selected(path).ok()?;
            let key = key.as_deref().or_else(|| path.last_name())?.to_owned();
            let keeps_kinds = on_kind.unwrap_or(self.on_kind) == OnKind::Keep;
            Some(SelectSource { key, path, fields, keeps_kinds })
        });
        sources.collect()
    }

    /// Parses a path as the compiler does.
    fn parse(&self, text: &str) -> Result<Path, PathError> {
        if self.envelope {
            return Path::parse_foreign(text).map(|(path, _)| path);
        }
        Path::parse(text)
    }

    /// Parses a select source as the compiler does.
    fn parse_selected(&self, text: &str) -> Result<SelectedPath, PathError> {
        if self.envelope {
            return Ok(SelectedPath::plain(self.parse(text)?, text));
        }
        Path::parse_selected(text)
    }
}

/// A selected path and its output key.
struct SelectSource {
    key: String,
    path: Path,
    fields: Vec<ProjectedField>,
    /// A value of another kind is kept, so the output may have a value from the way to the end of the path.
    keeps_kinds: bool,
}

impl SelectSource {
    /// Returns the path in the source of a value at `excluded` in the output, or `None` if that value is not from this
    /// source.
    fn translate(&self, excluded: &Path) -> Option<Path> {
        let (first, rest) = excluded.0.split_first()?;
        match first {
            PathToken::Name(name) if **name != *self.key => return None,
            PathToken::Name(_) | PathToken::Any => {}
        }
        if self.keeps_kinds {
            return Some(Path(self.path.0.first().cloned().into_iter().collect()));
        }
        // A wildcard in the source makes the output an array of the values found, which the source does not have.
        let is_array = self.path.0.contains(&PathToken::Any);
        let mut rest = if is_array { inside_array(rest) } else { rest };
        let mut steps = self.path.0.clone();
        let mut braces = None;
        // In braces the output has the keys of the fields.
        while let (Some((step, after)), true) = (rest.split_first(), self.has_braces(braces)) {
            // Every member: the whole source is removed.
            let PathToken::Name(key) = step else { return Some(self.path.clone()) };
            let mut fields = self.fields.iter().enumerate();
            let (position, field) =
                fields.find(|(_, field)| field.parent == braces && field.key == *key)?;
            steps.push(PathToken::Name(field.name.clone()));
            steps.extend(std::iter::repeat_n(PathToken::Any, field.levels));
            rest = if field.levels > 0 { inside_array(after) } else { after };
            braces = Some(position);
        }
        steps.extend(rest.iter().cloned());
        Some(Path(steps))
    }

    /// Returns whether braces follow a field, or the path of the source.
    fn has_braces(&self, field: Option<usize>) -> bool {
        match field {
            None => !self.fields.is_empty(),
            Some(field) => self.fields.get(field).is_some_and(|field| field.is_object),
        }
    }
}

/// Returns the steps of an excluded path inside the elements of an array that only the output has.
fn inside_array(rest: &[PathToken]) -> &[PathToken] {
    match rest.split_first() {
        Some((PathToken::Any, after)) => after,
        // An index of that array is not an index in the source: everything from there is removed.
        Some((step, _)) if step.index().is_some() => &[],
        // A name is read from each element.
        _ => rest,
    }
}

/// Distinct paths as text, in the order in which they were added.
#[derive(Default)]
struct SourcePaths {
    list: Vec<String>,
    known: HashSet<String>,
}

impl SourcePaths {
    /// Adds a path that is read from an item. `in_elements`: also from the elements of each array in the item.
    fn add_excluded(&mut self, path: &Path, in_elements: bool) -> Option<()> {
        self.add(path)?;
        if in_elements {
            let inside = [PathToken::Any, PathToken::Any].into_iter();
            self.add(&Path(inside.chain(path.0.iter().cloned()).collect()))?;
        }
        Some(())
    }

    /// Adds a path. `None` if there are too many.
    fn add(&mut self, path: &Path) -> Option<()> {
        let text = path.to_string();
        if self.known.contains(&text) {
            return Some(());
        }
        if self.list.len() == MAX_EXCLUDED {
            return None;
        }
        self.known.insert(text.clone());
        self.list.push(text);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::{Retrieve, Spec};

    fn stored(spec: &str, retrieve: Retrieve) -> String {
        let spec: Spec = serde_json::from_str(spec).unwrap();
        let stored = spec.stored_form(retrieve).map(|stored| serde_json::to_string(&stored));
        stored.map_or_else(
            || "none".into(),
            |text| text.unwrap().replace(r#","allow_raw":false"#, ""),
        )
    }

    #[test]
    fn paths_of_exclude_are_translated_to_the_source() {
        // `select`, `exclude`, and the paths that the stored form excludes.
        for (select, exclude, expected) in [
            (r#"["a"]"#, r#"["a.x"]"#, r#"["a.x"]"#),
            (r#"["a"]"#, r#"["b.x"]"#, r#"["b.x"]"#),
            (r#"{"k": "a.b"}"#, r#"["k"]"#, r#"["k","a.b"]"#),
            (r#"{"k": "a.b"}"#, r#"["k.x[0]"]"#, r#"["k.x[0]","a.b.x[0]"]"#),
            (r#"["a.b"]"#, r#"["b.x"]"#, r#"["b.x","a.b.x"]"#),
            (r#"{"k": "a", "l": "b"}"#, r#"["/l/x", "k.y"]"#, r#"["l.x","b.x","k.y","a.y"]"#),
            (r#"{"k": "a", "l": "b"}"#, r#"["*.x"]"#, r#"["*.x","a.x","b.x"]"#),
            (r#"{"k": "a[].b"}"#, r#"["k.x"]"#, r#"["k.x","a[].b.x"]"#),
            (r#"{"k": "a[].b"}"#, r#"["k[].x"]"#, r#"["k[].x","a[].b.x"]"#),
            (r#"{"k": "a[].b"}"#, r#"["k[0].x"]"#, r#"["k[0].x","a[].b"]"#),
            (r#"{"k": "a[].b"}"#, r#"["k"]"#, r#"["k","a[].b"]"#),
            (r#"["a{b}"]"#, r#"["a.b", "a.c", "a"]"#, r#"["a.b","a.c","a"]"#),
            (r#"{"k": "a[]{c=b{d}}"}"#, r#"["k.c.d"]"#, r#"["k.c.d","a[].b.d"]"#),
            (r#"{"k": "a{c=b[]}"}"#, r#"["k.c[].x"]"#, r#"["k.c[].x","a.b[].x"]"#),
            (r#"{"k": "a{c=b[]}"}"#, r#"["k.c[0].x"]"#, r#"["k.c[0].x","a.b[]"]"#),
            (r#"{"k": "a{c=b}"}"#, r#"["k.*.x"]"#, r#"["k[].x","a"]"#),
            (r#"{"a/b": "x"}"#, r#"["a.b", "/a~1b/c"]"#, r#"["a.b","[\"a/b\"].c","x.c"]"#),
        ] {
            let spec = format!(r#"{{"select": {select}, "exclude": {exclude}}}"#);
            let read: Spec = serde_json::from_str(&stored(&spec, Retrieve::All)).unwrap();
            let list = serde_json::to_string(&read.exclude).unwrap();
            assert_eq!(list, expected, "{spec}");
        }
    }

    #[test]
    fn forms_of_a_spec() {
        // A spec, what is stored for `all`, and what is stored for `cut`.
        for (spec, all, cut) in [
            ("{}", r#"{"allow_raw":false}"#, r#"{"allow_raw":false}"#),
            (
                r#"{"json_strings":[{"at":"/t","apply":{"select":["b"],"max_items":3},"otherwise":"drop"},{"at":"/u","apply":"same"}],"max_items":2,"exclude":["c"]}"#,
                r#"{"json_strings":[{"at":"/t","apply":{},"otherwise":"drop"},{"at":"/u","apply":"same"}],"exclude":["c"]}"#,
                r#"{"json_strings":[{"at":"/t","apply":{"select":["b"]},"otherwise":"drop"},{"at":"/u","apply":"same"}],"exclude":["c"]}"#,
            ),
            (
                r#"{"extract":"a","select":["b"],"siblings":"drop","max_items":3,"stop_early":true,"drop_nulls":true}"#,
                r#"{"extract":"a","siblings":"drop"}"#,
                r#"{"extract":"a","select":["b"],"siblings":"drop","drop_nulls":true}"#,
            ),
            (
                r#"{"retain":["/a"],"patches":[{"op":"remove","path":"/a/b"}],"lenient_remove":true,"budget":{"bytes":9}}"#,
                r#"{"retain":["/a"],"patches":[{"op":"remove","path":"/a/b"}],"lenient_remove":true}"#,
                r#"{"retain":["/a"],"patches":[{"op":"remove","path":"/a/b"}],"lenient_remove":true}"#,
            ),
            (
                r#"{"root":"/a","compact":{"item":"x"},"min_items":0,"omitted":"mark","on_over":"error"}"#,
                r#"{"root":"/a"}"#,
                r#"{"root":"/a"}"#,
            ),
            (
                r#"{"text_filter":{"strip_ansi":true,"max_lines":9}}"#,
                r#"{"allow_raw":false}"#,
                r#"{"text_filter":{"strip_ansi":true}}"#,
            ),
            (
                r#"{"when":[{"test":{"path":"/t","value":1},"select":["a"],"max_items":2}],"otherwise":"pass"}"#,
                r#"{"when":[{"retain":[""],"test":{"path":"/t","value":1}}],"otherwise":"pass"}"#,
                r#"{"when":[{"select":["a"],"test":{"path":"/t","value":1}}],"otherwise":"pass"}"#,
            ),
        ] {
            assert_eq!(stored(spec, Retrieve::All), all, "{spec}");
            assert_eq!(stored(spec, Retrieve::Cut), cut, "{spec}");
            assert_eq!(stored(spec, Retrieve::None), "none", "{spec}");
            let spec: Spec = serde_json::from_str(spec).unwrap();
            for retrieve in [Retrieve::All, Retrieve::Cut] {
                let stored = spec.stored_form(retrieve).unwrap();
                // Without these features, two of the rules do not compile.
                let compiled = crate::Program::compile(&stored);
                assert!(
                    compiled.is_ok() || !cfg!(all(feature = "template", feature = "text")),
                    "{spec:?}: {compiled:?}"
                );
            }
        }
    }

    #[test]
    fn too_many_paths_are_not_stored() {
        let list =
            |name: char| (0..200).map(|number| format!("{name}{number}")).collect::<Vec<_>>();
        let wild = list('a').iter().map(|name| format!("*.{name}")).collect::<Vec<_>>();
        let spec = format!(r#"{{"select":{:?},"exclude":{wild:?}}}"#, list('b'));
        assert_eq!(stored(&spec, Retrieve::All), "none");
        assert_ne!(stored(&spec, Retrieve::Cut), "none");
    }
}
