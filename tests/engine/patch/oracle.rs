//! The json-patch crate over random documents and sequences.

use serde_json::Value;
use tamis::spec::{OnTestFailure, PatchOp};
use tamis::{Error, Program, Spec, filter_slice};

use tamis_testkit::effort::share;
use tamis_testkit::patch::{End, Theirs, is_left_out, operation, value};
use tamis_testkit::prng::Prng;

#[test]
fn as_the_json_patch_crate() {
    let mut random = Prng::new(0x6902);
    let (mut fine, mut failed, mut stopped) = (0, 0, 0);
    let rounds = share(40_000);
    for round in 0..rounds {
        let document = value(&mut random, 4);
        let stops = random.one_in(2);
        let mut theirs = Theirs::new(document.clone(), stops);
        let mut operations = Vec::new();
        for _ in 0..1 + random.below(5) {
            let operation = operation(&mut random, &theirs.document);
            if !is_left_out(&operation) {
                theirs.apply(&operation);
                operations.push(operation);
            }
        }
        let about = format!("round {round}: {document} {}", Value::from(operations.clone()));
        let patch = PatchOp::parse_patch(&Value::from(operations).to_string()).unwrap();
        let mut spec = patch.into_iter().fold(Spec::new(), Spec::patch);
        if stops {
            spec = spec.on_test_failure(OnTestFailure::Stop);
        }
        let program = Program::compile(&spec).unwrap_or_else(|error| panic!("{about}: {error}"));
        theirs.compare(
            &about,
            &filter_slice(&program, document.to_string().as_bytes()).map_err(Error::from),
        );
        match theirs.end {
            End::Fine => fine += 1,
            End::Stopped => stopped += 1,
            End::Failed => failed += 1,
        }
    }
    let each = rounds / 8;
    assert!(
        fine + stopped > each && failed > each && stopped > each / 10,
        "{fine} {failed} {stopped}"
    );
}
