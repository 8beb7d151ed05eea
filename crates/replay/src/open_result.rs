//! A result whose session has not ended: more facts of it may be used, and more requests may carry it.

use crate::cost::{CarriedCost, Carrier};
use crate::report::{Facts, Fate, LostFact};

/// The most facts of a result that are kept for an example.
const MOST_LOST: usize = 6;

/// The tokens that are read at once from a stored result: 16 KiB.
const FETCHED: f64 = 4_096.0;

/// A result that is still carried.
#[derive(Debug)]
pub(crate) struct OpenResult {
    pub(crate) group: usize,
    /// The place in the transcript.
    pub(crate) place: u64,
    pub(crate) command: Option<String>,
    pub(crate) filter: Option<String>,
    /// For each variant.
    pub(crate) views: Vec<OpenView>,
    pub(crate) lost: Vec<(LostFact, usize)>,
    arrived: CarriedCost,
    /// The state after the first request that sent it, and the price of new tokens in that request.
    first: Option<(CarriedCost, f64)>,
    /// The state when it was no longer sent.
    end: Option<CarriedCost>,
}

/// The part of an open result that a variant shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenView {
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
    pub(crate) is_changed: bool,
    pub(crate) facts: Facts,
    /// The fate of used facts that the agent itself hid.
    pub(crate) beyond_agent: Facts,
    /// The request after which a part of it would have to be fetched: the state then, the price of new tokens, and the price of
    /// the request itself.
    pub(crate) fetched: Option<(CarriedCost, f64, f64)>,
}

impl OpenResult {
    pub(crate) fn new(group: usize, place: u64, views: Vec<OpenView>, carrier: &Carrier) -> Self {
        Self {
            group,
            place,
            command: None,
            filter: None,
            views,
            lost: Vec::new(),
            arrived: carrier.now(),
            first: None,
            end: None,
        }
    }

    /// A request was made.
    pub(crate) fn sent(&mut self, carrier: &Carrier) {
        if self.first.is_none() {
            self.first = Some((carrier.now(), carrier.fresh()));
        }
    }

    /// The history was replaced.
    pub(crate) fn dropped(&mut self, carrier: &Carrier) {
        self.end.get_or_insert(carrier.now());
    }

    /// A fact was used. `fates` are those of the variants, the agent's first.
    #[allow(clippy::cast_precision_loss, reason = "a price")]
    pub(crate) fn used(&mut self, fates: &[Fate], carrier: &Carrier, read_price: f64) {
        let agent_shows = fates.first() == Some(&Fate::Shown);
        for (view, fate) in self.views.iter_mut().zip(fates) {
            if agent_shows {
                view.facts.count(*fate);
                if *fate != Fate::Shown {
                    let request = carrier.prompt() as f64 * read_price;
                    view.fetched.get_or_insert((carrier.now(), carrier.fresh(), request));
                }
            } else {
                view.beyond_agent.count(*fate);
            }
        }
    }

    /// Remembers a fact that the judged variant does not show.
    pub(crate) fn lose(&mut self, fact: LostFact, variant: usize) {
        if self.lost.len() < MOST_LOST {
            self.lost.push((fact, variant));
        }
    }

    /// Returns the number of requests that sent it, and what one of its tokens cost.
    pub(crate) fn carried(&self, now: &CarriedCost) -> (u64, f64) {
        let end = self.end.as_ref().unwrap_or(now);
        (self.arrived.turns_until(end), self.arrived.of_token(self.first, end))
    }

    /// Returns what it would cost to fetch a part, if that were needed.
    pub(crate) fn fetch_cost(&self, view: &OpenView, now: &CarriedCost) -> Option<f64> {
        let (at, fresh, request) = view.fetched?;
        let end = self.end.as_ref().unwrap_or(now);
        Some(request + FETCHED * at.of_token(Some((at, fresh)), end))
    }
}
