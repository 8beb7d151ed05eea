//! Compares patches on a stream with patches on a tree: random sequences over random documents, byte for byte, in all
//! modes.

use tamis_json::error::ErrorKind;
use tamis_json::limits::Limits;
use tamis_json::tree::Tree;
use tamis_testkit::effort::share;

use crate::filter::Filter;
use crate::filter::compile::program::Program;
use crate::spec::{OnError, PatchOp, RawJson, Spec};
use crate::{CallOptions, filter_slice};

/// A deterministic generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len() as u64) as usize]
    }

    /// Names repeat, also in different spellings, to produce duplicate members.
    fn key(&mut self) -> &'static str {
        self.pick(&["a", "a", "b", "c", "0", "1", r"\u0061", "d"])
    }

    fn value(&mut self, depth: u64) -> String {
        match self.roll(if depth == 0 { 3 } else { 8 }) {
            0 => self.pick(&["1.10", "-0", "1E400", "null", "true"]).to_owned(),
            1 => self.pick(&[r#""x""#, r#""\u0041\/""#, r#""""#]).to_owned(),
            2 => self.pick(&["[]", "{}"]).to_owned(),
            3 | 4 => {
                let count = self.roll(4);
                let values: Vec<String> = (0..count).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", values.join(","))
            }
            _ => self.object(depth),
        }
    }

    fn object(&mut self, depth: u64) -> String {
        let count = self.roll(6);
        let members: Vec<String> =
            (0..count).map(|_| format!("\"{}\":{}", self.key(), self.value(depth - 1))).collect();
        format!("{{{}}}", members.join(","))
    }

    fn pointer(&mut self, least: u64) -> String {
        let steps = least + self.roll(4 - least);
        (0..steps)
            .map(|_| format!("/{}", self.pick(&["a", "a", "b", "c", "d", "0", "1"])))
            .collect()
    }

    fn operation(&mut self) -> PatchOp {
        let value = self.value(2).parse::<RawJson>().unwrap();
        let least = u64::from(self.roll(20) > 0);
        match self.roll(8) {
            0..3 => PatchOp::remove(self.pointer(1)),
            3..5 => PatchOp::replace(self.pointer(least), value),
            _ => PatchOp::add(self.pointer(least), value),
        }
    }

    fn spec(&mut self) -> Spec {
        let mut spec = Spec::new().lenient_remove(self.roll(3) == 0);
        if self.roll(2) == 0 {
            for _ in 0..1 + self.roll(3) {
                spec = spec.retain(self.pointer(0));
            }
        }
        for _ in 0..1 + self.roll(5) {
            spec = spec.patch(self.operation());
        }
        spec
    }
}

/// The output and report of a run, or the message of its error.
type Outcome = Result<(String, Option<u64>, u64, Option<String>), String>;

/// Streams a document in chunks of a size.
fn streamed(program: &Program, document: &[u8], chunk: usize) -> Outcome {
    let mut filter = Filter::new(program, Vec::new());
    let mut fed = Ok(());
    for piece in document.chunks(chunk) {
        fed = fed.and_then(|()| filter.write(piece));
    }
    let report = fed.and_then(|()| filter.end()).map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::Patch, "{error}");
        error.message().to_owned()
    });
    let report = match report {
        Ok(report) => report,
        Err(message) => {
            assert_eq!(filter.sink().len(), 0, "nothing leaves before it is certain");
            return Err(message);
        }
    };
    let output = String::from_utf8(filter.into_sink()).unwrap();
    Ok((output, report.patches_applied, report.patches_without_effect, report.fallback))
}

/// Patches the retained document as a tree.
fn as_tree(program: &Program, retained: &[u8]) -> Outcome {
    let patches = program.compiled().patches.as_ref().unwrap();
    let mut tree = Tree::new(retained.to_vec(), 1 << 20).unwrap();
    let applied = patches.apply(&mut tree).map_err(|raise| raise.message.into_owned())?;
    let mut output = Vec::new();
    tree.write(|bytes| output.extend_from_slice(bytes));
    let output = String::from_utf8(output).unwrap();
    Ok((output, Some(applied.operations), applied.without_effect, None))
}

#[test]
fn streams_do_what_trees_do() {
    let (mut streams, mut fine, mut failed) = (0, 0, 0);
    let rounds = share(30_000);
    for seed in 0..rounds {
        let mut dice = Dice(seed);
        let spec = dice.spec();
        let program = Program::compile(&spec).unwrap();
        if program.compiled().patches.as_ref().unwrap().edits().is_none() {
            continue;
        }
        streams += 1;
        let plain = Spec { patches: None, ..spec.clone() };
        let plain = Program::compile(&plain).unwrap();
        let open = Program::compile(&spec.clone().on_error(OnError::Raw)).unwrap();
        for _ in 0..4 {
            let document = if dice.roll(10) == 0 { dice.value(3) } else { dice.object(3) };
            let (retained, _) = filter_slice(&plain, document.as_bytes()).unwrap();
            let expected = as_tree(&program, &retained);
            let about = || {
                format!("{document}\nretained {}\n{spec:#?}", String::from_utf8_lossy(&retained))
            };
            for chunk in [usize::MAX, 1, 3] {
                assert_eq!(streamed(&program, document.as_bytes(), chunk), expected, "{}", about());
            }
            // A document that passes after a failure is the retained document.
            let passes = match &expected {
                Ok(_) => expected.clone(),
                Err(message) => {
                    let retained = String::from_utf8(retained.clone()).unwrap();
                    Ok((
                        retained,
                        None,
                        0,
                        Some(format!("{message}; the document passes unpatched")),
                    ))
                }
            };
            for chunk in [usize::MAX, 1] {
                assert_eq!(streamed(&open, document.as_bytes(), chunk), passes, "{}", about());
            }
            match expected {
                Ok(_) => fine += 1,
                Err(_) => failed += 1,
            }
        }
    }
    assert!(
        3 * streams > rounds && 6 * fine > rounds && 3 * failed > rounds,
        "{streams} {fine} {failed}"
    );
}

#[test]
fn held_bytes_are_bounded_wherever_the_input_is_cut() {
    let spec = Spec::new().patch(PatchOp::remove("/z"));
    let program = Program::compile(&spec).unwrap();
    let open = Program::compile(&spec.on_error(OnError::Raw)).unwrap();
    for (fill, held) in [(100, 140), (100, 90), (9000, 9040), (9000, 8990), (20_000, 4096)] {
        let document = format!(r#"{{"a":"{}","z":1}}"#, "x".repeat(fill));
        let options = CallOptions::new().with_limits(Limits::new().with_held(held).with_spill(0));
        for program in [&program, &open] {
            let run = |chunk: usize| {
                let mut filter = Filter::new(program.with_options(&options), Vec::new());
                let mut fed = Ok(());
                for piece in document.as_bytes().chunks(chunk) {
                    fed = fed.and_then(|()| filter.write(piece));
                }
                let ended = fed.and_then(|()| filter.end().map(|_| ()));
                let error =
                    ended.err().map(|error| (error.kind(), error.offset(), error.to_string()));
                (error, filter.into_sink())
            };
            let whole = run(usize::MAX);
            assert_eq!(whole.0.is_some(), (fill as u64) > held, "{fill} {held}");
            for chunk in [1, 7, 64, 4096] {
                assert_eq!(run(chunk), whole, "{fill} {held} in chunks of {chunk}");
            }
        }
    }
}

/// The memory for a path is not quadratic in its length.
#[test]
fn long_paths_compile_in_linear_space() {
    let pointers = (0..99).map(|number| format!("/{number}{}", "/a".repeat(1000)));
    let patched = pointers.map(PatchOp::remove).fold(Spec::new(), Spec::patch);
    let program = Program::compile(&patched).unwrap();
    let error = filter_slice(&program, br#"{"0":{"a":{}}}"#).unwrap_err().error;
    assert!(error.message().ends_with("no value at /0/a/a"), "{error}");
}
