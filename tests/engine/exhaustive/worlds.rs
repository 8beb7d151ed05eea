//! Every program over a few paths, on every document up to some size ([`SIZE`], or one more), compared with the model.

use tamis::{Filter, Program};

use super::{is_complete, larger};
use tamis_testkit::model::check::{Run, judge};
use tamis_testkit::model::conditions::{Condition, TestPart};
use tamis_testkit::model::dom::{Node, Value};
use tamis_testkit::model::eval::{self, Verdict};
use tamis_testkit::model::fields::Field;
use tamis_testkit::model::paths::{Path, Token};
use tamis_testkit::model::rules::{Root, Rules, Source};

/// Values of the largest document, members and elements of all depths counted.
const SIZE: usize = 3;
/// The size of the largest documents that are tried at every split, without strings and with some.
const SPLIT: [usize; 2] = [3, 2];
/// Scalars and empty containers: one of each kind that `drop_nulls` and `drop_empty` distinguish, and strings, one with an escape.
const LEAVES: [&str; 6] = ["1", "null", "{}", "[]", r#""""#, r#""\u0061""#];
/// Member names: two, and the first in another spelling.
const NAMES: [&str; 3] = [r#""a""#, r#""b""#, r#""\u0061""#];

/// All values that consist of exactly `size` values, as text. `by_size` has the smaller ones.
fn values(size: usize, by_size: &[Vec<String>]) -> Vec<String> {
    if size == 1 {
        return LEAVES.map(String::from).to_vec();
    }
    let mut all = Vec::new();
    for parts in sequences(size - 1, by_size) {
        all.push(format!("[{}]", parts.join(",")));
        for choice in 0..NAMES.len().pow(parts.len() as u32) {
            let mut rest = choice;
            let members: Vec<String> = parts
                .iter()
                .map(|part| {
                    let key = NAMES[rest % NAMES.len()];
                    rest /= NAMES.len();
                    format!("{key}:{part}")
                })
                .collect();
            all.push(format!("{{{}}}", members.join(",")));
        }
    }
    all
}

/// All sequences of values of `size` values together.
fn sequences(size: usize, by_size: &[Vec<String>]) -> Vec<Vec<String>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for first in 1..=size {
        for rest in sequences(size - first, by_size) {
            for value in &by_size[first] {
                all.push([std::slice::from_ref(value), rest.as_slice()].concat());
            }
        }
    }
    all
}

/// Documents by their size.
fn documents() -> Vec<Vec<String>> {
    let mut by_size = vec![Vec::new()];
    for size in 1..=SIZE + larger() {
        let next = values(size, &by_size);
        by_size.push(next);
    }
    by_size
}

/// The number of values that consist of exactly `size` values: arrays and objects around a sequence. Parts of objects have names.
fn count(size: usize) -> usize {
    if size == 1 { LEAVES.len() } else { count_of(size - 1, 1) + count_of(size - 1, NAMES.len()) }
}

/// The number of sequences, if each part has a number of forms.
fn count_of(size: usize, ways: usize) -> usize {
    if size == 0 {
        return 1;
    }
    (1..=size).map(|first| ways * count(first) * count_of(size - first, ways)).sum()
}

fn token(step: &str) -> Token {
    match step {
        "[]" => Token::Any,
        step => Token::Name(step.to_owned()),
    }
}

/// All paths of one or two steps.
fn paths(steps: &[&str], text: fn(&[&str]) -> String) -> Vec<Path> {
    let one = steps.iter().map(|step| vec![*step]);
    let two = steps.iter().flat_map(|one| steps.iter().map(|two| vec![*one, *two]));
    one.chain(two)
        .map(|steps| Path {
            tokens: steps.iter().copied().map(token).collect(),
            text: text(&steps),
            brackets: brackets(&steps),
        })
        .collect()
}

fn dotted(steps: &[&str]) -> String {
    let mut text = String::new();
    for step in steps {
        match *step {
            // A bracket in first place would select from the items themselves, and is refused.
            "[]" if text.is_empty() => text.push('*'),
            "[]" => text.push_str("[]"),
            "0" => text.push_str("[0]"),
            name if text.is_empty() => text.push_str(name),
            name => text.push_str(&format!(".{name}")),
        }
    }
    text
}

/// The positions of the steps that `dotted` writes in brackets.
fn brackets(steps: &[&str]) -> Vec<usize> {
    (1..steps.len()).filter(|at| steps[*at] == "[]").collect()
}

fn pointer(steps: &[&str]) -> String {
    steps.iter().map(|step| format!("/{step}")).collect()
}

/// Every rule with one path, and with two.
fn rules() -> Vec<Rules> {
    let all = paths(&["a", "b", "[]", "0"], dotted);
    let places = paths(&["a", "b", "0"], pointer);
    let source = |number: usize, path: &Path| Source {
        key: Some(format!("k{number}")),
        path: path.clone(),
        fields: Vec::new(),
    };
    let field = |name: &str, levels, fields| Field { name: name.into(), key: None, levels, fields };
    // `{b}`, `{a,x=b}`, `{a[]}`, `{a{b}}` and `{a[]{b}}`.
    let braces = [
        vec![field("b", 0, Vec::new())],
        vec![
            field("a", 0, Vec::new()),
            Field { key: Some("x".into()), ..field("b", 0, Vec::new()) },
        ],
        vec![field("a", 1, Vec::new())],
        vec![field("a", 0, vec![field("b", 0, Vec::new())])],
        vec![field("a", 1, vec![field("b", 0, Vec::new())])],
    ];
    let select = |chosen: &[&Path]| Rules {
        select: Some(
            chosen.iter().enumerate().map(|(number, path)| source(number, path)).collect(),
        ),
        ..Rules::default()
    };
    let exclude = |chosen: &[&Path]| Rules {
        exclude: chosen.iter().map(|path| (*path).clone()).collect(),
        ..Rules::default()
    };
    let retain = |chosen: &[&Path]| Rules {
        retain: Some(chosen.iter().map(|path| (*path).clone()).collect()),
        ..Rules::default()
    };
    let mut one = vec![Rules::default()];
    let mut two = Vec::new();
    for (number, path) in all.iter().enumerate() {
        one.extend([select(&[path]), exclude(&[path])]);
        one.push(Rules { omit: vec![path.clone()], ..Rules::default() });
        one.push(Rules { requires: vec![path.clone()], drop_nulls: true, ..Rules::default() });
        one.push(Rules { keeps_kinds: true, ..select(&[path]) });
        one.extend(braces.iter().map(|fields| {
            let select = vec![Source { fields: fields.clone(), ..source(0, path) }];
            Rules { select: Some(select), keeps_kinds: true, ..Rules::default() }
        }));
        one.extend(braces.iter().map(|fields| {
            let select = vec![Source { fields: fields.clone(), ..source(0, path) }];
            Rules { select: Some(select), ..Rules::default() }
        }));
        for (part, not) in [(TestPart::Equals("0"), false), (TestPart::Exists, true)] {
            let conditions = vec![Condition { path: path.clone(), part, not }];
            one.push(Rules { conditions, ..Rules::default() });
        }
        for other in &all[number + 1..] {
            two.extend([select(&[path, other]), exclude(&[path, other])]);
            two.push(Rules { keeps_kinds: true, ..select(&[path, other]) });
        }
        one.extend(
            places
                .iter()
                .map(|place| Rules { retain: retain(&[place]).retain, ..exclude(&[path]) }),
        );
    }
    for (number, place) in places.iter().enumerate() {
        one.push(retain(&[place]));
        one.push(Rules { root: Root::At(place.clone()), max_items: 1, ..Rules::default() });
        two.extend(places[number + 1..].iter().map(|other| retain(&[place, other])));
    }
    // A select together with a rule on its output or on its input.
    let made = [vec!["k0"], vec!["k0", "a"], vec!["k0", "b"], vec!["k0", "[]"], vec!["k0", "0"]];
    let mut other_rules = Vec::new();
    for path in &all {
        let select = select(&[path]);
        other_rules.extend(made.iter().map(|steps| {
            let tokens = steps.iter().copied().map(token).collect();
            let path = Path { tokens, text: dotted(steps), brackets: brackets(steps) };
            Rules { exclude: vec![path], ..select.clone() }
        }));
        other_rules.extend(
            places.iter().map(|place| Rules { retain: retain(&[place]).retain, ..select.clone() }),
        );
    }
    for rules in &other_rules {
        two.extend([
            rules.clone(),
            Rules { closed: Some(rules.retain.is_none()), keeps_kinds: false, ..rules.clone() },
        ]);
    }
    // Other options of a spec, with one path.
    for rules in &one {
        two.extend([
            Rules { max_items: 1, ..rules.clone() },
            Rules { drop_nulls: true, ..rules.clone() },
            Rules { drop_empty: true, ..rules.clone() },
            Rules { drop_nulls: true, drop_empty: true, ..rules.clone() },
            Rules { root: Root::Object, ..rules.clone() },
            Rules { drop_siblings: true, ..rules.clone() },
            // Not the default.
            Rules { closed: Some(!rules.is_closed()), keeps_kinds: false, ..rules.clone() },
        ]);
    }
    [one, two].concat()
}

/// Whether a value is or contains a string.
fn has_strings(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.is_string(),
        Value::Array(elements) => elements.iter().any(has_strings),
        Value::Object(members) => members.iter().any(|member| has_strings(&member.node)),
    }
}

fn run(filter: &mut Filter<Vec<u8>>, chunks: &[&[u8]]) -> Run {
    filter.sink_mut().clear();
    filter.restart();
    let fed = chunks.iter().try_for_each(|chunk| filter.write(chunk));
    match fed.and_then(|()| filter.end()) {
        Ok(report) => Ok((filter.sink().clone(), report)),
        Err(error) => Err((error, filter.sink().clone())),
    }
}

/// A part of the programs, so that several tests share the work.
fn part(number: usize, of: usize) {
    let documents: Vec<(bool, String, Node)> = documents()
        .into_iter()
        .enumerate()
        .flat_map(|(size, texts)| texts.into_iter().map(move |text| (size, text)))
        .map(|(size, text)| {
            let node = Node::parse(&text);
            (size <= SPLIT[usize::from(has_strings(&node))], text, node)
        })
        .collect();
    let all: usize = (1..=SIZE + larger()).map(count).sum();
    assert_eq!(documents.len(), all, "a document is missing");
    let small: usize = (1..SIZE).map(count).sum();
    let mut programs = 0;
    let mut pairs = 0_u64;
    let mut emitted = 0_u64;
    for rules in rules().into_iter().skip(number).step_by(of) {
        // Output keys differ and paths are short, so every program compiles.
        let program =
            Program::compile(&rules.spec()).unwrap_or_else(|error| panic!("{rules:?}\n{error}"));
        let mut filter = Filter::new(&program, Vec::new());
        let failed = tamis_testkit::call_options().with_is_error(true);
        let mut failed = Filter::new(program.with_options(&failed), Vec::new());
        programs += 1;
        for (at, (split, text, node)) in documents.iter().enumerate() {
            // Each program gets other documents, so that each document meets a tenth of the programs.
            if !is_complete() && at >= small && (at + programs) % 10 != 0 {
                continue;
            }
            let verdict = eval::run(&rules, node);
            emitted += u64::from(matches!(verdict, Verdict::Passes { .. }));
            let bytes = text.as_bytes();
            if *split {
                let verdict = eval::run_failed(&rules, node);
                judge("a failed call", &verdict, &run(&mut failed, &[bytes]))
                    .unwrap_or_else(|why| panic!("{rules:?}\n{text}\n{why}"));
            }
            let mut check = |driver: &str, chunks: &[&[u8]]| {
                judge(driver, &verdict, &run(&mut filter, chunks))
                    .unwrap_or_else(|why| panic!("{rules:?}\n{text}\n{why}"));
            };
            check("whole", &[bytes]);
            let each: Vec<&[u8]> = bytes.chunks(1).collect();
            check("one-byte chunks", &each);
            if *split {
                for at in 1..bytes.len() {
                    let (head, tail) = bytes.split_at(at);
                    check("two chunks", &[head, tail]);
                }
            }
            pairs += 1;
        }
    }
    println!("{pairs} pairs, {emitted} with an output, {all} documents");
    // The model has a verdict on most of them.
    assert!(emitted > pairs / 2, "{emitted} of {pairs}");
}

#[test]
fn every_program_over_every_document_1() {
    part(0, 2);
}

#[test]
fn every_program_over_every_document_2() {
    part(1, 2);
}
