//! Work and memory by internal counters; and equal results with every kernel.

use tamis_json::limits::Limits;
use tamis_json::scan::Scanner;
use tamis_json::test_work::done;

use super::run::PruneScan;
use super::{PruneProgram, PruneSpec, prune_slice};

/// Maximum number of steps per byte for any input, plus a fixed cost for a run and a chunk.
const STEPS_A_BYTE: u64 = 4;

/// Documents of about `size` bytes, valid and invalid.
fn shapes(size: usize) -> Vec<(&'static str, String)> {
    let list = |item: &str| format!("[{}0]", format!("{item},").repeat(size / item.len()));
    let message =
        |member: &str| format!("[{{{}\"a\":0}}]", format!("{member},").repeat(size / member.len()));
    vec![
        ("brackets", "[".repeat(size)),
        ("objects", "[{\"content\":".repeat(size / 12)),
        ("turns", list(r#"{"role":"user"}"#)),
        ("results", list(r#"{"role":"tool","content":"a"}"#)),
        ("escaped results", list(r#"{"r\u006fle":"t\u006fol","content":"\u0061\n"}"#)),
        (
            "blocks",
            format!(
                r#"[{{"content":{}}}]"#,
                list(r#"{"type":"tool_result","content":[{"type":"text","text":"a"}]}"#)
            ),
        ),
        (
            "parts",
            format!(
                r#"[{{"parts":{}}}]"#,
                list(r#"{"type":"tool","tool":"t","state":{"output":"a","time":{}}}"#)
            ),
        ),
        (
            "responses",
            format!(
                r#"[{{"parts":{}}}]"#,
                list(r#"{"functionResponse":{"name":"t","response":{"a":"b"}}}"#)
            ),
        ),
        ("roles", message(r#""role":"tool""#)),
        ("metadata", message(r#""metadata":{"time":{"compacted":0}}"#)),
        ("a long text", format!(r#"[{{"role":"tool","content":"{}"}}]"#, "\\n".repeat(size / 2))),
        ("a long id", format!(r#"[{{"role":"tool","tool_call_id":"{}"}}]"#, "é".repeat(size / 2))),
        ("white space", format!("[{}]", " ".repeat(size))),
    ]
}

#[test]
fn work_is_linear() {
    let prune = PruneSpec::new().keep_head(3).keep_tail(1000);
    let limits = Limits::new().with_depth(usize::MAX);
    let program = PruneProgram::compile(&prune).unwrap().with_limits(limits);
    let size = 20_000;
    for (shape, history) in shapes(size) {
        for chunk in [1, 64, usize::MAX] {
            let mut scan = PruneScan::new(&program);
            let chunks = history.as_bytes().chunks(chunk);
            let count = chunks.len() as u64;
            for chunk in chunks {
                if scan.write(chunk).is_err() {
                    break;
                }
            }
            let most = STEPS_A_BYTE * history.len() as u64 + 4 * count + 64;
            assert!(scan.steps() <= most, "{shape}, chunks of {chunk}: {} steps", scan.steps());
        }
    }
}

/// Messages of about `size` bytes in total, in each of which one member is repeated many times. Covers every place where an
/// output, a state or a file is looked for.
fn repeated(size: usize, messages: usize) -> Vec<(&'static str, String)> {
    let shapes = [
        ("content", r#"{"role":"tool",$}"#, r#""content":"a""#),
        ("content lists", r#"{"role":"tool",$}"#, r#""content":[{"text":"a"}]"#),
        (
            "content with results",
            r#"{"role":"tool",$}"#,
            r#""content":[{"type":"tool_result","content":"a"}],"content":"b""#,
        ),
        ("output", r#"{"type":"function_call_output",$}"#, r#""output":"a""#),
        ("output lists", r#"{"type":"function_call_output",$}"#, r#""output":[{"text":"a"}]"#),
        ("tool_result", r#"{"content":[{"type":"tool_result",$}]}"#, r#""content":"a""#),
        ("tool_results", r#"{"content":[$]}"#, r#"{"type":"tool_result","content":"a"}"#),
        (
            "tool-result",
            r#"{"role":"tool","content":[{"type":"tool-result",$}]}"#,
            r#""output":{"type":"text","value":"a"},"result":1,"experimental_content":[]"#,
        ),
        (
            "tool-results",
            r#"{"role":"tool","content":[$]}"#,
            r#"{"type":"tool-result","output":{}}"#,
        ),
        (
            "values",
            r#"{"role":"tool","content":[{"type":"tool-result","output":{$}}]}"#,
            r#""type":"text","value":"a""#,
        ),
        ("response", r#"{"parts":[{"functionResponse":{$}}]}"#, r#""response":{"a":"b"}"#),
        ("responses", r#"{"parts":[{$}]}"#, r#""functionResponse":{"response":{"a":"b"}}"#),
        (
            "state",
            r#"{"parts":[{"type":"tool",$}]}"#,
            r#""state":{"output":"a","attachments":[1]}"#,
        ),
        ("state.output", r#"{"parts":[{"type":"tool","state":{$}}]}"#, r#""output":"a","time":{}"#),
        (
            "state.attachments",
            r#"{"parts":[{"type":"tool","state":{"output":"a longer text",$}}]}"#,
            r#""attachments":[1]"#,
        ),
        ("parts", r#"{$}"#, r#""parts":[{"type":"tool","state":{"output":"a"}}]"#),
        ("calls", r#"{$}"#, r#""tool_calls":[{"id":"c","function":{"name":"t"}}]"#),
    ];
    let history = |message: &str, member: &str| {
        let members = vec![member; size / messages / member.len()].join(",");
        let messages = vec![message.replace('$', &members); messages].join(",");
        format!(r#"[{messages},{{"role":"user"}}]"#)
    };
    shapes.map(|(name, message, member)| (name, history(message, member))).into()
}

/// Each result is recorded, read from the findings a few times, and replaced: a constant amount of work per byte.
#[test]
fn members_that_come_again_cost_as_much_each() {
    let limits = Limits::new().with_held(64 << 20);
    let prune = PruneSpec::new().keep_turns(1).protect_tokens(1).now(1);
    let program = PruneProgram::compile(&prune).unwrap().with_limits(limits);
    for (size, messages) in [(10_000, 1), (200_000, 1), (200_000, 10)] {
        for (name, history) in repeated(size, messages) {
            done();
            let mut scan = PruneScan::new(&program);
            scan.write(history.as_bytes()).unwrap();
            let steps = scan.steps();
            let (report, decided) = scan.end();
            let mut output = Vec::new();
            decided.unwrap().write(history.as_bytes(), &mut output).unwrap();
            let units: u64 = done().iter().sum();
            let bytes = history.len() as u64;
            let most = (STEPS_A_BYTE + 2) * bytes + 1000;
            assert!(
                steps + units <= most,
                "{name}: {steps} steps and {units} units, {bytes} bytes"
            );
            assert!(name == "calls" || report.results_pruned > 0, "{name}");
        }
    }
}

#[test]
fn kernels_agree() {
    let program = PruneProgram::compile(&PruneSpec::new().keep_turns(0).now(1)).unwrap();
    for (shape, history) in shapes(3000) {
        let mut all = Vec::new();
        for (_, scanner) in Scanner::present() {
            let mut scan = PruneScan::with(&program, scanner);
            let written = scan.write(history.as_bytes());
            let (report, decided) = scan.end();
            let mut output = Vec::new();
            if let (Ok(()), Ok(mut decided)) = (written, decided) {
                decided.write(history.as_bytes(), &mut output).unwrap();
            }
            all.push((report, output));
        }
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{shape}");
    }
}

/// Pruned tokens are estimated unless they are to be counted.
#[test]
fn pruned_tokens() {
    let user = r#"{"role":"user","content":"go on"}"#;
    let text = "a long text ".repeat(50);
    let result = format!(r#"{{"role":"tool","tool_call_id":"c1","content":"{text}"}}"#);
    let history = format!("[{result},{user},{user}]");
    let program = PruneProgram::compile(&PruneSpec::new()).unwrap();
    let (_, report) = prune_slice(&program, history.as_bytes()).unwrap();
    assert_eq!((report.results_pruned, report.tokens_estimated), (1, true));
    assert_eq!(report.tokens_saved, text.len() as u64 / 4);

    let counted = PruneProgram::compile(&PruneSpec::new().count_tokens(true)).unwrap();
    let (_, report) = prune_slice(&counted, history.as_bytes()).unwrap();
    assert_eq!((report.results_pruned, report.tokens_estimated), (1, false));
}
