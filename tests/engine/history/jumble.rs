//! Messages that are of several shapes at once.
//!
//! Nothing is known of what should go; the output is valid all the same, and a second run changes nothing.

use tamis_testkit::effort::share;
use tamis_testkit::history::drivers::{check, slice};
use tamis_testkit::history::shapeless;
use tamis_testkit::prng::Prng;

#[test]
fn the_output_is_valid() {
    let mut pruned = 0;
    let histories = share(3000);
    for seed in 0..histories {
        let mut prng = Prng::new(seed);
        let history = shapeless::history(&mut prng);
        let prune = shapeless::prune(&mut prng);
        let name = format!("seed {seed}: {history}");
        let program = tamis_chat::PruneProgram::compile(&prune).unwrap();
        let run = slice(&program, history.as_bytes());
        let output = String::from_utf8(run.output.unwrap()).unwrap();
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(&output);
        assert!(valid.is_ok(), "{name}\n{output}");
        let saved = run.report.unwrap()["bytes_saved"].as_i64().unwrap();
        assert_eq!(saved, history.len() as i64 - output.len() as i64, "{name}");
        let again = slice(&program, output.as_bytes());
        assert_eq!(String::from_utf8(again.output.unwrap()).unwrap(), output, "{name}");
        assert_eq!(again.report.unwrap()["results_pruned"], 0, "{name}");
        if seed % 40 == 0 {
            check(&name, &prune, history.as_bytes());
        }
        pruned += u64::from(output != history);
    }
    assert!(pruned > histories / 4, "{pruned} histories changed");
}
