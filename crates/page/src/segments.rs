//! Parts of a page that are streamed after the page, and that a script of the page puts in their places.
//!
//! React 18 and later streams a suspended part as `<div hidden id="S:0">` at the end, with a placeholder
//! `<template id="B:0">` in its place, or `P:0` for a part of a part. A script after the part names the place. It has mostly the
//! same number; otherwise the first place that is still empty is taken. In the rewritten page, the part is moved to its placeholder,
//! and replaces what is shown until it arrives: `<!--$?--><template id="B:0"></template>Loading…<!--/$-->`. The text of a page that
//! is too large to be rewritten has such parts in the order in which they arrived.

use super::tags::Tag;

/// The maximum number of placeholders and of parts.
const PLACES: usize = 256;

/// The places and the parts of a page, as offsets in the rewritten page.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The names of the placeholders, their offsets and the blocks around them.
    places: Vec<(String, usize, usize)>,
    /// The offsets at which the texts that they replace end.
    ends: Vec<usize>,
    /// The places of the open boundaries, the innermost one last. One that has its content has no place.
    boundaries: Vec<Option<usize>>,
    /// The parts: the number of the place, the beginning, and the end.
    parts: Vec<(usize, usize, usize)>,
    /// The part that is open: the number of its place, its beginning and its level.
    open: Option<(usize, usize, usize)>,
}

impl Segments {
    /// Whether an element is a streamed part with a placeholder. Without one, it is hidden text like any other.
    pub(super) fn is_one(&self, tag: &Tag<'_>) -> bool {
        tag.name == "div"
            && tag.get("hidden").is_some()
            && name(tag, "S:").is_some_and(|name| self.place_of(&name).is_some())
    }

    /// Returns the number of the place of a part.
    fn place_of(&self, name: &str) -> Option<usize> {
        let is_empty = |number: usize| !self.parts.iter().any(|(place, ..)| *place == number);
        let mut empty = (0..self.places.len()).filter(|number| is_empty(*number));
        let same =
            |number: &usize| self.places.get(*number).is_some_and(|(place, ..)| place == name);
        empty.clone().find(same).or_else(|| empty.next())
    }

    /// Remembers a placeholder.
    pub(super) fn place(&mut self, tag: &Tag<'_>, html: Option<&str>, around: usize) {
        if let (Some(name), Some(html)) = (name(tag, "B:").or_else(|| name(tag, "P:")), html)
            && self.places.len() < PLACES
        {
            // The boundary of the placeholder, unless it is one in a part.
            if let Some(boundary @ None) = self.boundaries.last_mut() {
                *boundary = Some(self.places.len());
            }
            self.places.push((name, html.len(), around));
            self.ends.push(html.len());
        }
    }

    /// Reads a comment, which may begin or end a boundary.
    pub(super) fn comment(&mut self, text: &str, html: Option<&str>) {
        match text {
            "$?" | "$" | "$!" | "$~" if self.boundaries.len() < PLACES => {
                self.boundaries.push(None);
            }
            "/$" => {
                if let Some(Some(place)) = self.boundaries.pop()
                    && let (Some(end), Some(html)) = (self.ends.get_mut(place), html)
                {
                    *end = html.len();
                }
            }
            _ => {}
        }
    }

    /// Begins a part.
    pub(super) fn begin(&mut self, tag: &Tag<'_>, html: Option<&str>, level: usize) {
        let (Some(name), Some(html), None) = (name(tag, "S:"), html, self.open) else { return };
        if self.parts.len() >= PLACES {
            return;
        }
        let place = self.place_of(&name);
        // A placeholder in a part that arrives later follows its own part.
        self.open = place.map(|place| (place, html.len(), level));
    }

    /// Returns the block in which the open part is shown.
    pub(super) fn parent(&self) -> Option<usize> {
        let (place, ..) = self.open?;
        self.places.get(place).map(|(.., around)| *around)
    }

    /// An element at a level ended; it may be the open part.
    pub(super) fn end(&mut self, level: usize, at: usize) {
        if let Some((place, from, open)) = self.open
            && open == level
        {
            self.parts.push((place, from, at));
            self.open = None;
        }
    }

    /// Returns the page with all parts in their places. A part may have places for others.
    pub(super) fn placed(&self, html: String) -> String {
        if self.parts.is_empty() {
            return html;
        }
        let mut placed = String::with_capacity(html.len());
        // The ranges that are still to be written, the last one first.
        let mut ranges = vec![(0, html.len(), false)];
        let mut written = vec![false; self.places.len()];
        while let Some((from, to, is_part)) = ranges.pop() {
            let next = self.places.iter().enumerate().filter(|(number, (_, at, _))| {
                *at >= from && *at < to && written.get(*number) == Some(&false)
            });
            let place = next.map(|(number, (_, at, _))| (*at, number)).min();
            let moved = self.parts.iter().map(|(_, part, end)| (*part, *end));
            let moved = moved
                .filter(|(part, _)| *part >= from && *part < to && !(is_part && *part == from))
                .min();
            match (place, moved) {
                (Some((at, number)), moved) if moved.is_none_or(|(part, _)| at <= part) => {
                    placed.push_str(html.get(from..at).unwrap_or_default());
                    if let Some(written) = written.get_mut(number) {
                        *written = true;
                    }
                    let part = self.parts.iter().find(|(place, ..)| *place == number);
                    if let Some((_, part, end)) = part {
                        let replaced = self.ends.get(number).map_or(at, |end| *end.max(&at));
                        ranges.push((replaced.min(to), to, false));
                        ranges.push((*part, *end, true));
                    } else {
                        ranges.push((at, to, is_part && at == from));
                    }
                }
                (_, Some((part, end))) => {
                    placed.push_str(html.get(from..part).unwrap_or_default());
                    ranges.push((end, to, false));
                }
                _ => placed.push_str(html.get(from..to).unwrap_or_default()),
            }
        }
        placed
    }
}

/// Returns the number in an identifier such as `S:0` or `B:1a`.
fn name(tag: &Tag<'_>, prefix: &str) -> Option<String> {
    let id = tag.get("id")?;
    let (_, number) = id.split_once(prefix)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| number.to_owned())
}
