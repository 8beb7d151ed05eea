//! Where the paths of `exclude` and `retain` are, while a value is walked: names reach through arrays.

use super::rules::{Path, Token};

/// All paths that are still alive at one value.
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

    /// Begins all paths here, beside those that lead here.
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
                // An index, a wildcard: this array's elements, and no deeper.
                Token::Any => next.reach(place.path, place.step + 1),
                Token::Name(_) if token.index().is_some() => {
                    if token.index() == Some(index) {
                        next.reach(place.path, place.step + 1);
                    }
                }
                // A name goes on to each element.
                Token::Name(_) => next.alive.push(*place),
            }
        }
        next
    }
}
