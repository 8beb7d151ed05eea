//! The rules, each as a function from tree to tree: first `extract`, then `retain`, then the root of the payload, then the rules
//! on its items.

use std::collections::BTreeSet;

use tamis::ErrorKind;
use tamis::spec::DuplicateKeys;

use super::conditions::{self, Outcome};
use super::dom::{Member, Node, Value, quote};
use super::paths::{Path, Seen, Token};
use super::places::{Places, pointer};
use super::projections::Found;
use super::removal::{drop_members, exclude_item, removed, retain};
use super::root::{Target, extracted, locate};
use super::rules::{Root, Rules, Source};
use super::shape;

/// The expected result.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The rules do not define the result for such a document. Only an error that a valid document cannot cause is wrong.
    Silent(&'static str),
    /// An error, with its kind if that is known. Nothing is emitted before a miss.
    Fails(Option<ErrorKind>),
    /// An error after a selected value was found, so that output may have been emitted.
    Breaks(Option<ErrorKind>),
    Passes {
        output: String,
        report: Box<Expected>,
    },
}

/// The expected keys of the report. A key that is `None` is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    pub applied: bool,
    pub missed: bool,
    pub skipped: Option<&'static str>,
    pub partial_miss: Vec<String>,
    pub root: Option<String>,
    pub seen: Option<usize>,
    pub dropped: usize,
    pub kept: Option<usize>,
    pub truncated_from: Option<usize>,
    pub at_least: Option<usize>,
    pub duplicates: Option<usize>,
    pub projection_skipped: Option<usize>,
    pub kind_kept: Option<usize>,
    pub omitted: Option<usize>,
}

pub fn run(rules: &Rules, document: &Node) -> Verdict {
    evaluate(rules, document).unwrap_or_else(|verdict| verdict)
}

/// The expected result for the response of a failed call.
pub fn run_failed(rules: &Rules, document: &Node) -> Verdict {
    let mut left = Rules {
        extract: None,
        select: None,
        keeps_kinds: false,
        omit: Vec::new(),
        requires: Vec::new(),
        conditions: Vec::new(),
        max_items: 0,
        stop_early: false,
        drop_nulls: false,
        drop_empty: false,
        drop_siblings: false,
        closed: Some(false),
        ..rules.clone()
    };
    // The document has the names of the source, which `exclude` is read against as well.
    for source in rules.select.iter().flatten() {
        let excluded = rules.exclude.iter();
        left.exclude.extend(excluded.filter_map(|path| source.excluded(path, rules.keeps_kinds)));
    }
    let mut document = document;
    if let Some(path) = &rules.extract {
        match extracted(document, &path.tokens) {
            Some(inside) => document = inside,
            None if rules.is_closed() => return Verdict::Fails(Some(ErrorKind::Miss)),
            None => {}
        }
    }
    if rules.is_closed() && rules.select.is_some() {
        return Verdict::Fails(Some(ErrorKind::Miss));
    }
    if left.exclude.is_empty() {
        // No payload is searched for.
        left.root = Root::Object;
        left.duplicates = DuplicateKeys::First;
    }
    let mut verdict = run(&left, document);
    if let Verdict::Passes { report, .. } = &mut verdict {
        // No path can miss.
        report.missed = false;
        report.applied =
            rules.extract.is_some() || rules.retain.is_some() || !rules.exclude.is_empty();
        report.skipped = Some("error_response");
    }
    verdict
}

/// The verdict, which is returned as an error if an early step reaches it.
fn evaluate(rules: &Rules, document: &Node) -> Result<Verdict, Verdict> {
    let document = match &rules.extract {
        None => document,
        Some(path) => {
            extracted(document, &path.tokens).ok_or(Verdict::Fails(Some(ErrorKind::Miss)))?
        }
    };
    if !shape::fits(document, &rules.requires) {
        return other_shape(rules, document);
    }
    let retained = match &rules.retain {
        None => document.clone(),
        Some(paths) => {
            let places = Places::start(paths);
            if !document.is_container() && !places.hit {
                return Err(Verdict::Silent("nothing is retained of a scalar"));
            }
            let empty = match document.value {
                Value::Object(_) => Value::Object(Vec::new()),
                _ => Value::Array(Vec::new()),
            };
            retain(document, &places).unwrap_or(Node { at: document.at, value: empty })
        }
    };
    let target = locate(rules, &retained)?;
    if !rules.on_items() && !rules.drop_siblings && !matches!(rules.root, Root::At(_)) {
        let report = Expected { applied: rules.any(), ..Expected::default() };
        return Ok(Verdict::Passes { output: retained.minified(), report: Box::new(report) });
    }
    let mut state = State {
        rules,
        seen_twice: BTreeSet::new(),
        followed: (Vec::new(), 0),
        all_of_object: false,
        skipped: 0,
        brackets: Vec::new(),
        is_kept: false,
        kinds_kept: 0,
        omitted: 0,
        seen: Seen::default(),
    };
    let mut report = Expected { applied: rules.any(), ..Expected::default() };
    let raw_text = target == Target::RawText;
    if raw_text && rules.select.is_some() {
        if rules.is_closed() {
            return Err(Verdict::Fails(None));
        }
        report.skipped = Some("raw_output");
    }
    // The engine may find a duplicate first.
    let miss = (rules.duplicates != DuplicateKeys::Reject).then_some(ErrorKind::Miss);
    let way = match target {
        Target::Scalar if rules.is_closed() && rules.select.is_some() => {
            return Err(Verdict::Fails(miss));
        }
        Target::Scalar => {
            return Ok(Verdict::Passes { output: retained.minified(), report: Box::new(report) });
        }
        Target::Absent if rules.is_closed() => return Err(Verdict::Fails(Some(ErrorKind::Miss))),
        Target::Absent if rules.drop_siblings => {
            return Err(Verdict::Silent("siblings of a payload that is not there"));
        }
        Target::Absent => {
            (report.applied, report.missed) = (false, true);
            return Ok(Verdict::Passes { output: retained.minified(), report: Box::new(report) });
        }
        Target::Document | Target::RawText => Vec::new(),
        Target::Way(way) => way,
    };
    report.root = pointer(&retained, &way);
    let payload = way.iter().fold(&retained, |node, child| node.child(*child));
    let (output, stopped) = state.payload(payload, raw_text, &mut report)?;
    let whole = state.around(&retained, &way, output, stopped);
    let excluded = rules.select.iter().flatten().any(|source| {
        let removed = [rules.exclude.clone(), rules.omit.clone()].concat();
        let places = Places::start(&removed);
        places.member(source.output_key().as_deref()).hit
    });
    if excluded && rules.duplicates != DuplicateKeys::First && !state.seen_twice.is_empty() {
        return Err(Verdict::Silent("duplicates on the way to what is excluded"));
    }
    if rules.duplicates == DuplicateKeys::Reject && !state.seen_twice.is_empty() {
        return Err(Verdict::Fails(Some(ErrorKind::Duplicate)));
    }
    report.projection_skipped = Some(state.skipped);
    let projects = rules.select.iter().flatten().any(|source| !source.fields.is_empty());
    // The engine does not count what it does not write, and the fields of projections one by one.
    let writes_all = !projects && rules.exclude.is_empty() && rules.omit.is_empty();
    report.kind_kept = writes_all.then_some(state.kinds_kept);
    report.omitted = Some(state.omitted);
    if rules.duplicates == DuplicateKeys::Count && !report.missed {
        report.duplicates = Some(state.seen_twice.len());
    }
    if state.all_of_object {
        return Err(Verdict::Silent("a wildcard over duplicate members"));
    }
    Ok(Verdict::Passes { output: whole.minified(), report: Box::new(report) })
}

/// The result for a document of another shape.
fn other_shape(rules: &Rules, document: &Node) -> Result<Verdict, Verdict> {
    if rules.is_closed() || rules.retain.is_some() || !rules.exclude.is_empty() {
        return Err(Verdict::Fails(Some(ErrorKind::Miss)));
    }
    let report = Expected { skipped: Some("shape"), ..Expected::default() };
    Ok(Verdict::Passes { output: document.minified(), report: Box::new(report) })
}

pub(super) struct State<'a> {
    pub(super) rules: &'a Rules,
    /// Members that were dropped as duplicates: their place, the path that searched for them and, after a wildcard, its output.
    /// Paths with the same beginning search once, up to their first wildcard. A member that two searches found counts for both.
    pub(super) seen_twice: BTreeSet<(usize, Vec<Token>, Option<usize>)>,
    /// The whole path that is followed, and the index of its output.
    pub(super) followed: (Vec<Token>, usize),
    /// A wildcard took all members of an object with duplicates.
    pub(super) all_of_object: bool,
    /// Values that projections left out of the items.
    skipped: usize,
    /// The steps of the followed path that need an array.
    pub(super) brackets: Vec<usize>,
    /// The followed path ended before its first wildcard, at a value of another kind.
    is_kept: bool,
    /// Values that were kept although they are of another kind than a path needs.
    pub(super) kinds_kept: usize,
    /// Values that `omit` removed.
    omitted: usize,
    pub(super) seen: Seen,
}

impl State<'_> {
    /// The output of the payload, and whether the run stopped within the payload.
    fn payload(
        &mut self,
        payload: &Node,
        raw_text: bool,
        report: &mut Expected,
    ) -> Result<(Node, bool), Verdict> {
        let rules = self.rules;
        let miss = (rules.duplicates != DuplicateKeys::Reject).then_some(ErrorKind::Miss);
        let (all, length) = match &payload.value {
            Value::Scalar(_) if rules.is_closed() && rules.select.is_some() => {
                return Err(Verdict::Fails(miss));
            }
            Value::Scalar(_) => return Ok((payload.clone(), false)),
            Value::Object(_) => (std::slice::from_ref(payload), None),
            Value::Array(elements) => (elements.as_slice(), Some(elements.len())),
        };
        if let Value::Object(members) = &payload.value
            && matches!(rules.root, Root::At(_))
            && rules.max_items > 0
            && rules.select.is_none()
        {
            return Ok(self.members(payload, members, report));
        }
        // The place of each item that is kept, and the item.
        let mut kept = Vec::new();
        for (at, item) in all.iter().enumerate() {
            match conditions::outcome(&rules.conditions, item) {
                Outcome::Dropped if length.is_some() => {}
                Outcome::Unclear => {
                    return Err(Verdict::Silent("a tested wildcard over duplicate members"));
                }
                Outcome::Kept | Outcome::Dropped => kept.push((at, item.clone())),
            }
        }
        let (places, items): (Vec<usize>, Vec<Node>) = kept.into_iter().unzip();
        let length = length.map(|_| items.len());
        let limit = match length {
            Some(length) if rules.max_items > 0 => rules.max_items.min(length),
            _ => items.len(),
        };
        let selects = rules.select.as_deref().filter(|_| !raw_text);
        if let Some(select) = selects.filter(|_| rules.is_closed())
            && let Some(other) = items[..limit].iter().position(|item| !item.is_object())
        {
            let before = &items[..other];
            let found = other > 0 && !self.is_missed(select, before, &mut Expected::default());
            return Err(if found { Verdict::Breaks(miss) } else { Verdict::Fails(miss) });
        }
        let missed = match selects {
            None => false,
            Some(select) => self.is_missed(select, &items[..limit], report),
        };
        if missed {
            if rules.is_closed() {
                let reject = rules.duplicates == DuplicateKeys::Reject;
                let twice = reject && !self.seen_twice.is_empty();
                let kind = if twice { ErrorKind::Duplicate } else { ErrorKind::Miss };
                return Err(Verdict::Fails(Some(kind)));
            }
            (report.applied, report.missed) = (false, true);
            report.partial_miss = Vec::new();
        }
        (self.skipped, self.kinds_kept) = (0, 0);
        let limit = if missed { items.len() } else { limit };
        let selects = selects.filter(|_| !missed);
        let output: Vec<Node> =
            items[..limit].iter().map(|item| self.item(item, selects, missed)).collect();
        let Some(length) = length else {
            let item = output.into_iter().next().expect("one item");
            return Ok((item, false));
        };
        // The element after the last item that is kept, whatever it is.
        let end = places.get(limit.wrapping_sub(1)).map_or(0, |last| last + 1);
        let stopped = rules.stop_early && !missed && limit == rules.max_items && end < all.len();
        report.dropped = all.len() - length;
        if stopped {
            report.at_least = Some(limit + 1);
            report.dropped = end - limit;
        } else {
            (report.seen, report.kept) = (Some(length), Some(limit));
            report.truncated_from = (limit < length).then_some(length);
        }
        Ok((Node { at: payload.at, value: Value::Array(output) }, stopped))
    }

    /// The payload, an object, with its first members, and whether the run stopped within it.
    fn members(
        &mut self,
        payload: &Node,
        members: &[Member],
        report: &mut Expected,
    ) -> (Node, bool) {
        let (length, limit) = (members.len(), self.rules.max_items.min(members.len()));
        let stopped = self.rules.stop_early && limit < length;
        if stopped {
            report.at_least = Some(limit + 1);
        } else {
            (report.seen, report.kept) = (Some(length), Some(limit));
            report.truncated_from = (limit < length).then_some(length);
        }
        let kept = Node { at: payload.at, value: Value::Object(members[..limit].to_vec()) };
        let kept = self.remove(&kept, false);
        (drop_members(&kept, self.rules), stopped)
    }

    /// Whether none of the considered items has a selected value.
    fn is_missed(&mut self, select: &[Source], considered: &[Node], report: &mut Expected) -> bool {
        let objects: Vec<&Node> = considered.iter().filter(|item| item.is_object()).collect();
        if objects.is_empty() {
            return false;
        }
        let mut any = false;
        let mut leaves = Vec::new();
        for (number, source) in select.iter().enumerate() {
            self.seen = Seen::default();
            let values = objects.iter().map(|item| self.follow(item, number, &source.path));
            let values: Vec<Node> = values.collect::<Vec<_>>().into_iter().flatten().collect();
            let mut found = Found::default();
            if source.fields.is_empty() {
                let is_found = self.seen.is_found();
                if !is_found {
                    report.partial_miss.push(source.path.text.clone());
                }
                any |= is_found;
                continue;
            }
            for value in &values {
                self.projected(value, number, source, &mut found);
            }
            any |= !found.leaves.is_empty();
            leaves.extend(source.leaves().into_iter().filter(|leaf| !found.leaves.contains(leaf)));
        }
        report.partial_miss.extend(leaves);
        !any
    }

    fn item(&mut self, item: &Node, select: Option<&[Source]>, missed: bool) -> Node {
        let projected = match select {
            Some(select) if item.is_object() => self.project(item, select),
            _ => item.clone(),
        };
        let left = self.remove(&projected, missed);
        if missed { left } else { drop_members(&left, self.rules) }
    }

    /// The rest of an item after `exclude` and `omit`. Indices of both count the elements that the item has.
    fn remove(&mut self, item: &Node, missed: bool) -> Node {
        let excluded = exclude_item(item, &Places::start(&self.rules.exclude));
        if missed {
            return excluded;
        }
        let both = [self.rules.exclude.clone(), self.rules.omit.clone()].concat();
        let left = exclude_item(item, &Places::start(&both));
        self.omitted += removed(&excluded, &left);
        left
    }

    /// The selected members, in the order in which their values begin. The sort is stable, so ties keep the order of the spec.
    fn project(&mut self, item: &Node, select: &[Source]) -> Node {
        let mut members = Vec::new();
        for (number, source) in select.iter().enumerate() {
            let Some(node) = self.follow(item, number, &source.path) else { continue };
            let inside = self.is_kept;
            let node = if source.fields.is_empty() {
                node
            } else {
                let mut found = Found::default();
                let kept = self.projected(&node, number, source, &mut found);
                self.skipped += found.skipped;
                let Some(node) = kept else { continue };
                node
            };
            let name = source.output_key().expect("a generated source has a key");
            let key = quote(&name);
            members.push((inside, Member { key, name: Some(name), node }));
        }
        members.sort_by_key(|(inside, member)| (member.node.at, *inside));
        let members = members.into_iter().map(|(_, member)| member).collect();
        Node { at: item.at, value: Value::Object(members) }
    }

    fn follow(&mut self, item: &Node, output: usize, path: &Path) -> Option<Node> {
        self.followed = (path.tokens.clone(), output);
        self.brackets.clone_from(&path.brackets);
        self.is_kept = false;
        self.find(item, &path.tokens)
    }

    /// The result of a path: a value, or from the first wildcard on an array of values. `path` is the part that is not yet
    /// followed.
    fn find(&mut self, node: &Node, path: &[Token]) -> Option<Node> {
        let Some(token) = path.first() else {
            self.seen.value = true;
            return Some(node.clone());
        };
        if let Some(kind) = self.other_kind(node, path) {
            self.is_kept = *token != Token::Any;
            return Some(self.keep(node, path, kind));
        }
        if *token == Token::Any {
            if !node.is_container() {
                return None;
            }
            let mut found = Vec::new();
            self.seen.containers = true;
            self.gather(node, path, &mut found);
            return Some(Node { at: node.at, value: Value::Array(found) });
        }
        let child = self.step(node, path)?;
        self.find(child, &path[1..])
    }

    pub(super) fn gather(&mut self, node: &Node, path: &[Token], found: &mut Vec<Node>) {
        let Some(token) = path.first() else {
            self.seen.value = true;
            return found.push(node.clone());
        };
        if let Some(kind) = self.other_kind(node, path) {
            return self.gather_kept(node, path, kind, found);
        }
        match (token, &node.value) {
            (Token::Any, Value::Array(elements)) => {
                for element in elements {
                    self.gather(element, &path[1..], found);
                }
            }
            (Token::Any, Value::Object(members)) => {
                let names: BTreeSet<_> = members.iter().map(|member| &member.name).collect();
                self.all_of_object |= names.len() < members.len();
                for member in members {
                    self.gather(&member.node, &path[1..], found);
                }
            }
            _ => match self.step(node, path) {
                Some(child) => self.gather(child, &path[1..], found),
                None => self.seen.elements = true,
            },
        }
    }

    /// One exact step: to the first member with that name, or to the element at that index.
    fn step<'n>(&mut self, node: &'n Node, path: &[Token]) -> Option<&'n Node> {
        let token = path.first()?;
        let Token::Name(name) = token else { return None };
        let (followed, output) = &self.followed;
        let looking = &followed[..=followed.len() - path.len()];
        let below_wildcard = looking.contains(&Token::Any).then_some(*output);
        match &node.value {
            Value::Scalar(_) => None,
            Value::Array(elements) => elements.get(token.index()?),
            Value::Object(members) => {
                let mut named = members.iter().filter(|member| member.name.as_ref() == Some(name));
                let first = named.next()?;
                let seen = |member: &Member| (member.node.at, looking.to_vec(), below_wildcard);
                self.seen_twice.extend(named.map(seen));
                Some(&first.node)
            }
        }
    }

    /// The document with the payload's output in its place.
    fn around(&mut self, node: &Node, way: &[usize], output: Node, stopped: bool) -> Node {
        let Some((at, below)) = way.split_first() else { return output };
        let keep = !self.rules.drop_siblings;
        let inner = self.around(node.child(*at), below, output, stopped);
        let value = match &node.value {
            Value::Scalar(_) => unreachable!("no way leads through a scalar"),
            Value::Array(elements) => {
                let mut kept = Vec::new();
                kept.extend(elements[..*at].iter().filter(|_| keep).cloned());
                kept.push(inner);
                kept.extend(elements[at + 1..].iter().filter(|_| keep && !stopped).cloned());
                Value::Array(kept)
            }
            Value::Object(members) => {
                let mut kept = Vec::new();
                kept.extend(members[..*at].iter().filter(|_| keep).cloned());
                let name = &members[*at].name;
                kept.push(Member { node: inner, ..members[*at].clone() });
                for member in members[at + 1..].iter().filter(|_| !stopped) {
                    if name.is_some() && member.name == *name {
                        self.seen_twice.insert((member.node.at, Vec::new(), None));
                    } else if keep {
                        kept.push(member.clone());
                    }
                }
                Value::Object(kept)
            }
        };
        Node { at: node.at, value }
    }
}

impl Node {
    pub fn child(&self, number: usize) -> &Self {
        match &self.value {
            Value::Scalar(_) => unreachable!("a scalar has no children"),
            Value::Array(elements) => &elements[number],
            Value::Object(members) => &members[number].node,
        }
    }
}
