//! The texts of earlier results that a client has in full, for results that only say what has changed.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::jsonrpc::Id;

/// The longest text that is remembered.
pub(crate) const LONGEST_TEXT: usize = 256 << 10;

/// The most bytes of the texts of one session.
const MOST_BYTES: usize = 4 << 20;

/// The most cancelled requests that are remembered.
const MOST_CANCELLED: usize = 64;

/// The results of one session, by a hash of the tool and its arguments.
#[derive(Debug, Default)]
pub(crate) struct EarlierResults {
    texts: HashMap<u64, EarlierResult>,
    bytes: usize,
    /// The number of calls so far.
    count: u64,
    /// Hashes of the ids of cancelled requests, whose results may still be on their way, oldest first.
    cancelled: VecDeque<u64>,
}

#[derive(Debug)]
struct EarlierResult {
    text: Arc<str>,
    number: u64,
    /// A hash of the id of its request.
    request: u64,
}

/// A text that is remembered once the result has been sent.
#[derive(Debug)]
pub(crate) struct FullText {
    pub(crate) key: u64,
    pub(crate) text: String,
}

impl EarlierResults {
    /// Counts a call, also one whose result is not compared with others, or that is refused.
    pub(crate) fn count(&mut self) {
        self.count += 1;
    }

    /// Returns the text of the last full result of the same call, and how many calls ago it was.
    pub(crate) fn earlier(&self, key: u64) -> Option<(Arc<str>, u64)> {
        let earlier = self.texts.get(&key)?;
        Some((Arc::clone(&earlier.text), self.count - earlier.number))
    }

    /// Remembers the text of a result that the client gets in full, unless it has cancelled the request.
    pub(crate) fn keep(&mut self, full: &FullText, request: &Id) {
        let FullText { key, text } = full;
        self.forget(*key);
        let request = hash(request);
        if text.len() > LONGEST_TEXT || self.cancelled.contains(&request) {
            return;
        }
        while self.bytes + text.len() > MOST_BYTES {
            let oldest = self.texts.iter().min_by_key(|(_, earlier)| earlier.number);
            let Some(oldest) = oldest.map(|(key, _)| *key) else { break };
            self.forget(oldest);
        }
        self.bytes += text.len();
        let text = text.as_str().into();
        self.texts.insert(*key, EarlierResult { text, number: self.count, request });
    }

    /// Forgets the result of a request that the client has cancelled, also if it has not come yet: clients ignore it.
    pub(crate) fn cancel(&mut self, request: &Id) {
        let request = hash(request);
        let result = self.texts.iter().find(|(_, earlier)| earlier.request == request);
        if let Some(key) = result.map(|(key, _)| *key) {
            self.forget(key);
        }
        self.cancelled.push_back(request);
        if self.cancelled.len() > MOST_CANCELLED {
            self.cancelled.pop_front();
        }
    }

    /// Forgets all results.
    pub(crate) fn forget_all(&mut self) {
        self.texts.clear();
        self.bytes = 0;
    }

    /// Forgets a result: the client has a newer one, which is not whole.
    pub(crate) fn forget(&mut self, key: u64) {
        if let Some(earlier) = self.texts.remove(&key) {
            self.bytes -= earlier.text.len();
        }
    }
}

fn hash(request: &Id) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{EarlierResults, FullText, LONGEST_TEXT};
    use crate::jsonrpc::Id;

    fn id(number: u64) -> Id {
        Id::parse(number.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn results_of_cancelled_requests_are_not_remembered() {
        let mut results = EarlierResults::default();
        let full = |key| FullText { key, text: "text".to_owned() };
        results.keep(&full(1), &id(1));
        results.keep(&full(2), &id(2));
        results.cancel(&id(1));
        assert!(results.earlier(1).is_none() && results.earlier(2).is_some());
        // The result comes after the cancellation.
        results.cancel(&id(3));
        results.keep(&full(3), &id(3));
        assert!(results.earlier(3).is_none());
        for number in 4..1000 {
            results.cancel(&id(number));
        }
        assert!(results.cancelled.len() <= super::MOST_CANCELLED);
    }

    #[test]
    fn the_oldest_texts_are_forgotten() {
        let mut results = EarlierResults::default();
        let long = "x".repeat(LONGEST_TEXT);
        for key in 0..17 {
            results.count();
            assert!(results.earlier(key).is_none());
            results.keep(&FullText { key, text: long.clone() }, &id(key));
        }
        assert!(results.earlier(0).is_none(), "16 texts have 4 MiB");
        assert_eq!(results.earlier(1).map(|(_, age)| age), Some(15));
        results.keep(&FullText { key: 2, text: format!("{long}x") }, &id(2));
        assert!(results.earlier(2).is_none(), "too long");
        results.forget(3);
        results.forget(3);
        assert!(results.earlier(3).is_none());
    }
}
