//! The texts of earlier results that a client has in full, for results that only say what has changed.

use std::collections::HashMap;
use std::sync::Arc;

/// The longest text that is remembered.
pub(crate) const LONGEST_TEXT: usize = 256 << 10;

/// The most bytes of the texts of one session.
const MOST_BYTES: usize = 4 << 20;

/// The results of one session, by a hash of the tool and its arguments.
#[derive(Debug, Default)]
pub(crate) struct EarlierResults {
    texts: HashMap<u64, EarlierResult>,
    bytes: usize,
    /// The number of results so far.
    count: u64,
}

#[derive(Debug)]
struct EarlierResult {
    text: Arc<str>,
    number: u64,
}

impl EarlierResults {
    /// Counts a result. Returns the text of the last full result of the same call, and how many results ago it was.
    pub(crate) fn next(&mut self, key: u64) -> Option<(Arc<str>, u64)> {
        self.count += 1;
        let earlier = self.texts.get(&key)?;
        Some((Arc::clone(&earlier.text), self.count - earlier.number))
    }

    /// Remembers the text of a result that the client gets in full.
    pub(crate) fn keep(&mut self, key: u64, text: &str) {
        self.forget(key);
        if text.len() > LONGEST_TEXT {
            return;
        }
        while self.bytes + text.len() > MOST_BYTES {
            let oldest = self.texts.iter().min_by_key(|(_, earlier)| earlier.number);
            let Some(oldest) = oldest.map(|(key, _)| *key) else { break };
            self.forget(oldest);
        }
        self.bytes += text.len();
        self.texts.insert(key, EarlierResult { text: text.into(), number: self.count });
    }

    /// Forgets a result: the client has a newer one, which is not whole.
    pub(crate) fn forget(&mut self, key: u64) {
        if let Some(earlier) = self.texts.remove(&key) {
            self.bytes -= earlier.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EarlierResults, LONGEST_TEXT};

    #[test]
    fn the_oldest_texts_are_forgotten() {
        let mut results = EarlierResults::default();
        let long = "x".repeat(LONGEST_TEXT);
        for key in 0..17 {
            assert!(results.next(key).is_none());
            results.keep(key, &long);
        }
        assert!(results.next(0).is_none(), "16 texts have 4 MiB");
        assert_eq!(results.next(1).map(|(_, age)| age), Some(17));
        results.keep(2, &format!("{long}x"));
        assert!(results.next(2).is_none(), "too long");
        results.forget(3);
        results.forget(3);
        assert!(results.next(3).is_none());
    }
}
