//! Reads the input next to a filter, to find rules with misspelled names.
//!
//! This module must not change the input.

use std::cell::RefCell;
use std::io::{Read, Result};
use std::rc::Rc;

use tamis::{MissedPath, Spec};
use tamis_insight::misspelled::MisspelledPaths;

/// The names of the input, if the rules have paths to compare them with. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameWatch(Option<Rc<RefCell<MisspelledPaths>>>);

impl NameWatch {
    pub(crate) fn new(spec: &Spec) -> Self {
        let paths = MisspelledPaths::new(spec);
        Self((!paths.is_done()).then(|| Rc::new(RefCell::new(paths))))
    }

    /// Wraps `reader` to see what is read.
    pub(crate) fn around<'a>(&self, reader: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
        match &self.0 {
            None => reader,
            Some(paths) => Box::new(Watched { inner: reader, paths: Rc::clone(paths) }),
        }
    }

    /// Sets the payload of the documents, as a JSON Pointer.
    pub(crate) fn set_root(&self, pointer: &str) {
        if let Some(paths) = &self.0 {
            paths.borrow_mut().set_root(pointer);
        }
    }

    /// Returns the paths that are probably misspelled.
    pub(crate) fn missed(&self) -> Vec<MissedPath> {
        self.0.as_ref().map(|paths| paths.borrow().missed()).unwrap_or_default()
    }

    /// Returns the paths of conditions that no document has, although the condition needs a value there.
    pub(crate) fn unfulfilled(&self) -> Vec<MissedPath> {
        self.0.as_ref().map(|paths| paths.borrow().unfulfilled()).unwrap_or_default()
    }

    /// Returns the paths that no document has.
    pub(crate) fn absent(&self) -> Vec<MissedPath> {
        self.0.as_ref().map(|paths| paths.borrow().absent()).unwrap_or_default()
    }

    /// Returns advice if one of the words for kinds of values was probably misspelled.
    pub(crate) fn misspelled_kind(&self) -> Option<String> {
        let paths = self.0.as_ref()?.borrow();
        let (path, word) = paths.misspelled_kind()?;
        let found = if word == "secrets" { "credentials" } else { "personal data" };
        Some(format!(
            "redact: `{path}` is the name of a member, which was not found (did you mean `{word}`, which finds {found}?)"
        ))
    }
}

struct Watched<'a> {
    inner: Box<dyn Read + 'a>,
    paths: Rc<RefCell<MisspelledPaths>>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.inner.read(buffer)?;
        self.paths.borrow_mut().write(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
