//! Work and memory, counted inside; and the same with every kernel.

use super::run::Scan;
use super::{Prune, PruneProgram};
use crate::limits::Limits;
use crate::scan::tests::scanners;

/// Steps a byte that no input may exceed, with what a run and a chunk cost at most.
const STEPS_A_BYTE: u64 = 4;

/// Shapes of about `size` bytes, valid and not.
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
    let prune = Prune::new().keep_head(3).keep_tail(1000);
    let limits = Limits::new().with_depth(usize::MAX);
    let program = PruneProgram::compile(&prune).unwrap().with_limits(limits);
    let size = 20_000;
    for (shape, history) in shapes(size) {
        for chunk in [1, 64, usize::MAX] {
            let mut scan = Scan::new(&program);
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

#[test]
fn kernels_agree() {
    let program = PruneProgram::compile(&Prune::new().keep_turns(0).now(1)).unwrap();
    for (shape, history) in shapes(3000) {
        let mut all = Vec::new();
        for (_, scanner) in scanners() {
            let mut scan = Scan::with(&program, scanner);
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
