//! Filters that start from another one (`extends`), and their other names (`aliases`).
//!
//! Rules are combined before they are read, as parts of the YAML tree. A base is another filter of the same file, or one
//! of the built-in catalog. The result has each base before the filters that extend it. Linear in the text and in the
//! values that are taken over, which have a limit.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::building::Building;
use super::catalog::names::{self, NoBuiltin};
use super::delivery::split;
use super::node::{Flaw, Key, Node, Value};
use super::suggest;
use super::weakened::weakened_rules;

/// The keys of a filter that are read here.
pub(super) const KEYS: [&str; 2] = ["extends", "aliases"];

/// The key with the rules of the tight level.
pub(super) const TIGHT: &str = "tight";
/// The rules on items that save. Those of the tight level take their place.
pub(super) const REPLACED: [&str; 8] =
    ["select", "on_kind", "omit", "where", "max_items", "stop_early", "drop_nulls", "drop_empty"];

/// The maximum number of keys and values that all filters of a file together take over from their bases.
const MAX_INHERITED: usize = 200_000;
/// The number of names that an error about a circle lists.
const SHOWN: usize = 8;

/// A filter with the rules of its base.
#[derive(Debug)]
pub(super) struct CompleteFilter<'n> {
    pub(super) name: &'n Key,
    pub(super) rules: Rc<Node>,
    /// Texts.
    pub(super) aliases: &'n [Node],
    /// Its position among the filters of the file.
    pub(super) number: usize,
    /// The position of its base, if that is in the same file.
    pub(super) base: Option<usize>,
    /// Keys that remove less than those of the base: places and warnings.
    pub(super) weakened: Vec<(usize, String)>,
}

/// A filter as it is written.
struct WrittenFilter<'n> {
    name: &'n Key,
    rules: Rc<Node>,
    aliases: &'n [Node],
    extends: Option<&'n Node>,
}

/// The filter that another one extends, and the value that names it.
enum Base<'n> {
    SameFile(usize, &'n Node),
    Builtin(&'static Node, &'n Node),
}

impl Base<'_> {
    /// Returns the value that names it.
    fn node(&self) -> &Node {
        match self {
            Self::SameFile(_, node) | Self::Builtin(_, node) => node,
        }
    }
}

/// Adds the rules of their bases to filters. Records an error for each filter that is not a map, and for each base or
/// alias that is wrong. Filters with such errors are left out, and so are those that extend them.
pub(super) fn complete<'n>(
    building: &mut Building<'_>,
    filters: &'n [(Key, Node)],
) -> Vec<CompleteFilter<'n>> {
    let written: Vec<_> = filters.iter().map(|(name, node)| read(building, name, node)).collect();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (number, filter) in written.iter().enumerate() {
        for alias in filter.iter().flat_map(|filter| filter.aliases).filter_map(Node::as_text) {
            names.entry(alias).or_insert(number);
        }
    }
    names
        .extend(filters.iter().enumerate().map(|(number, (name, _))| (name.text.as_str(), number)));
    let mut wrong = HashSet::new();
    let bases: Vec<Option<Base<'n>>> = written
        .iter()
        .enumerate()
        .map(|(number, filter)| {
            let base =
                filter.as_ref().map(|filter| find(building, filters, number, filter, &names));
            if !matches!(base, Some(Ok(_))) {
                wrong.insert(number);
            }
            base?.ok()?
        })
        .collect();
    let base_of = |number: usize| match bases.get(number) {
        Some(Some(Base::SameFile(base, _))) => Some(*base),
        _ => None,
    };
    let order = order(filters.len(), base_of, |circle| {
        wrong.extend(circle.iter().copied());
        refuse_circle(building, circle, &written);
    });
    let mut finished: Vec<Option<Rc<Node>>> = vec![None; filters.len()];
    if let Err(number) = check_size(&order, &written, &bases) {
        if let (Some(Some(filter)), Some(Some(base))) = (written.get(number), bases.get(number)) {
            let message = format!("filters take over more than {MAX_INHERITED} keys and values");
            building.refuse_tool(&filter.name.text, &Flaw::new(base.node().at.start, message));
        }
        return Vec::new();
    }
    let mut complete = Vec::with_capacity(order.len());
    for number in order {
        let Some(Some(WrittenFilter { name, rules, aliases, .. })) = written.get(number) else {
            continue;
        };
        let base = bases.get(number).and_then(Option::as_ref);
        let base_node = match base {
            None => None,
            Some(Base::Builtin(node, at)) => Some((Rc::new(rules_of_builtin(node, at)), *at)),
            // The base has an error if it is not finished.
            Some(Base::SameFile(base, at)) => match finished.get(*base) {
                Some(Some(node)) => Some((Rc::clone(node), *at)),
                _ => continue,
            },
        };
        if wrong.contains(&number) {
            continue;
        }
        let mut weakened = Vec::new();
        let rules = match base_node {
            None => Rc::clone(rules),
            Some((node, _)) => {
                let combined = Rc::new(at_both_levels(&node, rules));
                if base_of(number).is_some() {
                    weakened = weakened_rules(&node, rules, &combined);
                }
                combined
            }
        };
        if let Some(slot) = finished.get_mut(number) {
            *slot = Some(Rc::clone(&rules));
        }
        let base = base_of(number);
        complete.push(CompleteFilter { name, rules, aliases, number, base, weakened });
    }
    complete
}

/// Checks how much all filters take over, before anything is copied. Fails with the number of the first filter that takes too
/// much. A value that a filter replaces counts as taken over.
fn check_size(
    order: &[usize],
    written: &[Option<WrittenFilter<'_>>],
    bases: &[Option<Base<'_>>],
) -> Result<(), usize> {
    let mut sizes = vec![0_usize; written.len()];
    let mut left = MAX_INHERITED;
    for number in order {
        let inherited = match bases.get(*number).and_then(Option::as_ref) {
            None => 0,
            Some(Base::Builtin(node, _)) => size(node),
            Some(Base::SameFile(base, _)) => sizes.get(*base).copied().unwrap_or(0),
        };
        left = left.saturating_sub(inherited);
        if left == 0 {
            return Err(*number);
        }
        let own = written.get(*number).and_then(Option::as_ref);
        let own = own.map_or(0, |filter| size(&filter.rules));
        if let Some(slot) = sizes.get_mut(*number) {
            // Both maps become one.
            *slot = inherited.max(1).saturating_add(own).saturating_sub(1);
        }
    }
    Ok(())
}

/// Splits a filter into its rules and the keys that are read here.
fn read<'n>(
    building: &mut Building<'_>,
    name: &'n Key,
    node: &'n Node,
) -> Option<WrittenFilter<'n>> {
    let mut refuse = |at: usize, message: String| {
        building.refuse_tool(&name.text, &Flaw::new(at, message));
        None
    };
    if node.entries().is_none() {
        let message = format!(
            "must be a map of rules, not {}; `{{}}` only validates and minifies",
            node.what()
        );
        return refuse(name.at.start, message);
    }
    let at = |key: &Key, node: &Node| if node.at.is_empty() { key.at.start } else { node.at.start };
    let extends = match node.entry("extends") {
        Some((key, base)) if base.as_text().is_none() => {
            let message = format!("`extends` must be the name of a filter, not {}", base.what());
            return refuse(at(key, base), message);
        }
        found => found.map(|(_, base)| base),
    };
    let aliases: &[Node] = match node.entry("aliases") {
        None => &[],
        Some((key, list)) => match &list.value {
            Value::List(aliases) => {
                if let Some(other) = aliases.iter().find(|alias| alias.as_text().is_none()) {
                    let message =
                        format!("each entry of `aliases` must be text, not {}", other.what());
                    return refuse(other.at.start, message);
                }
                aliases
            }
            _ => {
                let message = format!("`aliases` must be a list of names, not {}", list.what());
                return refuse(at(key, list), message);
            }
        },
    };
    let (_, rules) = split(node, &KEYS);
    Some(WrittenFilter { name, rules: Rc::new(rules.into_owned()), aliases, extends })
}

/// Finds the filter that a filter extends.
fn find<'n>(
    building: &mut Building<'_>,
    filters: &[(Key, Node)],
    number: usize,
    filter: &WrittenFilter<'n>,
    names: &HashMap<&str, usize>,
) -> Result<Option<Base<'n>>, ()> {
    let Some(node) = filter.extends else { return Ok(None) };
    let wanted = node.as_text().unwrap_or_default();
    let own = names.get(wanted).copied();
    // A filter may have the name of the built-in filter that it extends.
    if let Some(own) = own.filter(|own| *own != number) {
        return Ok(Some(Base::SameFile(own, node)));
    }
    let message = match names::builtin_rules(wanted) {
        Ok(base) => return Ok(Some(Base::Builtin(base, node))),
        Err(_) if own.is_some() => {
            "`extends` names this filter itself, and the built-in catalog has no filter of this name"
                .to_owned()
        }
        Err(NoBuiltin::Several(names)) => format!(
            "several built-in filters are meant by `{}`; write one of {}",
            suggest::short(wanted),
            names.join(", ")
        ),
        Err(NoBuiltin::Unknown) => {
            let builtin = names::builtin_names().iter().copied();
            let others = filters.iter().enumerate().filter(|(other, _)| *other != number);
            let known = builtin.chain(others.map(|(_, (name, _))| name.text.as_str()));
            // Names are compared only for the problems that are listed.
            let close = building.lists_more().then(|| suggest::closest(wanted, known)).flatten();
            let remedy = match close {
                Some(close) => format!("did you mean `{close}`?"),
                None => "name a filter of this file, or one that `tamis tools` lists".to_owned(),
            };
            format!("no filter `{}` to extend; {remedy}", suggest::short(wanted))
        }
    };
    building.refuse_tool(&filter.name.text, &Flaw::new(node.at.start, message));
    Err(())
}

/// Returns all numbers below `count`, each after its base. Calls `refuse` with the numbers of each circle.
fn order(
    count: usize,
    base_of: impl Fn(usize) -> Option<usize>,
    mut refuse: impl FnMut(&[usize]),
) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; count];
    let mut order = Vec::with_capacity(count);
    for start in 0..count {
        let mut open = Vec::new();
        let mut next = Some(start);
        while let Some(number) = next {
            match states.get_mut(number) {
                Some(state) if *state == State::New => *state = State::Open,
                Some(State::Open) => {
                    let first = open.iter().position(|other| *other == number).unwrap_or(0);
                    refuse(open.get(first..).unwrap_or_default());
                    break;
                }
                _ => break,
            }
            open.push(number);
            next = base_of(number);
        }
        for number in open.into_iter().rev() {
            if let Some(state) = states.get_mut(number) {
                *state = State::Done;
            }
            order.push(number);
        }
    }
    order
}

fn refuse_circle(
    building: &mut Building<'_>,
    circle: &[usize],
    written: &[Option<WrittenFilter<'_>>],
) {
    let filters: Vec<_> =
        circle.iter().filter_map(|number| written.get(*number)?.as_ref()).collect();
    let Some(first) = filters.first() else { return };
    let mut names: Vec<String> =
        filters.iter().take(SHOWN).map(|filter| suggest::short(&filter.name.text)).collect();
    if filters.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.push(suggest::short(&first.name.text));
    let message = format!("`extends` goes in a circle: {}", names.join(" → "));
    let at = first.extends.map_or(first.name.at.start, |node| node.at.start);
    building.refuse_tool(&first.name.text, &Flaw::new(at, message));
}

/// Returns the rules of the catalog without [`KEYS`].
fn rules_of_builtin(node: &Node, to: &Node) -> Node {
    let mut rules = moved(node, to);
    if let Value::Map(entries) = &mut rules.value {
        entries.retain(|(key, _)| !KEYS.contains(&key.text.as_str()));
    }
    rules
}

/// Returns a value of the catalog with the place of the value that names it, which errors in it refer to.
fn moved(node: &Node, to: &Node) -> Node {
    let value = match &node.value {
        Value::List(list) => Value::List(list.iter().map(|node| moved(node, to)).collect()),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| {
                (Key { at: to.at.clone(), text: key.text.clone() }, moved(node, to))
            });
            Value::Map(entries.collect())
        }
        other => other.clone(),
    };
    Node { at: to.at.clone(), value }
}

/// Combines rules with those of a base: maps key by key, and other values replace those of the base. Inside a rule, null
/// removes a key of the base. A budget is replaced as a whole, because it has one of several units.
pub(super) fn combined(base: &Node, own: &Node, is_inside: bool) -> Node {
    let (Some(of_base), Some(entries)) = (base.entries(), own.entries()) else {
        return own.clone();
    };
    let mut added: HashMap<&str, (&Key, &Node)> =
        entries.iter().map(|(key, node)| (key.text.as_str(), (key, node))).collect();
    let mut all = Vec::with_capacity(of_base.len() + entries.len());
    for (key, node) in of_base {
        match added.remove(key.text.as_str()) {
            None => all.push((key.clone(), node.clone())),
            Some((_, Node { value: Value::Null, .. })) if is_inside => {}
            Some((key, own)) if key.text == "budget" => all.push((key.clone(), own.clone())),
            Some((key, own)) => all.push((key.clone(), combined(node, own, true))),
        }
    }
    let new = entries.iter().filter(|(key, _)| added.contains_key(key.text.as_str()));
    all.extend(new.cloned());
    Node { at: own.at.clone(), value: Value::Map(all) }
}

/// Returns the rules of a filter and of its base, whose tight level gets the filter's rules on items, too.
///
/// A base whose careful level keeps all members keeps them: a `select` then only adds to the tight level.
fn at_both_levels(base: &Node, own: &Node) -> Node {
    let Some(tight) = base.get(TIGHT) else { return combined(base, own, false) };
    let (items, _) = split(own, &REPLACED);
    let (_, careful) = split(own, if base.has("select") { &[] } else { &["select"] });
    let mut tight = combined(tight, &items, false);
    if let Some(own) = own.get(TIGHT) {
        tight = combined(&tight, own, false);
    }
    let mut all = combined(base, &careful, false);
    if let Value::Map(entries) = &mut all.value {
        for (_, node) in entries.iter_mut().filter(|(key, _)| key.text == TIGHT) {
            *node = tight.clone();
        }
    }
    all
}

/// Returns the number of keys and values.
fn size(node: &Node) -> usize {
    match &node.value {
        Value::List(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|(_, node)| 1 + size(node)).sum::<usize>(),
        _ => 1,
    }
}
