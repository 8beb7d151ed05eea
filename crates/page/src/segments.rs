//! Parts of a page that are streamed after the page, and that a script of the page puts in their places.
//!
//! React 18 and later streams a suspended part as `<div hidden id="S:0">` at the end, with a placeholder
//! `<template id="B:0">` in its place, or `P:0` for a part of a part. A script after the part names both, as a statement:
//! `$RC("B:0","S:0")`, `$RR("B:0","S:0",[…])` with styles, or `$RS("S:1","P:1")` (the strings of `react-dom/server` 19.1.0;
//! in version 18 the numbers of the two differ). In the rewritten page, the part is moved to its placeholder, and replaces what
//! is shown until it arrives: `<!--$?--><template id="B:0"></template>Loading…<!--/$-->`. A part that no script names is hidden
//! text, and one whose placeholder is in a removed element is removed with it. The text of a page that is too large to be
//! rewritten has such parts in the order in which they arrived.

use super::outline::Block;
use super::tags::Tag;

/// The maximum number of placeholders and of parts.
const PLACES: usize = 256;
/// The maximum size of a script that names parts, in bytes. The functions that it may define have about 2 KB.
const SCRIPT: usize = 64 << 10;

/// The places and the parts of a page, as offsets in the rewritten page.
#[derive(Debug, Default)]
pub(super) struct Segments {
    places: Vec<Place>,
    /// The places of the open boundaries, the innermost one last. One that has its content has no place.
    boundaries: Vec<Option<usize>>,
    parts: Vec<Part>,
    /// The part that is open, and its level.
    open: Option<(Part, usize)>,
    /// The placeholders and the parts that scripts name together.
    named: Vec<(String, String)>,
    /// The script that is open.
    script: Option<String>,
}

/// A placeholder.
#[derive(Debug)]
struct Place {
    id: String,
    /// Its offset, unless it is in a removed element.
    at: Option<usize>,
    /// The offset at which the text that is replaced ends.
    end: usize,
    /// The block around it.
    around: usize,
}

#[derive(Debug)]
struct Part {
    id: String,
    from: usize,
    to: usize,
    /// Its blocks.
    blocks: std::ops::Range<usize>,
    /// The number of its place.
    place: Option<usize>,
}

/// The numbers of words in parts that are not shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unplaced {
    pub(super) words: u64,
    /// Those in parts that no script names.
    pub(super) hidden: u64,
}

impl Segments {
    /// Whether an element may be a streamed part. Without a placeholder, it is hidden text like any other.
    pub(super) fn is_one(&self, tag: &Tag<'_>) -> bool {
        tag.name == "div"
            && self.open.is_none()
            && self.parts.len() < PLACES
            && !self.places.is_empty()
            && tag.get("hidden").is_some()
            && id(tag, "S:").is_some()
    }

    /// Remembers a placeholder, or a script that may name parts. Without `html`, it is in a removed element.
    pub(super) fn start(&mut self, tag: &Tag<'_>, html: Option<&str>, around: usize) {
        if tag.name == "script" && html.is_some() && tag.get("type").is_none() {
            self.script = Some(String::new());
        }
        if tag.name == "template"
            && self.places.len() < PLACES
            && let Some(id) = id(tag, "B:").or_else(|| id(tag, "P:"))
        {
            // The boundary of the placeholder, unless it is one in a part.
            if let (Some(boundary @ None), Some(_)) = (self.boundaries.last_mut(), html) {
                *boundary = Some(self.places.len());
            }
            let at = html.map(str::len);
            self.places.push(Place { id, at, end: at.unwrap_or(0), around });
        }
    }

    /// Reads text of a removed element, which may be a script.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(script) = self.script.as_mut().filter(|script| script.len() < SCRIPT) {
            script.push_str(text);
        }
    }

    /// A removed element ended; it may be a script.
    pub(super) fn end_script(&mut self) {
        let Some(script) = self.script.take() else { return };
        for at in memchr::memmem::find_iter(script.as_bytes(), b"$R") {
            let (before, call) = script.split_at(at);
            let begins = before.is_empty() || before.ends_with([';', '}', '\n', ' ']);
            if let Some(named) = call.get("$R".len()..).filter(|_| begins).and_then(named)
                && self.named.len() < PLACES
            {
                self.named.push(named);
            }
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
                    && let (Some(place), Some(html)) = (self.places.get_mut(place), html)
                {
                    place.end = html.len();
                }
            }
            _ => {}
        }
    }

    /// Begins a part at a level; `block`: the number of its block.
    pub(super) fn begin(&mut self, tag: &Tag<'_>, html: &str, level: usize, block: usize) {
        if let Some(id) = id(tag, "S:") {
            let (from, blocks) = (html.len(), block..block);
            self.open = Some((Part { id, from, to: from, blocks, place: None }, level));
        }
    }

    /// An element at a level ended; it may be the open part.
    pub(super) fn end(&mut self, level: usize, at: usize, blocks: usize) {
        if let Some((mut part, _)) = self.open.take_if(|(_, open)| *open >= level) {
            (part.to, part.blocks.end) = (at, blocks);
            self.parts.push(part);
        }
    }

    /// Finds the places of the parts when the page has ended, and moves their blocks there.
    pub(super) fn settle(&mut self, html: usize, blocks: &mut [Block]) -> Unplaced {
        self.end(0, html, blocks.len());
        let mut unplaced = Unplaced::default();
        for part in &mut self.parts {
            let named = self.named.iter().find(|(_, id)| *id == part.id);
            let place = named.and_then(|(id, _)| {
                let place = self.places.iter().position(|place| place.id == *id)?;
                // A name counts once.
                self.places.get_mut(place)?.id.clear();
                Some(place)
            });
            let found = place.and_then(|number| Some((number, self.places.get(number)?)));
            let found = found.filter(|(_, place)| {
                place.at.is_some_and(|at| at <= part.from) && place.around < part.blocks.start
            });
            if let Some((number, place)) = found {
                part.place = Some(number);
                if let Some(block) = blocks.get_mut(part.blocks.start) {
                    block.parent = place.around;
                }
                continue;
            }
            for block in blocks.get_mut(part.blocks.clone()).unwrap_or_default() {
                unplaced.words += block.words;
                unplaced.hidden += if place.is_none() { block.words } else { 0 };
                *block = Block { parent: block.parent, ..Block::default() };
            }
        }
        unplaced
    }

    /// Whether the page has streamed parts, so that its text is in another order than it arrived.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
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
            let next = self.places.iter().enumerate().filter_map(|(number, place)| {
                let at = place.at.filter(|at| *at >= from && *at < to)?;
                (written.get(number) == Some(&false)).then_some((at, number))
            });
            let place = next.min();
            let moved = self.parts.iter().map(|part| (part.from, part.to));
            let moved = moved
                .filter(|(part, _)| *part >= from && *part < to && !(is_part && *part == from))
                .min();
            match (place, moved) {
                (Some((at, number)), moved) if moved.is_none_or(|(part, _)| at <= part) => {
                    placed.push_str(html.get(from..at).unwrap_or_default());
                    if let Some(written) = written.get_mut(number) {
                        *written = true;
                    }
                    let part = self.parts.iter().find(|part| part.place == Some(number));
                    if let Some(part) = part {
                        let replaced =
                            self.places.get(number).map_or(at, |place| place.end.max(at));
                        ranges.push((replaced.min(to), to, false));
                        ranges.push((part.from, part.to, true));
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

/// Returns an identifier such as `S:0` or `:r:B:1a`.
fn id(tag: &Tag<'_>, prefix: &str) -> Option<String> {
    let id = tag.get("id").filter(|id| id.len() <= 64)?;
    let (_, number) = id.split_once(prefix)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then_some(id)
}

/// Returns the placeholder and the part that a call names, after its `$R`.
fn named(call: &str) -> Option<(String, String)> {
    let (is_inner, call) = match call.strip_prefix('S') {
        Some(call) => (true, call),
        None => (false, call.strip_prefix(['C', 'R'])?),
    };
    let (first, rest) = quoted(call.strip_prefix('(')?)?;
    let (second, _) = quoted(rest.strip_prefix(',')?)?;
    let (place, part) = if is_inner { (second, first) } else { (first, second) };
    Some((place.to_owned(), part.to_owned()))
}

/// Returns a text in quotation marks, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    text.get(1..)?.split_once(mark)
}
