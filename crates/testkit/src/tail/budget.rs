//! The model of a budget (SPEC §6), and of the keys that it adds to a report. It reads the whole text, and makes each form of it
//! from the beginning.

use serde_json::json;
use tamis::spec::{Budget, Omitted, OnOver};
use tamis::{ErrorKind, Limits, Program, Report, Spec, filter_slice};

use super::text::{children, cut, walk};
use crate::drivers::{Effort, Run, Subject, agree};

/// A text within a budget.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    pub text: String,
    /// The number of items that are kept, if the payload is an array.
    pub items: Option<usize>,
    /// The text of the mark of omitted items.
    pub mark: Option<String>,
    /// Whether it fits.
    pub met: bool,
    /// Whether something was left out.
    pub cut: bool,
}

/// The limit of a budget in bytes, and its options.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub limit: usize,
    pub min_items: usize,
    pub omitted: Option<Omitted>,
}

/// A text as a tree.
enum Node {
    Scalar(String),
    /// For an object, the keys with their quotes.
    Container(bool, Vec<(Option<String>, Node)>),
}

impl Node {
    fn read(text: &str) -> Self {
        if !text.starts_with(['{', '[']) {
            return Self::Scalar(text.to_owned());
        }
        let child = |child: &super::text::Child<'_>| {
            (child.key.map(str::to_owned), Self::read(child.value))
        };
        Self::Container(text.starts_with('{'), children(text).iter().map(child).collect())
    }
}

/// One form of a text: the limits on the parts of its tree.
struct Form<'a> {
    /// Characters of a string.
    threshold: Option<usize>,
    /// Children of a container.
    most: Option<usize>,
    marks: bool,
    /// The text of the mark of omitted items, and whether it is a member.
    items: Option<(&'a str, bool)>,
    /// Something was left out.
    cut: bool,
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

/// The index of the member that has the name of a mark.
fn number(key: &str) -> Option<u32> {
    let name: String = serde_json::from_str(key).ok()?;
    let digits = name.strip_prefix("_omitted")?;
    match digits.len() {
        0 => Some(1),
        1..=6 if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    }
}

impl Form<'_> {
    /// The text of a node, from which `way` leads to the payload.
    fn write(&mut self, node: &Node, way: Option<&[usize]>) -> String {
        let (object, children) = match (node, self.threshold) {
            (Node::Scalar(text), None) => return text.clone(),
            (Node::Scalar(text), Some(threshold)) => {
                let shorter = cut(text, threshold);
                self.cut |= shorter != *text;
                return shorter;
            }
            (Node::Container(object, children), _) => (*object, children),
        };
        let payload = way == Some(&[]);
        let stays = |at: usize| {
            payload
                || self.most.is_none_or(|most| at < most)
                || way.and_then(<[usize]>::first) == Some(&at)
        };
        let stay: Vec<bool> = (0..children.len()).map(stays).collect();
        let (mut parts, mut keys, mut at) = (Vec::new(), Vec::new(), 0);
        while at < children.len() {
            let run = stay[at..].iter().take_while(|stays| !**stays).count();
            if run > 0 {
                // Children that may be omitted, with the text that they have in this form.
                let most = self.most.take();
                let texts: Vec<String> =
                    children[at..at + run].iter().map(|child| self.child(child, None)).collect();
                self.most = most;
                let length: usize = texts.iter().map(|text| text.len() + 1).sum();
                let mark = 30 + (digits(run) + digits(at + run)).min(5);
                if self.marks && length <= mark {
                    parts.extend(texts);
                    keys.extend(children[at..at + run].iter().map(|(key, _)| key));
                } else {
                    self.cut = true;
                }
                at += run;
                continue;
            }
            let here = way.and_then(<[usize]>::split_first).filter(|(step, _)| **step == at);
            parts.push(self.child(&children[at], here.map(|(_, rest)| rest)));
            keys.push(&children[at].0);
            at += 1;
        }
        let missing = children.len() - parts.len();
        let around = object && way.is_some_and(|way| way.len() == 1);
        let items = self.items.filter(|(_, member)| if *member { around } else { payload });
        let members = format!(
            "{{\"{}\":{missing},\"of\":{}}}",
            if object { "members" } else { "items" },
            children.len()
        );
        let cut = (self.marks && missing > 0).then_some(members.as_str());
        let mut taken = keys.into_iter().flatten().filter_map(|key| number(key)).max();
        for body in items.map(|(body, _)| body).into_iter().chain(cut) {
            parts.push(if object {
                let name = taken.map_or(String::new(), |number| (number + 1).to_string());
                taken = Some(taken.map_or(1, |number| number + 1));
                format!("\"_omitted{name}\":{body}")
            } else {
                format!("{{\"_omitted\":{body}}}")
            });
        }
        let inside = parts.join(",");
        if object { format!("{{{inside}}}") } else { format!("[{inside}]") }
    }

    fn child(&mut self, (key, node): &(Option<String>, Node), way: Option<&[usize]>) -> String {
        let value = self.write(node, way);
        key.as_ref().map_or(value.clone(), |key| format!("{key}:{value}"))
    }
}

/// The positions of the values on the path to the payload, and whether the last one is in an object.
fn steps(text: &str, way: &[String]) -> Option<(Vec<usize>, bool)> {
    let values = walk(text, way)?;
    let last = values.last()?;
    if !last.starts_with('[') {
        return None;
    }
    let step = |pair: &[&str]| {
        let found = children(pair[0]);
        let here =
            |child: &super::text::Child<'_>| std::ptr::eq(child.value.as_ptr(), pair[1].as_ptr());
        found.iter().position(here).expect("a child is in its container")
    };
    let in_object = values.len() > 1 && values[values.len() - 2].starts_with('{');
    Some((values.windows(2).map(step).collect(), in_object))
}

/// The payload of a tree.
fn payload<'a>(mut node: &'a mut Node, way: &[usize]) -> &'a mut Vec<(Option<String>, Node)> {
    for step in way {
        let Node::Container(_, children) = node else { unreachable!("the way is there") };
        node = &mut children[*step].1;
    }
    let Node::Container(_, items) = node else { unreachable!("the payload is there") };
    items
}

/// Applies a budget to `text`, whose payload is at `way` and had `original` items.
pub fn keep(text: &str, way: Option<&[String]>, asked: Asked, original: usize) -> Kept {
    let Asked { limit, min_items, omitted } = asked;
    let marks = omitted != Some(Omitted::Silent);
    let mut tree = Node::read(text);
    let way = way.and_then(|way| steps(text, way));
    let mut form = Form { threshold: None, most: None, marks, items: None, cut: false };
    let Some((way, in_object)) = way else {
        if text.len() <= limit {
            let text = form.write(&tree, None);
            return Kept { text, items: None, mark: None, met: true, cut: false };
        }
        let (text, met) = shorten(&tree, None, limit, &mut form);
        return Kept { text, items: None, mark: None, met, cut: form.cut };
    };
    let came = payload(&mut tree, &way).len();
    let due = |kept: usize| match omitted {
        Some(Omitted::Silent) => false,
        Some(Omitted::Mark) => kept < original,
        _ => kept < came,
    };
    let body = |kept: usize| {
        let omitted = original - kept;
        due(kept).then(|| format!("{{\"items\":{omitted},\"of\":{original}}}"))
    };
    let least = min_items.min(came);
    let lengths: Vec<usize> =
        payload(&mut tree, &way).iter().map(|(_, item)| form.write(item, None).len() + 1).collect();
    let mut rest = Vec::new();
    for count in (least..=came).rev() {
        let gone = payload(&mut tree, &way).split_off(count);
        rest.splice(0..0, gone);
        let body = body(count);
        let items = body.as_deref().map(|body| (body, in_object));
        let mut form = Form { threshold: None, most: None, marks, items, cut: false };
        let text = form.write(&tree, Some(&way));
        if text.len() <= limit {
            return Kept { text, items: Some(count), mark: body, met: true, cut: count < came };
        }
    }
    // Items that are not longer than a mark are kept.
    let dropped: usize = lengths[least..].iter().sum();
    // In an object the mark is a member, and has no braces.
    let shortest = if in_object { 28 } else { 30 };
    let short =
        dropped == 0 || marks && dropped <= shortest + (digits(came - least) + digits(came)).min(5);
    if short {
        payload(&mut tree, &way).append(&mut rest);
    }
    let count = if short { came } else { least };
    let body = body(count);
    let items = body.as_deref().map(|body| (body, in_object));
    let mut form = Form { threshold: None, most: None, marks, items, cut: !short };
    let (text, met) = shorten(&tree, Some(&way), limit, &mut form);
    let cut = form.cut;
    Kept { text, items: Some(count), mark: body, met, cut }
}

/// The first form that fits, or the last one.
fn shorten(
    tree: &Node,
    way: Option<&[usize]>,
    limit: usize,
    form: &mut Form<'_>,
) -> (String, bool) {
    let mut forms = Vec::new();
    let mut threshold = (limit / 2).max(10);
    for _ in 0..10 {
        forms.push((threshold, None));
        threshold /= 2;
        if threshold < 10 {
            break;
        }
    }
    let last = forms[forms.len() - 1].0;
    forms.extend([64, 32, 16, 8, 4, 2, 1].map(|most| (last, Some(most))));
    let mut text = String::new();
    let cut = form.cut;
    for (threshold, most) in forms {
        (form.threshold, form.most, form.cut) = (Some(threshold), most, cut);
        text = form.write(tree, way);
        if text.len() <= limit {
            return (text, true);
        }
    }
    (text, false)
}

/// A budget, and the drivers that it is tried with.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    pub asked: Asked,
    pub seed: u64,
    pub effort: Effort,
    /// A run that writes all held bytes to disk, too.
    pub spill: bool,
}

/// A document, rules on its items, and their output without a budget.
pub struct Ground<'a> {
    pub spec: Spec,
    pub document: &'a [u8],
    pub filtered: String,
    pub report: Report,
}

impl<'a> Ground<'a> {
    pub fn new(spec: Spec, document: &'a [u8]) -> Self {
        let run = |spec: &Spec| {
            let program = Program::compile(spec).expect("the spec compiles");
            filter_slice(&program, document).expect("the document passes")
        };
        let (filtered, _) = run(&spec);
        // A report has no payload if no rule needs it.
        let (unlimited, report) = run(&spec.clone().budget(Budget::Bytes(u64::MAX)));
        assert_eq!(filtered, unlimited, "a budget that is never reached changes nothing");
        let filtered = String::from_utf8(filtered).expect("the output is text");
        Self { spec, document, filtered, report }
    }

    /// Items of the response.
    pub fn original(&self) -> usize {
        self.report.items_seen.and_then(|seen| usize::try_from(seen).ok()).unwrap_or(0)
    }
}

/// Checks one budget. `way` is the path of the payload in the output of the rules.
pub fn check(ground: &Ground<'_>, way: Option<&[String]>, tries: Tries) {
    let Tries { asked, seed, effort, spill } = tries;
    let Ground { spec, document, filtered, report } = ground;
    let kept = keep(filtered, way, asked, ground.original());
    let said = format!(
        "{spec:?}, {asked:?}\n  document: {}\n  payload: {way:?}",
        String::from_utf8_lossy(&document[..document.len().min(2000)]),
    );
    let Asked { limit, min_items, omitted } = asked;
    let mut spec = spec.clone().budget(Budget::Bytes(limit as u64));
    // The default.
    if min_items != 1 {
        spec = spec.min_items(min_items as u64);
    }
    if let Some(omitted) = omitted {
        spec = spec.omitted(omitted);
    }
    let program = Program::compile(&spec).expect("the spec compiles");
    let options = crate::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let run = agree(subject, seed, effort).unwrap_or_else(|differs| panic!("{said}\n  {differs}"));
    compare(&said, &run, &kept, filtered, report, limit);
    if spill {
        let options = crate::call_options().with_limits(Limits::new().with_held(3));
        let run = Subject { options: &options, ..subject }.push([document.len() / 2]);
        compare(&format!("spilled: {said}"), &run, &kept, filtered, report, limit);
        let options = crate::call_options().with_on_over(OnOver::Error);
        let run = Subject { options: &options, ..subject }.push([document.len() / 2]);
        if kept.met {
            compare(&format!("strict: {said}"), &run, &kept, filtered, report, limit);
        } else {
            let fault = run.fault.as_ref().unwrap_or_else(|| panic!("{said}: no error"));
            assert_eq!(fault.kind, ErrorKind::Budget, "{said}: {fault:?}");
            assert_eq!(run.output.as_deref().unwrap_or_default(), b"", "{said}");
        }
    }
}

fn compare(said: &str, run: &Run, kept: &Kept, filtered: &str, base: &Report, limit: usize) {
    assert_eq!(run.fault, None, "{said}");
    let output = run.output.as_deref().expect("there is output");
    let output = std::str::from_utf8(output).expect("no character is split");
    assert_eq!(output, kept.text, "{said}");
    assert_eq!(kept.met, output.len() <= limit, "{said}");
    let valid = serde_json::from_str::<&serde_json::value::RawValue>(output);
    assert!(valid.is_ok(), "{said}: {output}");

    let report = Run { report: Some(base.clone()), fault: None, output: None };
    let mut expected = report.comparable().expect("there is a report");
    if let Some(items) = kept.items {
        expected["items_kept"] = json!(items);
    }
    assert_eq!(expected["filter_result_bytes"], json!(filtered.len()), "{said}");
    if kept.cut {
        expected["budget_applied"] = json!(true);
        expected["budget_limit"] = json!(limit);
        expected["budget_original_bytes"] = json!(filtered.len());
        expected["budget_result_bytes"] = json!(kept.text.len());
    }
    if !kept.met {
        expected["budget_exceeded"] = json!(true);
    }
    if kept.text.len() != filtered.len() {
        expected["output_bytes"] = json!(kept.text.len());
    }
    assert_eq!(run.comparable(), Some(expected), "{said}");
}
