//! The model of a budget (SPEC §6), and what a run with one must say beside it.

use serde_json::json;
use tamis::{Budget, CallOptions, Limits, Program, Report, Spec, filter_slice};

use super::text::{children, cut, place, walk};
use crate::drivers::{Effort, Run, Subject, agree};

/// What a budget leaves of a text: the text, and of an array of items how many.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) text: String,
    pub(crate) items: Option<usize>,
    /// Whether it fits.
    pub(crate) met: bool,
}

/// Keeps `text`, whose payload is at `way`, to `limit` bytes.
pub(crate) fn keep(text: &str, way: Option<&[String]>, limit: usize, min_items: usize) -> Kept {
    let payload = way.and_then(|way| walk(text, way)).and_then(|values| values.last().copied());
    let Some(payload) = payload.filter(|payload| payload.starts_with('[')) else {
        return shorten(text.to_owned(), None, limit);
    };
    let from = place(text, payload);
    let (before, after) = (&text[..=from], &text[from + payload.len() - 1..]);
    let items: Vec<&str> = children(payload).iter().map(|child| child.value).collect();
    let least = min_items.min(items.len());
    // The length with so many items.
    let mut lengths = vec![before.len() + after.len()];
    for (at, item) in items.iter().enumerate() {
        lengths.push(lengths[at] + item.len() + usize::from(at > 0));
    }
    for count in (least..=items.len()).rev() {
        if lengths[count] <= limit || count == least {
            let text = format!("{before}{}{after}", items[..count].join(","));
            assert_eq!(text.len(), lengths[count]);
            return shorten(text, Some(count), limit);
        }
    }
    unreachable!("the fewest items are among them")
}

fn shorten(text: String, items: Option<usize>, limit: usize) -> Kept {
    if text.len() <= limit {
        return Kept { text, items, met: true };
    }
    let mut threshold = (limit / 2).max(10);
    for pass in 1.. {
        let shorter = cut(&text, threshold);
        let met = shorter.len() <= limit;
        if met || pass == 10 || threshold / 2 < 10 {
            return Kept { text: shorter, items, met };
        }
        threshold /= 2;
    }
    unreachable!("passes end")
}

/// How much is tried of one budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    pub(crate) limit: usize,
    pub(crate) min_items: usize,
    pub(crate) seed: u64,
    pub(crate) effort: Effort,
    /// All that waits goes to the disk, too.
    pub(crate) spill: bool,
}

/// A document and rules on its items, and what they leave.
pub(crate) struct Ground<'a> {
    pub(crate) spec: Spec,
    pub(crate) document: &'a [u8],
    pub(crate) filtered: String,
    pub(crate) report: Report,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(spec: Spec, document: &'a [u8]) -> Self {
        let run = |spec: &Spec| {
            let program = Program::compile(spec).expect("the spec compiles");
            filter_slice(&program, document).expect("the document passes")
        };
        let (filtered, _) = run(&spec);
        // Where no rule needs the payload, a report has none.
        let (unlimited, report) = run(&spec.clone().budget(Budget::Bytes(u64::MAX)));
        assert_eq!(filtered, unlimited, "a budget that is never reached changes nothing");
        let filtered = String::from_utf8(filtered).expect("the output is text");
        Self { spec, document, filtered, report }
    }
}

/// Checks one budget. `way`: the place of the payload in what the rules leave.
pub(crate) fn check(ground: &Ground<'_>, way: Option<&[String]>, tries: Tries) {
    let Tries { limit, min_items, seed, effort, spill } = tries;
    let Ground { spec, document, filtered, report } = ground;
    let kept = keep(filtered, way, limit, min_items);
    let said = format!(
        "{spec:?}, budget {limit}, min_items {min_items}\n  document: {}\n  payload: {way:?}",
        String::from_utf8_lossy(&document[..document.len().min(2000)]),
    );
    let spec = spec.clone().budget(Budget::Bytes(limit as u64)).min_items(min_items as u64);
    let program = Program::compile(&spec).expect("the spec compiles");
    let options = CallOptions::new();
    let subject = Subject { program: &program, options: &options, document };
    let run = agree(subject, seed, effort).unwrap_or_else(|differs| panic!("{said}\n  {differs}"));
    compare(&said, &run, &kept, filtered, report, limit);
    if spill {
        let options = CallOptions::new().limits(Limits::new().with_held(3));
        let run = Subject { options: &options, ..subject }.push([document.len() / 2]);
        compare(&format!("spilled: {said}"), &run, &kept, filtered, report, limit);
    }
}

fn compare(said: &str, run: &Run, kept: &Kept, filtered: &str, base: &Report, limit: usize) {
    assert_eq!(run.fault, None, "{said}");
    let output = run.output.as_deref().expect("there is output");
    let output = std::str::from_utf8(output).expect("no character is split");
    assert_eq!(output, kept.text, "{said}");
    assert!(!kept.met || output.len() <= limit, "{said}");
    let valid = serde_json::from_str::<&serde_json::value::RawValue>(output);
    assert!(valid.is_ok(), "{said}: {output}");

    let report = Run { report: Some(base.clone()), fault: None, output: None };
    let mut expected = report.comparable().expect("there is a report");
    if let Some(items) = kept.items {
        expected["items_kept"] = json!(items);
    }
    assert_eq!(expected["filter_result_bytes"], json!(filtered.len()), "{said}");
    if kept.text != filtered {
        expected["budget_applied"] = json!(true);
        expected["budget_limit"] = json!(limit);
        expected["budget_original_bytes"] = json!(filtered.len());
        expected["budget_result_bytes"] = json!(kept.text.len());
    }
    if kept.text.len() != filtered.len() {
        expected["output_bytes"] = json!(kept.text.len());
    }
    assert_eq!(run.comparable(), Some(expected), "{said}");
}
