//! Ranks the members of an item: by name, shape, place, and what other members say already.

use std::collections::{BTreeMap, HashSet};

use super::credentials;
use super::names::{self, MemberKind, NAMES_OF_PEOPLE, Words};
use super::root::{Payload, is_own_identifier};
use super::sample::{PathNode, Samples};
use super::shape::Shape;

/// The deepest member that can be selected, in names and elements.
pub(super) const MAX_DEPTH: usize = 16;

/// A member without members of its own.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) node: usize,
    /// The nodes from the item to the member, which is the last one.
    pub(super) path: Vec<usize>,
    pub(super) kind: MemberKind,
    pub(super) score: f32,
    /// Tenths of estimated tokens.
    pub(super) cost: u64,
    /// Why its score was lowered.
    pub(super) reason: Option<Reason>,
}

/// Why a member counts little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Address,
    /// The address follows from other members.
    Template(String),
    Opaque,
    Hash,
    Uuid,
    Long,
    Technical,
    Constant,
    /// The same values as another member.
    Same(usize),
    Empty,
    /// Another member says the same in more detail, or names the same thing better.
    Detail,
    NamesAreData,
    /// A credential or a personal number, which is never selected.
    Credential,
    /// Personal data, which a tight filter does not select.
    Personal,
}

impl Candidate {
    fn lower(&mut self, most: f32, reason: Reason) {
        if self.score > most {
            self.score = most;
            self.reason = Some(reason);
        }
    }

    fn reduce(&mut self, by: f32, reason: Reason) {
        self.score -= by;
        self.reason.get_or_insert(reason);
    }

    /// The names on the way, without elements.
    pub(super) fn depth(&self, samples: &Samples) -> usize {
        let named = |node: &&usize| samples.node(**node).is_some_and(|node| node.name.is_some());
        self.path.iter().filter(named).count()
    }
}

/// Returns all members of an item that have no members themselves, in document order, with their scores.
pub(super) fn candidates(samples: &Samples, payload: &Payload) -> Vec<Candidate> {
    let mut found = Vec::new();
    let Some(item) = samples.node(payload.item) else { return found };
    let mut open: Vec<Vec<usize>> = Vec::new();
    let below = |node: &PathNode, path: &[usize], open: &mut Vec<Vec<usize>>| {
        for child in node.children.iter().rev() {
            let mut path = path.to_vec();
            path.push(*child);
            open.push(path);
        }
    };
    below(item, &[], &mut open);
    while let Some(path) = open.pop() {
        let Some(node) = path.last().and_then(|index| samples.node(*index)) else { continue };
        if !node.children.is_empty() {
            if path.len() < MAX_DEPTH {
                below(node, &path, &mut open);
            } else if hides_credential(samples, &path) {
                let kind = MemberKind::Other;
                let reason = Some(Reason::Credential);
                let node = path.last().copied().unwrap_or_default();
                found.push(Candidate { node, path, kind, score: f32::MIN, cost: 0, reason });
            }
            continue;
        }
        found.extend(judge(samples, payload, path));
    }
    prefer_short_identifiers(samples, &mut found);
    reduce_copies(samples, &mut found);
    for this in &mut found {
        let is_secret = this.reason == Some(Reason::Credential) || holds_credential(samples, this);
        // The last page of a list has no cursor.
        let is_empty = samples.node(this.node).is_some_and(|node| {
            node.scalars == 0 && !node.name.as_deref().is_some_and(names::is_page)
        });
        if is_empty || is_secret {
            this.score = f32::MIN;
            this.reason = Some(if is_secret { Reason::Credential } else { Reason::Empty });
        }
    }
    found
}

/// Whether a container that is too deep to be selected has a credential anywhere inside.
fn hides_credential(samples: &Samples, path: &[usize]) -> bool {
    let Some(container) = path.last() else { return false };
    let around: Vec<&str> = path.iter().rev().filter_map(|node| name_of(samples, *node)).collect();
    let mut open = vec![(*container, false)];
    while let Some((index, inside)) = open.pop() {
        let Some(node) = samples.node(index) else { continue };
        let names = node.name.as_deref().into_iter().chain(around.iter().copied());
        if node.children.is_empty() && (inside || is_credential(node, names)) {
            return true;
        }
        let inside = inside || node.name.as_deref().is_some_and(credentials::holds_credentials);
        open.extend(node.children.iter().map(|child| (*child, inside)));
    }
    false
}

/// Whether a member holds credentials or personal numbers: by its values, its name, or the name of an object around it.
fn holds_credential(samples: &Samples, this: &Candidate) -> bool {
    let names = this.path.iter().rev().filter_map(|node| name_of(samples, *node));
    samples.node(this.node).is_some_and(|node| is_credential(node, names))
}

/// As [`holds_credential`], with the names from the member outwards.
pub(super) fn is_credential<'a>(node: &PathNode, mut names: impl Iterator<Item = &'a str>) -> bool {
    if node.has_credentials() {
        return true;
    }
    let (shape, Some(name)) = (node.shape(), names.next()) else { return false };
    // Flags and dates are about a credential. Numbers of tokens are amounts.
    let is_number = shape == Some(Shape::Number);
    if matches!(shape, None | Some(Shape::Bool | Shape::Date))
        || (is_number && credentials::counts_tokens(name))
    {
        return false;
    }
    let is_inside = !is_number && names.any(credentials::holds_credentials);
    credentials::is_credential(name) || (is_inside && !credentials::is_description(name))
}

/// The place of a member in its item.
struct Surroundings {
    /// How far inside it is. Wrappers and arrays count less than objects.
    level: f32,
    in_array: bool,
    /// The object around the member, if it is not the item.
    parent: Option<usize>,
}

fn judge(samples: &Samples, payload: &Payload, path: Vec<usize>) -> Option<Candidate> {
    let index = *path.last()?;
    let node = samples.node(index)?;
    let key_at = path.iter().rposition(|node| name_of(samples, *node).is_some())?;
    let name = name_of(samples, *path.get(key_at)?)?;
    let (words, shape) = (Words::new(name), node.shape());
    let (kind, score) = words.judge(shape, node.shortest);
    let is_at_top = path.len() == 1;
    let mut this = Candidate { node: index, kind, score, cost: node.cost, reason: None, path };
    own_identifier(samples, payload, &mut this, &words);
    let container = this.path.iter().rev().skip(1).find_map(|node| name_of(samples, *node));
    if this.kind == MemberKind::Amount && container.is_some_and(names::holds_amounts) {
        this.score = 4.0;
    }
    pairs_of_numbers(samples, payload, &mut this);
    let is_of_page = !payload.is_array
        && this.path.iter().any(|node| name_of(samples, *node).is_some_and(names::holds_page));
    if (is_at_top && names::is_page(name)) || is_of_page {
        this.score = 4.0;
        return Some(this);
    }
    let is_own = is_at_top && (words.is("id") || words.is("uid") || this.score >= 4.0);
    match shape {
        Some(Shape::Url) if is_at_top && names::is_page_link(name) => {
            this.kind = MemberKind::Link;
            this.score = 2.0;
            if let Some(template) = node.template.holds() {
                this.lower(0.0, Reason::Template(template.to_owned()));
            }
        }
        Some(Shape::Url) => {
            let template = node.template.holds().map(str::to_owned);
            this.lower(-5.0, template.map_or(Reason::Address, Reason::Template));
        }
        _ => {
            let begins = words.begin_technical()
                && matches!(kind, MemberKind::Identifier | MemberKind::Other | MemberKind::Title);
            if kind != MemberKind::Date && (words.are_technical() || begins) {
                this.lower(0.5, Reason::Technical);
            }
        }
    }
    match shape {
        Some(Shape::Opaque) if kind == MemberKind::Identifier && is_own => this.score = 3.8,
        Some(Shape::Opaque) if kind == MemberKind::Identifier => this.lower(0.3, Reason::Opaque),
        Some(Shape::Opaque) => this.lower(-1.0, Reason::Opaque),
        Some(Shape::Hash) if is_at_top && words.is_one() => {}
        Some(Shape::Hash) if kind == MemberKind::Identifier => this.lower(1.5, Reason::Hash),
        Some(Shape::Hash) => this.lower(0.2, Reason::Hash),
        Some(Shape::Uuid) if is_at_top && words.is("id") => this.score = 3.6,
        Some(Shape::Uuid) => this.lower(0.7, Reason::Uuid),
        Some(Shape::Long) if payload.is_array => this.lower(1.0, Reason::Long),
        Some(Shape::Text) => this.lower(3.2, Reason::Long),
        _ => {}
    }
    if ["version", "path", "tag", "target"].contains(&words.last()) {
        this.lower(2.2, Reason::Detail);
    }
    let around = surroundings(samples, payload, &this);
    let depth = 0.7 * (around.level - 1.0).max(0.0) + 0.3 * around.level.min(1.0);
    this.score -= depth;
    if let Some(parent) = around.parent.filter(|_| around.level >= 0.7) {
        in_object(samples, &mut this, parent, name, &words, around.in_array);
    }
    constant(&mut this, node, &words);
    let is_change = matches!(words.first(), "created" | "updated")
        && matches!(words.last(), "created" | "updated" | "at");
    if around.in_array && this.kind == MemberKind::Date && is_change {
        this.lower(2.4, Reason::Detail);
    }
    Some(this)
}

fn name_of(samples: &Samples, node: usize) -> Option<&str> {
    samples.node(node)?.name.as_deref()
}

/// Raises the identifier that the container of an item is named after.
fn own_identifier(samples: &Samples, payload: &Payload, this: &mut Candidate, words: &Words) {
    let Some((_, before)) = this.path.split_last() else { return };
    let inside = before.iter().rev().find_map(|node| name_of(samples, *node));
    let around = payload.path.iter().rev().find_map(|node| name_of(samples, *node));
    let in_elements = before.last().is_some_and(|node| name_of(samples, *node).is_none());
    let container = match inside {
        Some(inside) if in_elements => Some(inside),
        Some(_) => None,
        None => around.filter(|_| payload.is_array),
    };
    if container.is_some_and(|container| is_own_identifier(container, words)) {
        this.score = 4.0;
    }
}

/// Lowers members of `assignee` where there are `assignees`, and of `images` where there is an `image`, and members whose containers have
/// data as names.
fn pairs_of_numbers(samples: &Samples, payload: &Payload, this: &mut Candidate) {
    let mut around = payload.item;
    for step in this.path.clone().split_last().map_or(&[][..], |(_, before)| before) {
        let (Some(outer), Some(inner)) = (samples.node(around), samples.node(*step)) else {
            return;
        };
        if let Some(name) = inner.name.as_deref() {
            let names_people = |index: usize| {
                samples.node(index).is_some_and(|node| {
                    NAMES_OF_PEOPLE.iter().take(6).any(|name| node.member(name).is_some())
                })
            };
            if let Some(many) = outer.member(&format!("{name}s"))
                && samples.node(many).is_some_and(|many| many.arrays > 0)
                && names_people(*step)
            {
                this.reduce(2.0, Reason::Same(many));
            }
            if let Some(one) = name.strip_suffix('s').and_then(|name| outer.member(name))
                && inner.arrays > 0
                && samples.node(one).is_some_and(|one| one.objects > 0)
                && !names_people(one)
            {
                this.reduce(2.0, Reason::Same(one));
            }
            if names::is_technical_container(name) {
                this.lower(-5.0, Reason::Technical);
            }
        }
        if inner.name.is_some() && inner.children.len() >= 4 {
            let children = || inner.children.iter().filter_map(|child| samples.node(*child));
            let data = children()
                .filter(|child| child.name.as_deref().is_some_and(names::is_data))
                .count();
            let containers = children().filter(|child| !child.children.is_empty()).count();
            if data * 2 > inner.children.len() && containers * 2 > inner.children.len() {
                this.lower(-4.0, Reason::NamesAreData);
            }
        }
        around = *step;
    }
}

fn surroundings(samples: &Samples, payload: &Payload, this: &Candidate) -> Surroundings {
    let item_bytes = samples.node(payload.item).map_or(0, |item| item.bytes);
    let mut around = Surroundings { level: 0.0, in_array: false, parent: None };
    let before = this.path.split_last().map_or(&[][..], |(_, before)| before);
    for (at, step) in before.iter().enumerate() {
        let Some(node) = samples.node(*step) else { continue };
        let Some(name) = node.name.as_deref() else {
            around.level += 0.1;
            around.in_array = true;
            around.parent = Some(*step);
            continue;
        };
        // The element of an array of scalars has no object around it but that of the array.
        let is_last = at + 1 == before.len();
        if !(is_last && node.arrays > 0 && node.objects == 0) {
            around.parent = Some(*step);
        }
        let is_most = node.objects > 0 && node.bytes * 20 > item_bytes * 7;
        around.level += if names::is_wrapper(name) || is_most {
            0.15
        } else if node.arrays > 0 {
            0.7
        } else {
            1.0
        };
    }
    around
}

/// Judges a member of an object inside the item: a pair, a person, or something that the item refers to.
fn in_object(
    samples: &Samples,
    this: &mut Candidate,
    parent: usize,
    name: &str,
    words: &Words,
    in_array: bool,
) {
    let Some(object) = samples.node(parent) else { return };
    let names: Vec<String> = object
        .children
        .iter()
        .filter_map(|child| name_of(samples, *child))
        .map(str::to_lowercase)
        .collect();
    let has = |some: &[&str]| names.iter().any(|name| some.contains(&name.as_str()));
    let kind = this.kind;
    if names.len() <= 4 && has(&["value"]) && has(&["name", "key"]) {
        if ["name", "key", "value"].contains(&words.last()) {
            this.score = this.score.max(3.0);
        }
    } else if has(&[
        "login",
        "username",
        "displayname",
        "avatar_url",
        "avatarurls",
        "email",
        "emailaddress",
    ]) || has_email(samples, object)
    {
        let is_usual = |known: &&&str| {
            let member = object.member(known).and_then(|member| samples.node(member));
            member.is_some_and(|member| member.scalars * 3 >= object.objects * 2)
        };
        let best = NAMES_OF_PEOPLE.iter().find(is_usual);
        let is_address = best.is_some_and(|best| best.starts_with("email") || *best == "address");
        if best.is_some_and(|best| *best == name) {
            this.score = this.score.max(3.6);
            this.kind = MemberKind::Person;
        } else if kind == MemberKind::Person {
            this.lower(2.0, Reason::Detail);
        } else if is_address && !in_array && name == "name" {
            // The name of the only person in this role.
            this.lower(2.4, Reason::Detail);
        } else if ["state", "type"].contains(&words.last())
            || matches!(kind, MemberKind::Title | MemberKind::Identifier)
            || (!in_array && matches!(kind, MemberKind::Date | MemberKind::State))
        {
            this.lower(1.2, Reason::Detail);
        }
    } else if !in_array
        && has(&[
            "name",
            "title",
            "displayname",
            "display_name",
            "login",
            "username",
            "summary",
            "slug",
            "full_name",
            "identifier",
            "key",
        ])
    {
        if kind == MemberKind::Date {
            this.lower(1.6, Reason::Detail);
        }
        if kind == MemberKind::Identifier && !["key", "slug", "number"].contains(&words.last()) {
            this.reduce(1.2, Reason::Detail);
        }
        if ["description", "message"].contains(&words.last()) {
            this.reduce(1.0, Reason::Detail);
        }
    }
}

/// Whether an object has `address`, which is that of a mailbox.
fn has_email(samples: &Samples, object: &PathNode) -> bool {
    let address = object.member("address").and_then(|address| samples.node(address));
    address.is_some_and(|address| address.shape() == Some(Shape::Email))
}

fn constant(this: &mut Candidate, node: &PathNode, words: &Words) {
    let is_constant = node.scalars >= 3 && node.distinct() == 1;
    let is_safe = matches!(this.kind, MemberKind::Title | MemberKind::Date | MemberKind::Person)
        || ["state", "status"].contains(&words.last());
    if is_constant && !is_safe {
        let by = if this.kind == MemberKind::Identifier { 0.5 } else { 1.2 };
        this.reduce(by, Reason::Constant);
    }
}

/// Lowers the identifiers for programs where items have a number or a key for people.
fn prefer_short_identifiers(samples: &Samples, found: &mut [Candidate]) {
    let top = |this: &Candidate| match this.path.as_slice() {
        [only] => name_of(samples, *only).map(str::to_lowercase),
        _ => None,
    };
    let names: HashSet<String> = found.iter().filter_map(top).collect();
    let has_short =
        ["number", "iid", "key", "identifier", "shortid", "incident_number", "full_name"]
            .iter()
            .any(|name| names.contains(*name));
    for this in found {
        let Some(name) = top(this) else { continue };
        let last = Words::new(&name);
        if has_short && ["id", "uid", "sha"].contains(&name.as_str()) {
            this.reduce(0.8, Reason::Detail);
        } else if names.contains("id")
            && name != "id"
            && ["uid", "gid", "uuid"].contains(&last.last())
        {
            this.reduce(1.5, Reason::Detail);
        }
    }
}

/// Lowers members with the same values as another one. The member with the shortest path is the original.
fn reduce_copies(samples: &Samples, found: &mut [Candidate]) {
    let mut groups: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (at, this) in found.iter().enumerate() {
        let Some(node) = samples.node(this.node) else { continue };
        let varies = node.distinct() > 1
            && !matches!(node.shape(), None | Some(Shape::Bool | Shape::Number));
        if this.score > 0.0 && (varies || (this.kind == MemberKind::Date && node.scalars > 0)) {
            groups.entry((node.scalars, node.sequence)).or_default().push(at);
        }
    }
    for mut group in groups.into_values().filter(|group| group.len() > 1) {
        let rank = |at: &usize| {
            let this = found.get(*at)?;
            let names = this.path.iter().map(|node| name_of(samples, *node).map_or(2, str::len));
            Some((
                this.depth(samples),
                (-this.score * 100.0) as i64,
                names.sum::<usize>() + this.path.len(),
            ))
        };
        group.sort_by_key(rank);
        let Some((first, others)) = group.split_first() else { continue };
        let Some((original, depth)) =
            found.get(*first).map(|this| (this.node, this.depth(samples)))
        else {
            continue;
        };
        for other in others {
            let Some(this) = found.get_mut(*other) else { continue };
            let below = this.depth(samples).saturating_sub(depth);
            let by = match (below, this.kind) {
                (0, _) => 0.5,
                (1, MemberKind::Title) => 1.5,
                _ => 3.0,
            };
            this.reduce(by, Reason::Same(original));
        }
    }
}
