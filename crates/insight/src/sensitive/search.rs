//! The search for credentials and personal data in one text after the other.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use tamis::Sink;
use tamis_text::secrets::{SecretRules, SecretSearch, TextForm, personal_patterns};

/// The beginning of each mark.
const MARK: &[u8] = b"[redacted:";

/// Searches texts and counts what is found, by kind.
#[derive(Debug)]
pub(super) struct Search {
    search: SecretSearch,
    marks: MarkSink,
    /// The counts after the last text.
    before: BTreeMap<String, u64>,
}

impl Search {
    /// Creates a search through texts of this form.
    pub(super) fn new(form: TextForm) -> Self {
        let marks = MarkSink { finder: Finder::new(MARK), tail: Vec::new(), seen: false };
        Self { search: search_of(form), marks, before: BTreeMap::new() }
    }

    /// Reads the next bytes of a text.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.search.write(bytes, &mut self.marks);
    }

    /// Ends the text. Returns how much of each kind was found in it.
    pub(super) fn end(&mut self) -> Vec<(String, u64)> {
        self.search.end(&mut self.marks);
        self.marks.tail.clear();
        if !std::mem::take(&mut self.marks.seen) {
            return Vec::new();
        }
        let found = self.search.found();
        let more = found.iter().filter_map(|(kind, count)| {
            let more = count.saturating_sub(self.before.get(kind).copied().unwrap_or(0));
            (more > 0).then(|| (kind.clone(), more))
        });
        let more = more.collect();
        self.before = found;
        more
    }
}

fn search_of(form: TextForm) -> SecretSearch {
    let mut rules = SecretRules::built_in();
    rules.patterns = Some(personal_patterns().into());
    rules.filter(form)
}

/// Returns a text with marks in place of what is found.
pub(super) fn redacted(text: &str) -> String {
    let mut search = search_of(TextForm::Plain);
    let mut output = Vec::new();
    search.write(text.as_bytes(), &mut output);
    search.end(&mut output);
    String::from_utf8_lossy(&output).into_owned()
}

/// Notices marks in the output of a search. Most texts have none, so that their counts need not be compared.
#[derive(Debug)]
struct MarkSink {
    finder: Finder<'static>,
    /// The last bytes, which may begin a mark.
    tail: Vec<u8>,
    seen: bool,
}

impl Sink for MarkSink {
    fn write(&mut self, bytes: &[u8]) {
        if self.seen {
            return;
        }
        self.tail.extend_from_slice(bytes);
        self.seen = self.finder.find(&self.tail).is_some();
        self.tail.drain(..self.tail.len().saturating_sub(MARK.len() - 1));
    }
}
