//! Derives templates from the first items.
//!
//! A string is read from left to right in all of these items at once. At each place the members whose texts occur there
//! in all of them are the choices, the longest text first. If there is none, a character that is the same in all of them
//! is literal. A choice that leads nowhere is taken back.
//!
//! ```text
//! item 1   https://host/users/mira/repos      login: mira
//! item 2   https://host/users/sol/repos       login: sol
//! item 3   https://host/users/mira/repos      login: mira
//!          └── literal ─────┘└┬─┘└literal┘
//!                          {login}
//! ```

use smallvec::SmallVec;
use tamis_json::test_work::{WorkKind, count};

use super::template::{Segment, Template};
use super::trie::{ITEM, NONE, Node, SAMPLES, Trie};
use crate::reader::Span;

/// The most sources of one place.
const SOURCES: usize = 8;
/// The most members with one text that are compared at one place.
const COMPARED: usize = 64;
/// The most choices for each byte of a string, and in addition.
const STEPS: (usize, usize) = (4, 256);
/// The most places of one template.
const SLOTS: usize = 32;

/// The places in the first items, or lengths there. Unused ones are 0.
type Places = [usize; SAMPLES];

/// The texts of a member in the first items.
type Texts<'a> = &'a [&'a [u8]];

/// The members that a template may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    /// Those whose text is only a part of the string. Two members with one text cannot both be made from each other.
    Parts,
    /// Those of the same object and of the objects around it.
    Around,
}

/// The members with one text in the first item.
#[derive(Debug)]
struct Group {
    text: Span,
    /// Their nodes, as a range of `Sources::nodes`.
    nodes: Span,
    /// The group with the longest text that this one begins with.
    prefix: u32,
}

/// The members that templates may use.
#[derive(Debug)]
struct Sources {
    nodes: Vec<u32>,
    groups: Vec<Group>,
    /// Which pairs of bytes a text begins with. Texts of one byte have all pairs.
    begins: Vec<u64>,
    /// The number of first items.
    samples: usize,
}

/// Members with one text in each of the first items.
#[derive(Debug)]
struct Slot {
    lengths: Places,
    sources: SmallVec<[u32; SOURCES]>,
    /// The text is the same in all of these items.
    constant: bool,
}

/// A place with a choice.
#[derive(Debug)]
struct Choice {
    at: Places,
    slots: SmallVec<[Slot; 2]>,
    /// The slot that is tried. After the last one the character is literal.
    tried: usize,
}

/// Derives templates for each string, and returns the nodes that have one. Only texts that templates need are read in
/// further items.
pub(super) fn derive(trie: &mut Trie) -> Vec<u32> {
    let sources = Sources::new(trie);
    let mut made = Vec::new();
    for id in 1..trie.nodes.len() {
        let id = u32::try_from(id).unwrap_or(NONE);
        let is_string = |node: &Node| node.strings == trie.item;
        if !trie.node(id).is_some_and(is_string) {
            continue;
        }
        let mut templates: Vec<Template> = Vec::new();
        for scope in [Scope::All, Scope::Parts, Scope::Around] {
            if let Some(template) = sources.template(trie, id, scope)
                && !templates.contains(&template)
            {
                templates.push(template);
            }
        }
        if let Some(node) = trie.node_mut(id)
            && !templates.is_empty()
        {
            node.templates = templates;
            made.push(id);
        }
    }
    want(trie, &made);
    made
}

/// Sets which texts are read.
fn want(trie: &mut Trie, made: &[u32]) {
    let mut wanted = vec![false; trie.nodes.len()];
    let mut set = |node: u32| {
        if let Some(wanted) = wanted.get_mut(node as usize) {
            *wanted = true;
        }
    };
    for id in made {
        set(*id);
        let templates = trie.node(*id).map(|node| node.templates.as_slice()).unwrap_or_default();
        for segment in templates.iter().flat_map(|template| &template.segments) {
            if let Segment::Slot { sources, .. } = segment {
                sources.iter().for_each(|source| set(*source));
            }
        }
    }
    for (node, wanted) in trie.nodes.iter_mut().zip(wanted) {
        node.wanted = wanted;
    }
}

impl Sources {
    fn new(trie: &Trie) -> Self {
        let sample = |id: u32| trie.node(id).map(|node| node.samples[0]).unwrap_or_default();
        let text = |id: u32| sample(id).of(&trie.texts);
        let ids = 1..u32::try_from(trie.nodes.len()).unwrap_or(NONE);
        let mut nodes: Vec<u32> = ids
            .filter(|id| trie.node(*id).is_some_and(|node| node.plain && node.texts == trie.item))
            .filter(|id| sample(*id).len() > 0)
            .collect();
        nodes.sort_by(|one, other| text(*one).cmp(text(*other)));
        let mut groups: Vec<Group> = Vec::new();
        let mut begins = vec![0_u64; 1 << 10];
        for (index, id) in nodes.iter().enumerate() {
            let own = text(*id);
            if let Some(group) = groups.last_mut()
                && group.text.of(&trie.texts) == own
            {
                group.nodes.end = index + 1;
                continue;
            }
            let mut prefix = u32::try_from(groups.len()).unwrap_or(NONE).wrapping_sub(1);
            while let Some(group) = groups.get(prefix as usize) {
                count(WorkKind::Tree, 1);
                if own.starts_with(group.text.of(&trie.texts)) {
                    break;
                }
                prefix = group.prefix;
            }
            let nodes = Span { start: index, end: index + 1 };
            groups.push(Group { text: sample(*id), nodes, prefix });
            let (first, second) = (own.first().copied().unwrap_or_default(), own.get(1));
            let from = usize::from(first) << 8;
            let pairs = match second {
                Some(second) => from | usize::from(*second)..(from | usize::from(*second)) + 1,
                None => from..from + 256,
            };
            for pair in pairs {
                if let Some(word) = begins.get_mut(pair >> 6) {
                    *word |= 1 << (pair & 63);
                }
            }
        }
        Self { nodes, groups, begins, samples: trie.item as usize }
    }

    /// Derives the template of a member.
    fn template(&self, trie: &Trie, id: u32, scope: Scope) -> Option<Template> {
        let node = trie.node(id)?;
        let texts = node.samples.map(|sample| sample.of(&trie.texts));
        let texts = texts.get(..self.samples)?;
        let first = *texts.first()?;
        let around = ancestors(trie, id);
        let mut ends = [0; SAMPLES];
        ends.iter_mut().zip(texts).for_each(|(end, text)| *end = text.len());
        let mut at = [0; SAMPLES];
        let mut choices: Vec<Choice> = Vec::new();
        let mut steps = first.len() * STEPS.0 + STEPS.1;
        let mut used = 0;
        loop {
            count(WorkKind::Tree, 1);
            steps = steps.checked_sub(1)?;
            if at == ends {
                break;
            }
            let slots = if choices.len() < SLOTS * 4 {
                self.slots(trie, id, &around, scope, texts, at)
            } else {
                SmallVec::new()
            };
            if let Some(slot) = slots.first() {
                let from = at;
                at = add(at, slot.lengths);
                used += 1;
                choices.push(Choice { at: from, slots, tried: 0 });
                continue;
            }
            if let Some(next) = literal(texts, at) {
                at = next;
                continue;
            }
            // The last choice that has another one is changed.
            loop {
                let choice = choices.last_mut()?;
                choice.tried += 1;
                if let Some(slot) = choice.slots.get(choice.tried) {
                    at = add(choice.at, slot.lengths);
                    break;
                }
                if choice.tried == choice.slots.len()
                    && let Some(next) = literal(texts, choice.at)
                {
                    at = next;
                    break;
                }
                choices.pop();
            }
        }
        if used == 0 {
            return None;
        }
        let mut template = Template::default();
        let mut from = 0;
        for choice in choices {
            let Some(slot) = choice.slots.into_iter().nth(choice.tried) else { continue };
            let [place, ..] = choice.at;
            template.literal(first.get(from..place).unwrap_or_default());
            from = place + slot.lengths[0];
            let constant = first.get(place..from).filter(|_| slot.constant);
            template.slot(slot.sources, constant);
        }
        template.literal(first.get(from..).unwrap_or_default());
        let slots = template.segments.len();
        (slots <= 2 * SLOTS + 1 && template.has_slot()).then_some(template)
    }

    /// Returns the slots that are possible at a place, the longest one first. `around`: the objects that have the member.
    fn slots(
        &self,
        trie: &Trie,
        id: u32,
        around: &[u32],
        scope: Scope,
        texts: Texts<'_>,
        at: Places,
    ) -> SmallVec<[Slot; 2]> {
        let mut slots: SmallVec<[Slot; 2]> = SmallVec::new();
        let (Some(text), [place, ..]) = (texts.first(), at) else { return slots };
        let rest = text.get(place..).unwrap_or_default();
        let Some(byte) = rest.first() else { return slots };
        let pair = usize::from(*byte) << 8 | usize::from(rest.get(1).copied().unwrap_or_default());
        if self.begins.get(pair >> 6).is_none_or(|word| word >> (pair & 63) & 1 == 0) {
            return slots;
        }
        let after = self.groups.partition_point(|group| group.text.of(&trie.texts) <= rest);
        let mut at_group = u32::try_from(after).unwrap_or(NONE).wrapping_sub(1);
        while let Some(group) = self.groups.get(at_group as usize) {
            count(WorkKind::Tree, 1);
            at_group = group.prefix;
            let own = group.text.of(&trie.texts);
            if !rest.starts_with(own) || own.len() < 3 && is_inside_word(text, place, own.len()) {
                continue;
            }
            if scope == Scope::Parts && own.len() == text.len() {
                continue;
            }
            let nodes = self.nodes.get(group.nodes.start..group.nodes.end).unwrap_or_default();
            let start = slots.len();
            for is_sibling in [true, false] {
                for source in nodes.iter().take(COMPARED) {
                    count(WorkKind::Tree, 1);
                    let Some(node) = trie.node(*source).filter(|_| *source != id) else { continue };
                    if (around.first() == Some(&node.parent)) != is_sibling
                        || scope == Scope::Around && !around.contains(&node.parent)
                    {
                        continue;
                    }
                    let Some((lengths, constant)) = lengths(trie, node, texts, at) else {
                        continue;
                    };
                    match slots.iter_mut().skip(start).find(|slot| slot.lengths == lengths) {
                        Some(slot) if slot.sources.len() < SOURCES => slot.sources.push(*source),
                        Some(_) => {}
                        None => {
                            let sources = SmallVec::from_slice(&[*source]);
                            slots.push(Slot { lengths, sources, constant });
                        }
                    }
                }
            }
        }
        slots
    }
}

/// Returns the lengths of a member's texts if they occur at these places, and whether they are the same text.
fn lengths(trie: &Trie, node: &Node, texts: Texts<'_>, at: Places) -> Option<(Places, bool)> {
    let mut lengths = [0; SAMPLES];
    let mut constant = true;
    let first = node.samples.first()?.of(&trie.texts);
    for (((text, at), sample), length) in texts.iter().zip(at).zip(node.samples).zip(&mut lengths) {
        let own = sample.of(&trie.texts);
        count(WorkKind::Tree, 1);
        if !text.get(at..)?.starts_with(own) {
            return None;
        }
        constant &= own == first;
        *length = own.len();
    }
    Some((lengths, constant))
}

/// Returns the objects that have a member, the innermost first.
fn ancestors(trie: &Trie, id: u32) -> Vec<u32> {
    let parent = |id: u32| trie.node(id).map(|node| node.parent).filter(|parent| *parent != NONE);
    std::iter::successors(parent(id), |id| parent(*id)).collect()
}

impl Template {
    fn has_slot(&self) -> bool {
        self.segments.iter().any(|part| matches!(part, Segment::Slot { .. }))
    }
}

fn add(mut at: Places, lengths: Places) -> Places {
    at.iter_mut().zip(lengths).for_each(|(at, length)| *at += length);
    at
}

/// Returns the places after a character, if it is the same in all texts.
fn literal(texts: Texts<'_>, mut at: Places) -> Option<Places> {
    let byte = texts.first()?.get(at[0])?;
    for (text, at) in texts.iter().zip(&mut at) {
        if text.get(*at) != Some(byte) {
            return None;
        }
        *at += 1;
    }
    Some(at)
}

/// Returns whether a part of a text has a letter or digit before or after it.
fn is_inside_word(text: &[u8], start: usize, length: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_word(start.checked_sub(1).and_then(|before| text.get(before)))
        || is_word(text.get(start + length))
}

const _: () = assert!(ITEM == 0, "the nodes of members follow that of the item");
