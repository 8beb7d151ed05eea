//! Every program over a few paths, over every document up to some size ([`SIZE`], or one more): what the model says.

use tamis::{Filter, Program};

use crate::check::{Run, judge};
use crate::larger;
use crate::model::dom::Node;
use crate::model::eval;
use crate::model::rules::{Path, Root, Rules, Source, Token};

/// Values of the largest document, members and elements of all depths counted.
const SIZE: usize = 3;
/// Of the largest one that is tried at every split.
const SPLIT: usize = 3;

/// All values of exactly `size` values, as text; `by_size` has the smaller ones.
fn values(size: usize, by_size: &[Vec<String>]) -> Vec<String> {
    if size == 1 {
        return ["1", "null", "{}", "[]"].map(String::from).to_vec();
    }
    let mut all = Vec::new();
    for parts in sequences(size - 1, by_size) {
        all.push(format!("[{}]", parts.join(",")));
        // Each member has one of two names, or the first in another spelling.
        for choice in 0..3usize.pow(parts.len() as u32) {
            let mut rest = choice;
            let members: Vec<String> = parts
                .iter()
                .map(|part| {
                    let key = [r#""a""#, r#""b""#, r#""\u0061""#][rest % 3];
                    rest /= 3;
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

/// All paths of one or two steps.
fn paths(steps: &[&str], text: fn(&[&str]) -> String) -> Vec<Path> {
    let token = |step: &str| match step {
        "[]" => Token::Any,
        step => Token::Name(step.to_owned()),
    };
    let one = steps.iter().map(|step| vec![*step]);
    let two = steps.iter().flat_map(|one| steps.iter().map(|two| vec![*one, *two]));
    one.chain(two)
        .map(|steps| Path {
            tokens: steps.iter().copied().map(token).collect(),
            text: text(&steps),
        })
        .collect()
}

fn dotted(steps: &[&str]) -> String {
    let mut text = String::new();
    for step in steps {
        match *step {
            "[]" => text.push_str("[]"),
            "0" => text.push_str("[0]"),
            name if text.is_empty() => text.push_str(name),
            name => text.push_str(&format!(".{name}")),
        }
    }
    text
}

fn pointer(steps: &[&str]) -> String {
    steps.iter().map(|step| format!("/{step}")).collect()
}

/// Every rule with one path, and with two.
fn rules() -> Vec<Rules> {
    let all = paths(&["a", "b", "[]", "0"], dotted);
    let places = paths(&["a", "b", "0"], pointer);
    let source =
        |number: usize, path: &Path| Source { key: Some(format!("k{number}")), path: path.clone() };
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
        for other in &all[number + 1..] {
            two.extend([select(&[path, other]), exclude(&[path, other])]);
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
    // Beside one path also what else a spec may say.
    for rules in &one {
        two.extend([
            Rules { max_items: 1, ..rules.clone() },
            Rules { drop_nulls: true, ..rules.clone() },
            Rules { drop_empty: true, ..rules.clone() },
            Rules { root: Root::Object, ..rules.clone() },
            Rules { drop_siblings: true, ..rules.clone() },
            Rules { closed: Some(true), ..rules.clone() },
        ]);
    }
    [one, two].concat()
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
    let documents: Vec<(usize, String, Node)> = documents()
        .into_iter()
        .enumerate()
        .flat_map(|(size, texts)| texts.into_iter().map(move |text| (size, text)))
        .map(|(size, text)| {
            let node = Node::parse(&text);
            (size, text, node)
        })
        .collect();
    let mut pairs = 0_u64;
    for rules in rules().into_iter().skip(number).step_by(of) {
        // Two paths may be one rule twice, or leave nothing to be found.
        let Ok(program) = Program::compile(&rules.spec()) else { continue };
        let mut filter = Filter::new(&program, Vec::new());
        for (size, text, node) in &documents {
            let verdict = eval::run(&rules, node);
            let bytes = text.as_bytes();
            let mut check = |driver: &str, chunks: &[&[u8]]| {
                judge(driver, &verdict, &run(&mut filter, chunks))
                    .unwrap_or_else(|why| panic!("{rules:?}\n{text}\n{why}"));
            };
            check("whole", &[bytes]);
            let each: Vec<&[u8]> = bytes.chunks(1).collect();
            check("one-byte chunks", &each);
            if *size <= SPLIT {
                for at in 1..bytes.len() {
                    let (head, tail) = bytes.split_at(at);
                    check("two chunks", &[head, tail]);
                }
            }
            pairs += 1;
        }
    }
    println!("{pairs} pairs, {} documents", documents.len());
    assert!(pairs > 200_000 && documents.len() > 200);
}

#[test]
fn every_program_over_every_document_1() {
    part(0, 2);
}

#[test]
fn every_program_over_every_document_2() {
    part(1, 2);
}
