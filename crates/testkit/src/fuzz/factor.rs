//! `factor`: what is factored is restored, and restoring never fails in another way than with an error.
//!
//! A document that tamis accepts is factored. The factored one is shorter by 3 %, is valid, and is restored to the same
//! values, by the library and by the slow model. The bytes themselves are restored, too, as if they were factored.

use tamis::{CallOptions, Limits, Spec, factor, filter_slice};

use super::input::Input;
use super::programs;
use crate::drivers::Subject;
use crate::model::dom::Node;
use crate::model::factor::{Factored, random_document};
use crate::prng::Choices;

/// Longer documents take too long.
const LONGEST: usize = 64 << 10;

/// Documents up to this length are split at each byte.
const SMALL: usize = 256;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let document = if input.choices.one_in(2) {
        random_document(&mut super::input::Choose::new(input.rest)).into_bytes()
    } else {
        input.rest.to_vec()
    };
    if document.len() > LONGEST {
        return;
    }
    let limits = Limits::new().with_held(4 << 20).with_spill(0);
    _ = factor::restore(&document, &limits);
    let wrapped =
        [&br#"{"_factored":1,"_all":{"a":1},"_made":{"b":"{c}"},"items":"#[..], &document, b"}"]
            .concat();
    _ = factor::restore(&wrapped, &limits);
    check(&document, &mut input.choices);
}

/// Factors a document and restores it. Returns whether it was factored.
pub fn check(document: &[u8], choices: &mut impl Choices) -> bool {
    let Ok((plain, _)) =
        filter_slice(&programs::compile(&Spec::new()).expect("no rules"), document)
    else {
        return false;
    };
    let spec = Spec::new().factor(true);
    let program = programs::compile(&spec).expect("the spec compiles");
    if factor::is_factored(document) {
        // It is restored first.
        _ = filter_slice(&program, document);
        return false;
    }
    let (output, report) = filter_slice(&program, document).expect("the document is valid");
    let about = || String::from_utf8_lossy(document).into_owned();
    let options = CallOptions::new();
    let subject = Subject { program: &program, options: &options, document };
    let same = |cuts: Vec<usize>| {
        let split = subject.push(cuts);
        assert_eq!(split.output.as_deref(), Some(&*output), "{}", about());
    };
    let mut cuts: Vec<usize> = (0..3).map(|_| choices.below(document.len())).collect();
    cuts.sort_unstable();
    same(cuts);
    if document.len() <= SMALL {
        same((1..document.len()).collect());
        (1..document.len()).for_each(|cut| same(vec![cut]));
    }
    let Some(counts) = report.factored else {
        assert!(report.factor_skipped.is_some() && output == plain, "{}", about());
        return false;
    };
    assert!(output.len() * 100 <= plain.len() * 97, "{}", about());
    assert_eq!(counts.bytes as usize, plain.len() - output.len(), "{}", about());
    let restored = factor::restore(&output, &Limits::new()).unwrap_or_else(|error| {
        panic!("{error}\n{}\n{}", about(), String::from_utf8_lossy(&output))
    });
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("the text is UTF-8");
    let (plain, output, restored) = (text(&plain), text(&output), text(&restored));
    let expected = Node::parse(&plain);
    let by_library = Node::parse(&restored);
    assert!(Factored::is_same(&expected, &by_library), "{}\n{output}\n{restored}", about());
    let by_model = Factored::restore(&Node::parse(&output));
    assert!(Factored::is_same(&expected, &by_model), "{}\n{output}", about());
    true
}
