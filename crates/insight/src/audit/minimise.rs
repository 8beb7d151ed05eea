//! Makes a document with a leak as small as a reader wants it.

use super::planted::Planted;
use super::value::Json;

/// The most documents that are tried.
const MAX_TRIES: usize = 3000;

/// Removes members and elements, and replaces the planted value by the plain one of its rule, while `leaks` holds.
pub(super) fn minimise(
    mut planted: Planted,
    plain_value: &Json,
    leaks: &dyn Fn(&Planted) -> bool,
) -> Planted {
    let mut tries = 0;
    let mut attempt = |candidate: Planted, planted: &mut Planted| {
        tries += 1;
        if tries > MAX_TRIES || !leaks(&candidate) {
            return false;
        }
        *planted = candidate;
        true
    };
    loop {
        let mut has_changed = false;
        // A container at a time, its last child first, so that the numbers of the children before it stay.
        let mut containers: Vec<Vec<usize>> = vec![Vec::new()];
        while let Some(location) = containers.pop() {
            let mut number = planted.document.at(&location).map_or(0, Json::len);
            while number > 0 {
                number -= 1;
                let child = [location.as_slice(), &[number]].concat();
                if !planted.at.starts_with(&child)
                    && let Some(candidate) = without(&planted, &location, number)
                {
                    has_changed |= attempt(candidate, &mut planted);
                }
            }
            let children = 0..planted.document.at(&location).map_or(0, Json::len);
            let below = children.map(|number| [location.as_slice(), &[number]].concat());
            containers
                .extend(below.filter(|at| planted.document.at(at).is_some_and(Json::is_container)));
        }
        if let Some(candidate) = simpler(&planted, plain_value) {
            has_changed |= attempt(candidate, &mut planted);
        }
        if !has_changed {
            return planted;
        }
    }
}

/// Returns the document without a child of a container.
fn without(planted: &Planted, location: &[usize], number: usize) -> Option<Planted> {
    let mut smaller = planted.clone();
    smaller.document.at_mut(location)?.remove(number);
    let step = smaller.at.get_mut(location.len());
    if planted.at.starts_with(location)
        && let Some(step) = step
        && *step > number
    {
        *step -= 1;
    }
    Some(smaller)
}

/// Returns the document with the plain value, if it has another one.
fn simpler(planted: &Planted, plain_value: &Json) -> Option<Planted> {
    let is_plain = planted.document.at(&planted.at) == Some(plain_value);
    if planted.in_string || is_plain {
        return None;
    }
    let mut plain = planted.clone();
    *plain.document.at_mut(&planted.at)? = plain_value.clone();
    Some(plain)
}
