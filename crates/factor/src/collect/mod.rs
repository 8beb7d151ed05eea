//! The first pass: finds arrays whose items share much, and what they share.
//!
//! Arrays are visited from outside in. If factoring an array does not reach the least gain, those in its items are
//! visited in another round. An array that is shorter than the least gain cannot reach it, so that no paths are collected
//! for it. Each round reads a byte at most twice.

mod derive;
mod plan;
mod shortened;
mod template;
mod trie;

use std::sync::Arc;

use tamis_json::error::Raise;
use tamis_json::hold::Hold;

pub(crate) use plan::{Action, ArrayPlan};
pub(crate) use trie::{ITEM, NONE, Trie};

use crate::is_gain;
use crate::names::OpenNames;
use crate::reader::{Reader, Token};
use template::Template;
use trie::{Member, SAMPLES};

/// The items of an array that is factored.
const LEAST_ITEMS: usize = 3;
/// The items after which one template of each member is left, or two if the first one only copies another member.
const SETTLED: u32 = 32;
/// The most rounds.
const ROUNDS: usize = 8;
/// The most bytes of the values that the items of one array have had in common so far.
const CONSTANTS: usize = 4 << 20;

/// An array that is factored, and its offset.
#[derive(Clone, Debug)]
pub(crate) struct PlacedPlan {
    pub(crate) start: u64,
    pub(crate) plan: Arc<ArrayPlan>,
}

/// The result of the first pass: what is written once, and where.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The arrays to be factored, in document order.
    pub(crate) plans: Vec<PlacedPlan>,
    /// A member has a name that factored documents use.
    pub(crate) reserved: bool,
    /// An object has a name twice.
    pub(crate) repeated: bool,
    /// A scalar is too long.
    pub(crate) too_long: bool,
}

/// A value that is visited in a round.
#[derive(Clone, Copy, Debug)]
struct Visit {
    start: u64,
    end: u64,
    /// The object that has the value.
    owner: Option<u64>,
}

/// An object of an item that is open.
#[derive(Clone, Copy, Debug)]
struct OpenObject {
    node: u32,
    /// The member that is probable.
    hint: u32,
}

/// The state of a pass.
struct Pass<'a> {
    reader: Reader<'a>,
    names: OpenNames,
    /// The bytes that an array must have to be visited.
    least: u64,
    length: u64,
    /// Arrays in the items of the present one.
    inner: Vec<Visit>,
    objects: Vec<OpenObject>,
    /// Arrays that reach the least gain, and arrays for the next round.
    plans: Vec<ArrayPlan>,
    next: Vec<Visit>,
}

/// Reads a document up to an offset.
///
/// # Errors
/// The temporary file cannot be read.
pub(crate) fn survey(hold: &mut Hold, end: u64) -> Result<Survey, Raise> {
    let length = hold.len();
    let mut survey = Survey::default();
    let mut plans = Vec::new();
    let mut visits = vec![Visit { start: 0, end, owner: None }];
    for _ in 0..ROUNDS {
        let mut next = Vec::new();
        for visit in visits {
            let mut pass = Pass {
                reader: Reader::new(hold, visit.start, visit.end),
                names: OpenNames::default(),
                least: (length / 100).saturating_mul(3),
                length,
                inner: Vec::new(),
                objects: Vec::new(),
                plans: Vec::new(),
                next: Vec::new(),
            };
            pass.walk(visit.owner)?;
            survey.reserved |= pass.names.reserved;
            survey.repeated |= pass.names.repeated;
            survey.too_long |= pass.reader.too_long;
            if survey.reserved || survey.too_long {
                return Ok(survey);
            }
            plans.append(&mut pass.plans);
            next.append(&mut pass.next);
        }
        best_of_owners(&mut plans);
        visits = next;
        if visits.is_empty() {
            break;
        }
    }
    plans.sort_by_key(|plan| plan.start);
    let placed = plans.into_iter();
    let placed = placed.map(|plan| PlacedPlan { start: plan.start, plan: Arc::new(plan) });
    survey.plans = placed.collect();
    Ok(survey)
}

/// Leaves one array to each object, that with the largest gain.
fn best_of_owners(plans: &mut Vec<ArrayPlan>) {
    plans.sort_by_key(|plan| (plan.owner, -plan.gain, plan.start));
    plans.dedup_by_key(|plan| plan.owner);
}

impl Pass<'_> {
    /// Reads a value, and visits the outermost arrays in it.
    fn walk(&mut self, owner: Option<u64>) -> Result<(), Raise> {
        // The first array that is open, and the depth of its elements.
        let mut array: Option<(u64, usize, Option<u64>)> = None;
        loop {
            if self.reader.is_full() {
                self.reader.trim();
            }
            let token = self.reader.next_structure()?;
            let offset = self.reader.offset(self.reader.text.start);
            match token {
                Token::Key => self.names.add(self.reader.token(), self.reader.escaped),
                Token::Open { object } => {
                    if !object && array.is_none() {
                        let around = self.names.owner();
                        let is_top = self.reader.depth() == 1;
                        if around.is_some() || is_top {
                            let owner = if is_top { owner } else { around };
                            array = Some((offset, self.reader.depth(), owner));
                        }
                    }
                    self.names.open(offset, object);
                }
                Token::Close => {
                    self.names.close();
                    if array.is_some_and(|(_, depth, _)| self.reader.depth() < depth) {
                        array = None;
                    }
                }
                Token::End => return Ok(()),
                _ => {}
            }
            if let Some((start, depth, owner)) = array
                && offset - start >= self.least
            {
                array = None;
                while self.names.depth() > depth {
                    self.names.close();
                }
                self.reader.rewind(start + 1, depth);
                self.array(start, owner)?;
                self.names.close();
            }
        }
    }

    /// Reads the elements of an array, and decides whether it is factored.
    fn array(&mut self, start: u64, owner: Option<u64>) -> Result<(), Raise> {
        let mut trie = Trie::new(CONSTANTS);
        let mut templates = Vec::new();
        let mut eligible = true;
        self.inner.clear();
        let repeated = std::mem::take(&mut self.names.repeated);
        loop {
            if self.reader.is_full() {
                self.reader.trim();
            }
            match self.reader.next()? {
                Token::Close | Token::End => break,
                Token::Open { object: true } if eligible => {
                    eligible = self.item(&mut trie)?;
                    if !eligible {
                        continue;
                    }
                    keep_matching(&mut trie, &mut templates);
                    if trie.item as usize == SAMPLES {
                        templates = derive::derive(&mut trie);
                        trie.keep_texts();
                    }
                }
                Token::Open { object } => {
                    eligible = false;
                    self.rest_of_container(object, None)?;
                }
                _ => eligible = false,
            }
        }
        self.names.reserved |= trie.reserved;
        if eligible && (LEAST_ITEMS..SAMPLES).contains(&(trie.item as usize)) {
            derive::derive(&mut trie);
        }
        eligible &= !self.names.repeated && trie.item as usize >= LEAST_ITEMS;
        self.names.repeated |= repeated;
        if eligible {
            let plan = plan::plan(trie, start, owner);
            let after = self.length.saturating_sub(u64::try_from(plan.gain).unwrap_or(0));
            if is_gain(self.length, after) {
                self.plans.push(plan);
                return Ok(());
            }
        }
        self.next.append(&mut self.inner);
        Ok(())
    }

    /// Reads the rest of an item. Returns `false` if an object in it has a name twice.
    fn item(&mut self, trie: &mut Trie) -> Result<bool, Raise> {
        let is_first = trie.item == 0;
        trie.begin_item();
        self.objects.clear();
        self.open_object(ITEM, NONE);
        if let Some(open) = self.objects.last_mut() {
            open.hint = trie.node(ITEM).map_or(NONE, |node| node.first);
        }
        while let Some(open) = self.objects.last().copied() {
            if self.reader.is_full() {
                self.reader.trim();
            }
            match self.reader.next()? {
                Token::Key => {}
                Token::End => return Ok(false),
                _ => {
                    self.objects.pop();
                    self.names.close();
                    continue;
                }
            }
            let escaped = self.reader.escaped;
            let found = trie.member(open.node, open.hint, self.reader.token(), escaped);
            let node = match found {
                Member::Path(node) => node,
                Member::Beyond => {
                    self.names.add(self.reader.token(), escaped);
                    NONE
                }
                Member::Repeated => {
                    self.names.repeated = true;
                    NONE
                }
            };
            if let (Some(open), Some(node)) = (self.objects.last_mut(), trie.node(node)) {
                open.hint = node.next;
            }
            if let Some(constant) = trie.take_constant(node) {
                if self.reader.next_is(&constant)? {
                    trie.constant_again(node, constant);
                    continue;
                }
                trie.forget(&constant);
            }
            let token = self.reader.next()?;
            match token {
                Token::Open { object: true } if node != NONE => {
                    if self.reader.peek()? == b'}' {
                        self.reader.next()?;
                        if is_first {
                            trie.set_constant(node, b"{}");
                        }
                        continue;
                    }
                    let first = trie.node(node).map_or(NONE, |node| node.first);
                    self.open_object(node, first);
                }
                Token::Open { object } => {
                    let captured = if is_first && node != NONE {
                        self.rest_of_container(object, Some(CONSTANTS))?
                    } else {
                        self.rest_of_container(object, None)?
                    };
                    if let Some(from) = captured {
                        let end = self.reader.pos;
                        let value = self.reader.bytes().get(from..end).unwrap_or_default();
                        trie.set_constant(node, value);
                    }
                }
                Token::End => return Ok(false),
                kind => {
                    if node != NONE {
                        let (text, escaped) = (self.reader.token(), self.reader.escaped);
                        if is_first {
                            trie.set_constant(node, text);
                        }
                        trie.scalar(node, kind, text, escaped);
                    }
                }
            }
        }
        Ok(!self.names.repeated && !trie.has_lone)
    }

    fn open_object(&mut self, node: u32, hint: u32) {
        self.objects.push(OpenObject { node, hint });
        self.names.open(self.reader.offset(self.reader.text.start), true);
    }

    /// Reads the rest of the container that was opened last. `capture`: keeps its bytes in memory, if they are not more;
    /// returns the place at which they begin.
    fn rest_of_container(
        &mut self,
        object: bool,
        capture: Option<usize>,
    ) -> Result<Option<usize>, Raise> {
        let depth = self.reader.depth();
        let from = self.reader.text.start;
        let mut captures = capture.is_some();
        self.inner_open(object);
        loop {
            if self.reader.is_full() {
                captures &= capture.is_some_and(|most| self.reader.pos - from < most);
                if !captures {
                    self.reader.trim();
                }
            }
            match self.reader.next_structure()? {
                Token::Key => self.names.add(self.reader.token(), self.reader.escaped),
                Token::Open { object } => self.inner_open(object),
                Token::Close => {
                    self.inner_close();
                    if self.reader.depth() < depth {
                        return Ok(captures.then_some(from));
                    }
                }
                Token::End => return Ok(None),
                _ => {}
            }
        }
    }

    fn inner_open(&mut self, object: bool) {
        self.names.open(self.reader.offset(self.reader.text.start), object);
    }

    /// Closes a container, and remembers it if it is an array for the next round.
    fn inner_close(&mut self) {
        let is_array = self.reader.token() == b"]";
        let start = self.names.close();
        let end = self.reader.offset(self.reader.pos);
        if end - start < self.least || !is_array {
            return;
        }
        let Some(owner) = self.names.owner() else { return };
        while self.inner.last().is_some_and(|inner| inner.start > start) {
            self.inner.pop();
        }
        self.inner.push(Visit { start, end, owner: Some(owner) });
    }
}

/// Compares the current item with the templates, and forgets those that do not make its strings.
fn keep_matching(trie: &mut Trie, made: &mut Vec<u32>) {
    let item = trie.item;
    made.retain(|id| {
        let Some(node) = trie.node_mut(*id) else { return false };
        let mut templates = std::mem::take(&mut node.templates);
        let text = node.text;
        if node.string_of != item || node.text_of != item {
            return false;
        }
        templates.retain_mut(|template| template.makes(trie, text.of(&trie.texts)));
        if item > SETTLED {
            // The member that is copied may need the copy itself. Then the next template is used.
            templates.truncate(if templates.first().is_some_and(Template::is_copy) {
                2
            } else {
                1
            });
        }
        let is_made = !templates.is_empty();
        if let Some(node) = trie.node_mut(*id) {
            node.templates = templates;
        }
        is_made
    });
}
