//! A spec in terms of the model: paths are tokens, not text.

use tamis::Spec;
use tamis::spec::{DuplicateKeys, OnError, OnKind, Siblings};

use super::conditions::Condition;
use super::fields::{Field, braces, reported};
use super::paths::{Path, Token};

#[derive(Clone, Debug)]
pub struct Source {
    /// `None`: the last name of the path.
    pub key: Option<String>,
    pub path: Path,
    /// The projection.
    pub fields: Vec<Field>,
}

impl Source {
    /// The path with its projection.
    pub fn text(&self) -> String {
        format!("{}{}", self.path.text, braces(&self.fields))
    }

    pub fn output_key(&self) -> Option<String> {
        let last_name = || {
            self.path.tokens.iter().rev().find_map(|token| match token {
                Token::Name(name) if token.index().is_none() => Some(name.clone()),
                _ => None,
            })
        };
        self.key.clone().or_else(last_name)
    }

    /// The leaves of the projection, as they are reported.
    pub fn leaves(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        self.fields.iter().for_each(|field| field.leaves(&self.path.tokens, &mut leaves));
        leaves.iter().map(|tokens| reported(tokens)).collect()
    }

    /// The place in an item of what `exclude` removes from the output of this path, or of more. `None` if it removes
    /// nothing from it. `keeps`: a value of another kind may come from anywhere on the way.
    pub fn excluded(&self, exclude: &Path, keeps: bool) -> Option<Path> {
        let key = Token::Name(self.output_key()?);
        let inside = match exclude.tokens.split_first()? {
            (first, inside) if *first == key || *first == Token::Any => inside,
            _ => return None,
        };
        // The output of a path with a wildcard is an array of the values found. The item has no such array.
        let in_array = |inside: &[Token]| match inside.split_first() {
            Some((Token::Any, below)) => below.to_vec(),
            Some((first, _)) if first.index().is_some() => Vec::new(),
            _ => inside.to_vec(),
        };
        if keeps {
            let text = format!("{} of {}", exclude.text, self.path.text);
            let tokens = self.path.tokens[..1].to_vec();
            return Some(Path { tokens, text, brackets: Vec::new() });
        }
        let mut inside = inside.to_vec();
        if self.path.tokens.contains(&Token::Any) {
            inside = in_array(&inside);
        }
        let mut tokens = self.path.tokens.clone();
        let mut fields = &self.fields;
        while let (Some(step), false) = (inside.first(), fields.is_empty()) {
            let Token::Name(key) = step else {
                // The item does not have every member of the output.
                (tokens, inside) = (self.path.tokens.clone(), Vec::new());
                break;
            };
            let field = fields.iter().find(|field| field.output_key() == key)?;
            tokens.push(Token::Name(field.name.clone()));
            tokens.extend(std::iter::repeat_n(Token::Any, field.levels));
            inside.remove(0);
            if field.levels > 0 {
                inside = in_array(&inside);
            }
            fields = &field.fields;
        }
        tokens.extend(inside);
        let text = format!("{} of {}", exclude.text, self.path.text);
        Some(Path { tokens, text, brackets: Vec::new() })
    }
}

#[derive(Clone, Debug, Default)]
pub enum Root {
    #[default]
    Auto,
    First,
    Object,
    At(Path),
}

#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub extract: Option<Path>,
    pub select: Option<Vec<Source>>,
    /// `on_kind: keep`.
    pub keeps_kinds: bool,
    pub exclude: Vec<Path>,
    pub omit: Vec<Path>,
    pub requires: Vec<Path>,
    pub retain: Option<Vec<Path>>,
    pub root: Root,
    pub drop_siblings: bool,
    pub conditions: Vec<Condition>,
    pub max_items: usize,
    pub stop_early: bool,
    pub drop_nulls: bool,
    pub drop_empty: bool,
    pub closed: Option<bool>,
    pub duplicates: DuplicateKeys,
}

impl Rules {
    /// Whether there is a rule that needs a payload.
    pub fn on_items(&self) -> bool {
        self.select.is_some()
            || !self.exclude.is_empty()
            || !self.omit.is_empty()
            || !self.conditions.is_empty()
            || self.max_items > 0
            || self.drop_nulls
            || self.drop_empty
    }

    /// Whether there is any rule.
    pub fn any(&self) -> bool {
        self.on_items() || self.drop_siblings || self.extract.is_some() || self.retain.is_some()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.unwrap_or(self.retain.is_some())
    }

    pub fn spec(&self) -> Spec {
        let mut spec = Spec::new()
            .max_items(self.max_items as u64)
            .stop_early(self.stop_early)
            .drop_nulls(self.drop_nulls)
            .drop_empty(self.drop_empty)
            .duplicate_keys(self.duplicates)
            .siblings(if self.drop_siblings { Siblings::Drop } else { Siblings::Keep });
        if let Some(path) = &self.extract {
            spec = spec.extract(&path.text);
        }
        for source in self.select.iter().flatten() {
            spec = match &source.key {
                Some(key) => spec.select_as(key, source.text()),
                None => spec.select(source.text()),
            };
        }
        for condition in &self.conditions {
            spec = spec.keep_where(condition.spec());
        }
        for path in &self.exclude {
            spec = spec.exclude(&path.text);
        }
        for path in &self.omit {
            spec = spec.omit(&path.text);
        }
        for path in &self.requires {
            spec = spec.requires(&path.text);
        }
        if self.keeps_kinds {
            spec = spec.on_kind(OnKind::Keep);
        }
        for path in self.retain.iter().flatten() {
            spec = spec.retain(&path.text);
        }
        if let Some(closed) = self.closed {
            spec = spec.on_error(if closed { OnError::Closed } else { OnError::Raw });
        }
        match &self.root {
            Root::Auto => spec,
            Root::First => spec.root("first"),
            Root::Object => spec.root("object"),
            Root::At(path) => spec.root(path.text.as_str()),
        }
    }

    /// For each rule, the other rules without it.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Self)| {
            let mut rules = self.clone();
            change(&mut rules);
            all.push(rules);
        };
        if self.extract.is_some() {
            add(&|rules| rules.extract = None);
        }
        for number in 0..self.select.as_ref().map_or(0, Vec::len) {
            add(&|rules| {
                let select = rules.select.get_or_insert_default();
                select.remove(number);
                if select.is_empty() {
                    rules.select = None;
                }
            });
        }
        for (number, source) in self.select.iter().flatten().enumerate() {
            if !source.fields.is_empty() {
                add(&|rules| rules.select.get_or_insert_default()[number].fields.clear());
            }
        }
        for number in 0..self.exclude.len() {
            add(&|rules| _ = rules.exclude.remove(number));
        }
        for number in 0..self.omit.len() {
            add(&|rules| _ = rules.omit.remove(number));
        }
        for number in 0..self.requires.len() {
            add(&|rules| _ = rules.requires.remove(number));
        }
        if self.keeps_kinds {
            add(&|rules| rules.keeps_kinds = false);
        }
        for number in 0..self.conditions.len() {
            add(&|rules| _ = rules.conditions.remove(number));
        }
        for number in 0..self.retain.as_ref().map_or(0, Vec::len) {
            add(&|rules| {
                let retain = rules.retain.get_or_insert_default();
                retain.remove(number);
                if retain.is_empty() {
                    rules.retain = None;
                }
            });
        }
        if !matches!(self.root, Root::Auto) {
            add(&|rules| rules.root = Root::Auto);
        }
        if self.drop_siblings {
            add(&|rules| rules.drop_siblings = false);
        }
        if self.stop_early {
            add(&|rules| rules.stop_early = false);
        } else if self.max_items > 0 {
            add(&|rules| rules.max_items = 0);
        }
        if self.drop_nulls {
            add(&|rules| rules.drop_nulls = false);
        }
        if self.drop_empty {
            add(&|rules| rules.drop_empty = false);
        }
        if self.closed.is_some() {
            add(&|rules| rules.closed = None);
        }
        if self.duplicates != DuplicateKeys::First {
            add(&|rules| rules.duplicates = DuplicateKeys::First);
        }
        all
    }
}
