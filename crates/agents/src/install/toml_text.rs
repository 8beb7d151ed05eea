//! A view of a TOML text: its values, and the place of each.
//!
//! This module must not depend on what is changed in a text.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A parsed text.
pub(crate) struct TomlText<'a> {
    root: Spanned<DeTable<'a>>,
}

/// A value in the text.
#[derive(Clone, Copy)]
pub(crate) struct TomlNode<'t, 'a> {
    value: &'t DeValue<'a>,
    start: usize,
    end: usize,
}

impl<'a> TomlText<'a> {
    /// # Errors
    /// The text is not valid: the reason, on one line.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let parsed = DeTable::parse(text);
        let root = parsed.map_err(|error| {
            let line = error
                .span()
                .map(|span| 1 + text.get(..span.start).unwrap_or_default().matches('\n').count());
            let message = error.message().lines().next().unwrap_or("not valid").to_owned();
            line.map_or(message.clone(), |line| format!("line {line}: {message}"))
        })?;
        Ok(Self { root })
    }

    /// Returns the value at a path of names.
    pub(crate) fn get(&self, names: &[&str]) -> Option<TomlNode<'_, 'a>> {
        let (first, rest) = names.split_first()?;
        let value = self.root.get_ref().get(*first)?;
        rest.iter().try_fold(TomlNode::new(value), |node, name| node.get(name))
    }
}

impl<'t, 'a> TomlNode<'t, 'a> {
    fn new(value: &'t Spanned<DeValue<'a>>) -> Self {
        let span = value.span();
        Self { value: value.get_ref(), start: span.start, end: span.end }
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    fn table(&self) -> Option<&'t DeTable<'a>> {
        match self.value {
            DeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    fn array(&self) -> Option<&'t DeArray<'a>> {
        match self.value {
            DeValue::Array(array) => Some(array),
            _ => None,
        }
    }

    pub(crate) fn is_array(&self) -> bool {
        self.array().is_some()
    }

    pub(crate) fn string(&self) -> Option<&'t str> {
        match self.value {
            DeValue::String(text) => Some(text.as_ref()),
            _ => None,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        self.table()?.get(name).map(Self::new)
    }

    pub(crate) fn members(&self) -> Vec<(String, Self)> {
        let members = self.table().into_iter().flatten();
        members.map(|(name, value)| (name.get_ref().to_string(), Self::new(value))).collect()
    }

    pub(crate) fn elements(&self) -> Vec<Self> {
        self.array().into_iter().flatten().map(Self::new).collect()
    }
}
