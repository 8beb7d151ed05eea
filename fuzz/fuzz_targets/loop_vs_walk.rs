#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
tamis_fuzz::fuzz!(loop_vs_walk);
#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "the target needs internals that only cargo-fuzz builds export; `cargo test --lib loop_diff` replays this target"
    );
    std::process::ExitCode::from(2)
}
