//! Follows the paths of `exclude` and `retain` while a value is walked. Names apply to the elements of arrays.

use super::dom::{Node, Value};
use super::paths::{Path, Token};

/// All paths that still match at one value.
#[derive(Clone, Debug)]
pub(crate) struct Places<'a> {
    paths: &'a [Path],
    alive: Vec<Place>,
    /// A path ends at this value.
    pub(crate) hit: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    path: usize,
    step: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn start(paths: &'a [Path]) -> Self {
        let mut start = Self { paths, alive: Vec::new(), hit: false };
        for path in 0..paths.len() {
            start.reach(path, 0);
        }
        start
    }

    /// Starts all paths here, in addition to those that lead here.
    pub(crate) fn begin(mut self) -> Self {
        for path in 0..self.paths.len() {
            self.reach(path, 0);
        }
        self
    }

    fn reach(&mut self, path: usize, step: usize) {
        if step == self.paths[path].tokens.len() {
            self.hit = true;
        } else {
            self.alive.push(Place { path, step });
        }
    }

    pub(crate) fn member(&self, name: Option<&str>) -> Self {
        let mut next = Self { paths: self.paths, alive: Vec::new(), hit: false };
        for place in &self.alive {
            let token = &self.paths[place.path].tokens[place.step];
            let matches = match token {
                Token::Any => true,
                Token::Name(wanted) => Some(wanted.as_str()) == name,
            };
            if matches {
                next.reach(place.path, place.step + 1);
            }
        }
        next
    }

    pub(crate) fn element(&self, index: usize) -> Self {
        let mut next = Self { paths: self.paths, alive: Vec::new(), hit: false };
        for place in &self.alive {
            let token = &self.paths[place.path].tokens[place.step];
            match token {
                // An index or a wildcard matches the elements of this array, and nothing deeper.
                Token::Any => next.reach(place.path, place.step + 1),
                Token::Name(_) if token.index().is_some() => {
                    if token.index() == Some(index) {
                        next.reach(place.path, place.step + 1);
                    }
                }
                // A name is searched for in each element.
                Token::Name(_) => next.alive.push(*place),
            }
        }
        next
    }
}

/// The path as a JSON Pointer. `None` if a key on it has a lone surrogate.
pub(crate) fn pointer(document: &Node, way: &[usize]) -> Option<String> {
    let (mut node, mut pointer) = (document, String::new());
    for child in way {
        pointer.push('/');
        match &node.value {
            Value::Object(members) => {
                let name = members[*child].name.as_ref()?;
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            _ => pointer.push_str(&child.to_string()),
        }
        node = node.child(*child);
    }
    Some(pointer)
}
