//! Chooses the members to keep: all but noise, or the best ones until they cost their share of the response.

use std::collections::HashSet;

use super::names::{MemberKind, is_page};
use super::noise::noise;
use super::rank::{Candidate, Reason, is_credential};
use super::root::Payload;
use super::sample::{PathNode, Samples};

/// The share of the response that the members may cost together: the filter saves 70 %.
const TARGET: f64 = 0.296;

/// The score from which members are needed.
const NEEDED: f64 = 1.4;

/// The cost of needed members from which the target is given up, as a share of the response. Such a response is dense,
/// and a filter that saves 70 % of it would remove what it is about.
const DENSE: f64 = 0.455;

/// The score from which members of a dense response are kept.
const KEPT_IF_DENSE: f64 = 0.4;

/// The cost below which a response is small: everything that says something is kept. In tenths of tokens.
const SMALL: f64 = 3000.0;

/// The score from which a title is kept whatever it costs.
const TITLE: f32 = 4.0;

/// The score below which nothing is kept.
const LEAST: f32 = 0.2;

/// The number of members that a filter keeps at most. A response with more is a map from ids, and a filter must not have more
/// than 10,000 rules.
const MOST: usize = 2_000;

/// The share of the brackets and names of containers that remains in the output.
const AROUND: f64 = 0.7;

/// The chosen members, and what everything costs.
#[derive(Debug)]
pub(super) struct Choice {
    /// The nodes of the members that are kept.
    pub(super) kept: HashSet<usize>,
    /// Whether members outside of the payload are dropped.
    pub(super) drops_siblings: bool,
    /// The bytes outside of the payload.
    pub(super) sibling_bytes: u64,
}

/// The share of the response that members outside of the payload may cost before they are dropped.
const SIBLINGS: f64 = 0.1;

/// Keeps all members but noise, whose reason becomes that of the candidate, and credentials.
pub(super) fn careful(
    samples: &Samples,
    payload: &Payload,
    candidates: &mut [Candidate],
) -> Choice {
    let siblings = Siblings::of(samples, payload);
    let mut kept = HashSet::new();
    for this in candidates.iter_mut().filter(|this| this.reason != Some(Reason::Credential)) {
        this.reason = noise(samples, payload, this);
        if this.reason.is_none() {
            kept.insert(this.node);
        }
    }
    Choice { kept, drops_siblings: false, sibling_bytes: siblings.bytes }
}

/// Chooses the best members.
pub(super) fn tight(samples: &Samples, payload: &Payload, candidates: &[Candidate]) -> Choice {
    let total =
        samples.nodes.iter().map(|node| node.cost + node.empty_cost).sum::<u64>().max(1) as f64;
    let siblings = Siblings::of(samples, payload);
    let is_large = siblings.cost as f64 > SIBLINGS * total;
    let drops_siblings = is_large && !siblings.has_page;
    let mut spent = if drops_siblings { 0.0 } else { siblings.cost as f64 };
    let mut order: Vec<(f64, &Candidate)> =
        candidates.iter().map(|this| (priority(this, total), this)).collect();
    order.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.node.cmp(&other.1.node)));
    let order: Vec<_> = order.into_iter().filter(|(_, this)| this.score >= LEAST).collect();
    let needed: f64 = order
        .iter()
        .filter(|(priority, _)| *priority >= NEEDED)
        .map(|(_, this)| 1.1 * this.cost as f64)
        .sum();
    let is_small = total < SMALL;
    let is_dense = spent + needed > DENSE * total;
    let (mut kept, mut around) = (HashSet::new(), HashSet::<usize>::new());
    // A title may cost more than all other members, as the message of a line of a log does.
    let title =
        order.iter().find(|(_, this)| this.kind == MemberKind::Title && this.score >= TITLE);
    let title = title.map(|(_, this)| this.node);
    for (priority, this) in order {
        let containers = this.path.split_last().map_or(&[][..], |(_, containers)| containers);
        let new = containers.iter().filter(|node| !around.contains(*node));
        let brackets: u64 = new.filter_map(|node| samples.node(*node)).map(|node| node.cost).sum();
        let cost = this.cost as f64 + AROUND * brackets as f64;
        let fits = if is_small || title == Some(this.node) {
            true
        } else if is_dense {
            priority >= KEPT_IF_DENSE
        } else {
            spent + cost <= TARGET * total
        };
        if fits && kept.len() < MOST {
            around.extend(containers);
            spent += cost;
            kept.insert(this.node);
        }
    }
    Choice { kept, drops_siblings, sibling_bytes: siblings.bytes }
}

/// Returns the score of a member less a part for its cost: a cheap member does no harm.
fn priority(this: &Candidate, total: f64) -> f64 {
    let percent = (100.0 * this.cost as f64 / total).max(0.05);
    f64::from(this.score) - 0.8 * percent.log2().min(2.2)
}

/// Whether a member outside of the payload is a credential. Rules on items do not reach it.
pub(super) fn has_sibling_credential(samples: &Samples, payload: &Payload) -> bool {
    Siblings::of(samples, payload).has_credential
}

/// The members outside of the payload.
#[derive(Default)]
struct Siblings {
    cost: u64,
    bytes: u64,
    has_credential: bool,
    /// Whether one says where the rest of the list is, or how much there is.
    has_page: bool,
}

impl Siblings {
    fn of(samples: &Samples, payload: &Payload) -> Self {
        let mut all = Self::default();
        let mut around = 0;
        for step in &payload.path {
            let children =
                samples.node(around).map(|node| node.children.as_slice()).unwrap_or_default();
            for child in children.iter().filter(|child| *child != step) {
                all.bytes += samples.node(*child).map_or(0, |node| node.bytes);
                all.add(samples, *child);
            }
            around = *step;
        }
        all
    }

    fn add(&mut self, samples: &Samples, sibling: usize) {
        let mut open = vec![sibling];
        while let Some(node) = open.pop().and_then(|index| samples.node(index)) {
            self.cost += node.cost;
            if node.children.is_empty() {
                let around = |node: &&PathNode| node.parent.and_then(|parent| samples.node(parent));
                let names = std::iter::successors(Some(node), around)
                    .filter_map(|node| node.name.as_deref());
                self.has_page |= names.clone().any(is_page);
                self.has_credential |= is_credential(node, names);
            }
            open.extend(&node.children);
        }
    }
}
