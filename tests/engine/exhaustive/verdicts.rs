//! Every text up to some length ([`LENGTH`], or one more) over an alphabet that has a byte of each class of the grammar. The verdict is
//! that of serde_json, at every split.
//!
//! The texts form a tree. A text that cannot be completed is not continued, once both parsers report that. No continuation can
//! change the verdict, because a failed filter stays failed and reads no more.

use super::{is_complete, larger};
use serde_json::error::Category;
use tamis::spec::Validation;
use tamis::{Error, ErrorKind, Filter, Program, Spec};

/// A byte of each class; `t`, `n` and `e` begin or continue literals and exponents, `u` would be one more escape.
const ALPHABET: &[u8] = br#"{}[],:"\0-.etna "#;
/// Bytes of the longest text. [`ALPHABET`] to this power are covered; most share a wrong beginning.
const LENGTH: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    /// Another text could follow.
    Open,
    Bad,
}

fn oracle(text: &[u8]) -> Verdict {
    match serde_json::from_slice::<serde_json::Value>(text) {
        Ok(_) => Verdict::Good,
        Err(error) if error.classify() == Category::Eof => Verdict::Open,
        Err(_) => Verdict::Bad,
    }
}

fn of(result: Result<(), Error>) -> Verdict {
    match result.map_err(|error| error.kind()) {
        Ok(()) => Verdict::Good,
        Err(ErrorKind::UnexpectedEnd) => Verdict::Open,
        Err(ErrorKind::Syntax) => Verdict::Bad,
        Err(other) => panic!("{other:?}"),
    }
}

struct World {
    filter: Filter<Vec<u8>>,
    text: Vec<u8>,
    /// Bytes of the longest text.
    longest: usize,
    /// Texts that were compared, and those of them that are documents.
    texts: u64,
    documents: u64,
}

impl World {
    fn new(spec: &Spec) -> Self {
        let program = Program::compile(spec).unwrap();
        let filter = Filter::new(&program, Vec::new());
        Self {
            filter,
            text: Vec::new(),
            longest: LENGTH + larger() - usize::from(!is_complete()),
            texts: 0,
            documents: 0,
        }
    }

    /// The verdict on the text in two chunks, and the output.
    fn split(&mut self, at: usize) -> (Verdict, Option<u64>, Vec<u8>) {
        self.filter.sink_mut().clear();
        self.filter.restart();
        let (head, tail) = self.text.split_at(at);
        let fed = self.filter.write(head).and_then(|()| self.filter.write(tail));
        let result = fed.and_then(|()| self.filter.end()).map(|_| ());
        let offset = result.as_ref().err().and_then(Error::offset);
        (of(result), offset, self.filter.sink().clone())
    }

    fn walk(&mut self) {
        let whole = self.split(0);
        let wanted = oracle(&self.text);
        assert_eq!(whole.0, wanted, "{}", String::from_utf8_lossy(&self.text));
        for at in 1..=self.text.len() {
            let split = self.split(at);
            assert_eq!(split, whole, "{} at {at}", String::from_utf8_lossy(&self.text));
        }
        self.texts += 1;
        self.documents += u64::from(wanted == Verdict::Good);
        if wanted == Verdict::Bad {
            // Only the last byte is wrong: the text before it could be completed.
            assert_eq!(whole.1, Some(self.text.len() as u64 - 1));
            return;
        }
        if self.text.len() < self.longest {
            for byte in ALPHABET {
                self.text.push(*byte);
                self.walk();
                self.text.pop();
            }
        }
    }
}

#[test]
fn every_text_has_its_verdict() {
    let mut world = World::new(&Spec::new());
    world.walk();
    println!("{} texts, {} documents", world.texts, world.documents);
    // A smaller world would have other numbers.
    let [texts, documents] = if is_complete() { [1_000_000, 50_000] } else { [70_000, 3_500] };
    assert!(world.texts > texts && world.documents > documents);
}

/// Skipped values are only checked for strings, brackets and control characters. A text that passes this check also passes full
/// validation, or it is wrong only between the brackets.
#[test]
fn structure_refuses_nothing_that_is_right() {
    let mut full = World::new(&Spec::new());
    let mut structure = World::new(&Spec::new().select("x").validation(Validation::Structure));
    full.compare(&mut structure);
    assert!(full.documents > if is_complete() { 1_000 } else { 100 });
}

impl World {
    fn compare(&mut self, structure: &mut Self) {
        structure.text.clone_from(&self.text);
        let (verdict, ..) = self.split(0);
        let skipped = structure.split(0);
        for at in 1..=self.text.len() {
            assert_eq!(structure.split(at), skipped, "{}", String::from_utf8_lossy(&self.text));
        }
        self.documents += u64::from(verdict == Verdict::Good);
        if verdict == Verdict::Good {
            assert_eq!(skipped.0, verdict, "{}", String::from_utf8_lossy(&self.text));
        }
        if skipped.0 != Verdict::Bad && self.text.len() < self.longest - 1 {
            for byte in ALPHABET {
                self.text.push(*byte);
                self.compare(structure);
                self.text.pop();
            }
        }
    }
}
