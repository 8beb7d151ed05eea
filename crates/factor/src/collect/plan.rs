//! Decides what the items of an array write once.

use smallvec::SmallVec;
use tamis_json::strings::StringEscaper;
use tamis_json::test_work::{WorkKind, count};

use super::template::{Segment, Template};
use super::trie::{ITEM, NONE, Node, Trie};

/// The treatment of a member of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is kept.
    Keep,
    /// It is an object from which members are left out.
    Enter,
    /// It is left out.
    Omit,
}

/// An array that is factored.
#[derive(Debug)]
pub(crate) struct ArrayPlan {
    /// The offsets of the array, and of the object that has it, if there is one.
    pub(crate) start: u64,
    pub(crate) owner: Option<u64>,
    pub(crate) trie: Trie,
    /// For each node.
    pub(crate) actions: Vec<Action>,
    /// The texts of `_all` and `_made`, empty if the array has no such members.
    pub(crate) all: Vec<u8>,
    pub(crate) made: Vec<u8>,
    /// The members in each.
    pub(crate) all_members: u64,
    pub(crate) made_members: u64,
    /// The bytes that the document is shorter.
    pub(crate) gain: i64,
}

/// The bytes around a member: two quotes, a colon and a comma.
const AROUND: i64 = 4;

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Decides what the items of an array write once.
pub(super) fn plan(mut trie: Trie, start: u64, owner: Option<u64>) -> ArrayPlan {
    let items = i64::from(trie.item);
    let nodes = trie.nodes.len();
    // Members that all items have with one value.
    let mut all: Vec<Option<Vec<u8>>> = vec![None; nodes];
    let mut gains = vec![0_i64; nodes];
    for ((node, all), gain) in trie.nodes.iter_mut().zip(&mut all).zip(&mut gains) {
        if node.items != trie.item || items == 0 {
            node.constant = None;
        }
        if let Some(value) = node.constant.take() {
            *gain = (items - 1)
                * (signed(value.len() as u64) + signed(node.spelled.len() as u64) + AROUND);
            *all = Some(value.into_vec());
        }
    }
    let all_gain = keep_shorter(&trie, &mut all, &gains) - 9;
    if all_gain <= 0 {
        all = vec![None; nodes];
    }
    let mut made = resolve(&mut trie, &all);
    let mut gains = vec![0_i64; nodes];
    for ((node, made), gain) in trie.nodes.iter().zip(&mut made).zip(&mut gains) {
        let Some(text) = made else { continue };
        let name = signed(node.spelled.len() as u64) + AROUND;
        *gain = signed(node.bytes) + items * name - name - signed(text.len() as u64);
        if *gain <= 0 {
            *made = None;
        }
    }
    let made_gain = keep_shorter(&trie, &mut made, &gains) - 10;
    if made_gain <= 0 {
        made = vec![None; nodes];
    }
    let mut actions = vec![Action::Keep; nodes];
    let mut empties = vec![true; nodes];
    let mut vanished = 0;
    for id in (1..nodes).rev() {
        let Some(node) = trie.nodes.get(id) else { continue };
        let is_omitted = is_some(&all, id) || is_some(&made, id);
        let mut action = actions.get(id).copied().unwrap_or(Action::Keep);
        // A container all of whose members are left out goes, too.
        let is_empty = is_omitted || action == Action::Enter && is_set(&empties, id);
        if is_omitted {
            action = Action::Omit;
        } else if is_empty {
            vanished += i64::from(node.items) * (signed(node.spelled.len() as u64) + AROUND + 2);
        }
        if let Some(slot) = actions.get_mut(id) {
            *slot = action;
        }
        let parent = node.parent as usize;
        if !is_empty && let Some(empty) = empties.get_mut(parent) {
            *empty = false;
        }
        if action != Action::Keep
            && let Some(slot) = actions.get_mut(parent)
        {
            *slot = Action::Enter;
        }
    }
    let members = |values: &[Option<Vec<u8>>]| values.iter().flatten().count() as u64;
    let gain = all_gain.max(0) + made_gain.max(0) + vanished;
    let (all_members, made_members) = (members(&all), members(&made));
    let (all, made) = (write(&trie, &all), write(&trie, &made));
    ArrayPlan { start, owner, trie, actions, all, made, all_members, made_members, gain }
}

fn is_some(values: &[Option<Vec<u8>>], id: usize) -> bool {
    values.get(id).is_some_and(Option::is_some)
}

fn is_set(values: &[bool], id: usize) -> bool {
    values.get(id).copied().unwrap_or_default()
}

/// Removes the values of objects that are not worth the objects around them. Returns the sum of the gains of the others.
fn keep_shorter(trie: &Trie, values: &mut [Option<Vec<u8>>], gains: &[i64]) -> i64 {
    let nodes = trie.nodes.len();
    let mut sums = vec![0_i64; nodes];
    let mut cut = vec![false; nodes];
    for id in (0..nodes).rev() {
        count(WorkKind::Tree, 1);
        let Some(node) = trie.nodes.get(id) else { continue };
        let own = if is_some(values, id) { gains.get(id).copied().unwrap_or_default() } else { 0 };
        let below = sums.get(id).copied().unwrap_or_default();
        let mut sum = own + below;
        if below != 0 && id != ITEM as usize {
            sum -= signed(node.spelled.len() as u64) + AROUND + 2;
        }
        if sum <= 0 && id != ITEM as usize {
            if let Some(cut) = cut.get_mut(id) {
                *cut = true;
            }
            continue;
        }
        if let Some(around) = sums.get_mut(node.parent as usize) {
            *around += sum;
        }
    }
    for id in 1..nodes {
        let parent = trie.nodes.get(id).map_or(0, |node| node.parent as usize);
        if is_set(&cut, parent)
            && let Some(cut) = cut.get_mut(id)
        {
            *cut = true;
        }
        if is_set(&cut, id)
            && let Some(value) = values.get_mut(id)
        {
            *value = None;
        }
    }
    sums.first().copied().unwrap_or_default()
}

/// Whether a member is made by a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// It has no template, or must stay because another one uses it.
    No,
    Undecided,
    Yes,
}

/// Chooses the members that are made. A template uses those made before it, and those that stay.
fn resolve(trie: &mut Trie, all: &[Option<Vec<u8>>]) -> Vec<Option<Vec<u8>>> {
    let order = preorder(trie);
    let mut places = vec![usize::MAX; trie.nodes.len()];
    for (place, id) in order.iter().enumerate() {
        if let Some(slot) = places.get_mut(*id as usize) {
            *slot = place;
        }
    }
    let templates: Vec<Vec<Template>> =
        trie.nodes.iter_mut().map(|node| std::mem::take(&mut node.templates)).collect();
    let mut state: Vec<Made> = templates
        .iter()
        .enumerate()
        .map(
            |(id, template)| {
                if !template.is_empty() && !is_some(all, id) { Made::Undecided } else { Made::No }
            },
        )
        .collect();
    let mut made: Vec<Option<Vec<u8>>> = vec![None; trie.nodes.len()];
    let place = |id: u32| places.get(id as usize).copied().unwrap_or(usize::MAX);
    // In the second round members that are still undecided stay, unless they come before.
    for may_pin in [false, true] {
        for id in &order {
            let at = *id as usize;
            if state.get(at) != Some(&Made::Undecided) {
                continue;
            }
            let templates = templates.get(at).map(Vec::as_slice).unwrap_or_default();
            let usable = |source: u32, may_pin: bool| match state.get(source as usize) {
                Some(Made::No) => true,
                Some(Made::Yes) => place(source) < place(*id),
                _ => may_pin && source != *id,
            };
            let first = |may_pin: bool| {
                let is_usable = |source| usable(source, may_pin);
                templates.iter().find_map(|template| spell(trie, template, is_usable))
            };
            let spelled = first(false).or_else(|| if may_pin { first(true) } else { None });
            let Some((text, used)) = spelled else { continue };
            if let Some(made) = made.get_mut(at) {
                *made = Some(text);
            }
            for source in used {
                if let Some(state @ Made::Undecided) = state.get_mut(source as usize) {
                    *state = Made::No;
                }
            }
            if let Some(state) = state.get_mut(at) {
                *state = Made::Yes;
            }
        }
    }
    made
}

/// Returns the nodes in the order in which members are written.
fn preorder(trie: &Trie) -> Vec<u32> {
    let mut order = Vec::with_capacity(trie.nodes.len());
    let mut at = ITEM;
    while let Some(node) = trie.node(at) {
        order.push(at);
        let mut next = node.first;
        let mut up = node;
        while next == NONE {
            next = up.next;
            let Some(parent) = trie.node(up.parent) else { break };
            up = parent;
        }
        at = next;
    }
    order
}

/// Returns the text of a template as a JSON string, and the members that it uses. `None`: no member can be used as a source.
fn spell(
    trie: &Trie,
    template: &Template,
    is_usable: impl Fn(u32) -> bool + Copy,
) -> Option<(Vec<u8>, SmallVec<[u32; 4]>)> {
    let mut text = Vec::new();
    let mut used = SmallVec::new();
    let literal = |text: &mut Vec<u8>, literal: &[u8]| {
        for byte in literal {
            text.push(*byte);
            if matches!(byte, b'{' | b'}') {
                text.push(*byte);
            }
        }
    };
    for segment in &template.segments {
        match segment {
            Segment::Literal(span) => literal(&mut text, span.of(&template.literals)),
            Segment::Slot { literal: Some(span), .. } => {
                literal(&mut text, span.of(&template.literals));
            }
            Segment::Slot { sources, .. } => {
                let length = |id: &u32| {
                    let mut path = Vec::new();
                    trie.write_path(*id, &mut path);
                    path.len()
                };
                let source =
                    sources.iter().copied().filter(|id| is_usable(*id)).min_by_key(length)?;
                text.push(b'{');
                trie.write_path(source, &mut text);
                text.push(b'}');
                used.push(source);
            }
        }
    }
    if used.is_empty() {
        return None;
    }
    let mut escaper = StringEscaper::default();
    escaper.out.push(b'"');
    escaper.spell_text(&text);
    escaper.out.push(b'"');
    Some((escaper.out, used))
}

/// Writes an object with values at their paths. The text is empty if there are no values.
fn write(trie: &Trie, values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut included = vec![false; trie.nodes.len()];
    for id in (1..trie.nodes.len()).rev() {
        let includes = is_some(values, id) || is_set(&included, id);
        let parent = trie.nodes.get(id).map_or(0, |node| node.parent as usize);
        if let Some(included) = included.get_mut(id) {
            *included = includes;
        }
        if includes && let Some(around) = included.get_mut(parent) {
            *around = true;
        }
    }
    let mut out = Vec::new();
    if !is_set(&included, ITEM as usize) {
        return out;
    }
    let first = |id: u32| trie.node(id).map_or(NONE, |node: &Node| node.first);
    out.push(b'{');
    let mut open = vec![first(ITEM)];
    while let Some(top) = open.last_mut() {
        let id = *top;
        let Some(node) = trie.node(id) else {
            out.push(b'}');
            open.pop();
            continue;
        };
        *top = node.next;
        if !is_set(&included, id as usize) {
            continue;
        }
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(node.spelled.of(&trie.names));
        out.extend_from_slice(b"\":");
        match values.get(id as usize).and_then(Option::as_ref) {
            Some(value) => out.extend_from_slice(value),
            None => {
                out.push(b'{');
                open.push(first(id));
            }
        }
    }
    out
}
