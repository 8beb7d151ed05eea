//! Cases as data: rules, a history, what becomes of it, and what the report says of it.

use serde::Deserialize;
use serde_json::Value;
use tamis::PruneSpec;

use crate::drivers::check;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    prune: PruneSpec,
    input: String,
    /// `None`: nothing changes.
    output: Option<String>,
    /// Keys of the report that matter.
    #[serde(default)]
    report: serde_json::Map<String, Value>,
}

fn run(file: &str) {
    let path = format!("{}/tests/history/{file}.toml", env!("CARGO_MANIFEST_DIR"));
    let cases: Cases = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for Case { name, prune, input, output, report } in cases.case {
        let run = check(&name, &prune, input.as_bytes());
        let pruned =
            String::from_utf8(run.output.unwrap_or_else(|error| panic!("{name}: {error:?}")));
        assert_eq!(pruned.unwrap(), output.as_ref().unwrap_or(&input).as_str(), "{name}");
        let told = run.report.unwrap();
        for (key, value) in report {
            assert_eq!(told.get(&key).unwrap_or(&Value::Null), &value, "{name}: {key} of {told}");
        }
        let bytes = |text: &str| i64::try_from(text.len()).unwrap();
        let saved = output.as_ref().map_or(0, |output| bytes(&input) - bytes(output));
        assert_eq!(told["bytes_saved"], saved, "{name}");
        assert_eq!(told["bytes"], input.len(), "{name}");
        let first = told.get("first_changed").and_then(Value::as_u64);
        let same = output.as_ref().map(|output| {
            input.bytes().zip(output.bytes()).take_while(|(one, other)| one == other).count() as u64
        });
        // A placeholder may begin as what it stands for did.
        assert!(first <= same && first.is_some() == same.is_some(), "{name}: {first:?} {same:?}");
    }
}

macro_rules! files {
    ($($file:ident)*) => {
        $(
            #[test]
            fn $file() {
                run(stringify!($file));
            }
        )*
    };
}

files! { seed chat responses anthropic sdk opencode gemini rules placeholders odd }
