//! Addresses that follow from other members of the same object: `https://api.example/repos/{full_name}/issues`.

use super::sample::PathNode;
use super::shape::Shape;

/// The members of one object that are compared.
const MAX_MEMBERS: usize = 64;

/// The longest value that is looked for in addresses, and the longest address.
const MAX_VALUE: usize = 64;
const MAX_URL: usize = 300;

/// A template of the addresses at a path.
#[derive(Debug, Default)]
pub(super) struct TemplateGuess {
    template: Option<Box<str>>,
    fits: u32,
    fails: u32,
}

impl TemplateGuess {
    /// Returns the template if it holds for all objects that were compared.
    pub(super) fn holds(&self) -> Option<&str> {
        self.template.as_deref().filter(|_| self.fits > 0 && self.fails == 0)
    }

    fn add(&mut self, found: Option<String>) {
        match (found, &self.template) {
            (Some(found), Some(known)) if *known.as_ref() == *found => self.fits += 1,
            (Some(found), None) if self.fails == 0 => {
                self.template = Some(found.into());
                self.fits = 1;
            }
            _ => self.fails += 1,
        }
    }
}

/// The scalars of one object.
#[derive(Debug, Default)]
pub(super) struct Siblings {
    values: Vec<(usize, String)>,
    urls: Vec<(usize, String)>,
}

impl Siblings {
    pub(super) fn push(&mut self, node: usize, text: String, shape: Shape) {
        if shape == Shape::Url {
            if self.urls.len() < MAX_MEMBERS && text.len() <= MAX_URL {
                self.urls.push((node, text));
            }
        } else if self.values.len() < MAX_MEMBERS
            && (1..=MAX_VALUE).contains(&text.len())
            && shape != Shape::Bool
        {
            self.values.push((node, text));
        }
    }

    /// Compares each address with the other members of the object.
    pub(super) fn compare(mut self, nodes: &mut [PathNode]) {
        // The longest values first, so that a name wins over a number in it.
        self.values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        for (node, url) in &self.urls {
            let found = template_of(url, &self.values, nodes);
            if let Some(node) = nodes.get_mut(*node) {
                node.template.add(found);
            }
        }
    }
}

/// Returns the address with the value of another member replaced by its name.
fn template_of(url: &str, values: &[(usize, String)], nodes: &[PathNode]) -> Option<String> {
    for (node, value) in values {
        let Some((before, after)) = url.rsplit_once(value.as_str()) else { continue };
        let separate = |char: char| !char.is_ascii_alphanumeric();
        let begins = before.chars().next_back().is_some_and(separate);
        let ends = after.chars().next().is_none_or(separate);
        // A value in the host says nothing.
        if begins && ends && before.split_once("://").is_some_and(|(_, path)| path.contains('/')) {
            let name = nodes.get(*node)?.name.as_deref()?;
            return Some(format!("{before}{{{name}}}{after}"));
        }
    }
    None
}
