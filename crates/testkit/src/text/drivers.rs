//! Runs a text filter over one text, cut in every way, and compares the results, which must not depend on the chunks.

use tamis::Limits;
use tamis::text::{QuotedTextFilter, TextFilter, TextProgram, TextReport};

use crate::prng::Prng;

/// Texts up to this length are cut at every offset.
const EVERY_SPLIT: usize = 600;
/// Random splits of longer texts.
const SPLITS: usize = 40;

/// The form of the input: a text, or the inside of a JSON string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    Quoted,
}

/// A program, its limits and a text.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub program: &'a TextProgram,
    pub limits: &'a Limits,
    pub form: Form,
    pub text: &'a [u8],
}

impl Subject<'_> {
    /// Pushes the text in chunks that end at `cuts`, and a last one.
    pub fn push(self, cuts: impl IntoIterator<Item = usize>) -> (Vec<u8>, TextReport) {
        let ends = cuts.into_iter().chain([self.text.len()]);
        let mut begin = 0;
        let chunks = ends.map(|end| {
            let chunk = &self.text[begin..end];
            begin = end;
            chunk
        });
        match self.form {
            Form::Plain => {
                let mut run = TextFilter::with_limits(self.program, self.limits, Vec::new());
                chunks.for_each(|chunk| run.write(chunk).unwrap());
                let report = run.end().unwrap();
                (run.into_sink(), report)
            }
            Form::Quoted => {
                let mut run = QuotedTextFilter::with_limits(self.program, self.limits, Vec::new());
                chunks.for_each(|chunk| run.write(chunk).unwrap());
                let report = run.end().unwrap();
                (run.into_sink(), report)
            }
        }
    }
}

/// Runs whole, in single bytes and split. Returns the output and the report, or a description of the first difference.
pub fn agree(subject: Subject<'_>, seed: u64) -> Result<(Vec<u8>, TextReport), String> {
    let length = subject.text.len();
    let whole = subject.push([]);
    let same = |driver: &str, found: (Vec<u8>, TextReport)| {
        if whole == found {
            return Ok(());
        }
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        Err(format!(
            "{driver} differ\n  whole: {:?} {:?}\n  here:  {:?} {:?}",
            text(&whole.0),
            whole.1,
            text(&found.0),
            found.1
        ))
    };
    same("one-byte chunks", subject.push(1..length))?;
    if length <= EVERY_SPLIT {
        for cut in 0..=length {
            same(&format!("split at {cut}: chunks"), subject.push([cut]))?;
        }
    }
    let mut prng = Prng::new(seed);
    for _ in 0..SPLITS {
        let cuts = prng.cuts(length);
        same(&format!("cuts at {cuts:?}: chunks"), subject.push(cuts))?;
    }
    Ok(whole)
}
