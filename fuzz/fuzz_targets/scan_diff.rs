#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
tamis_fuzz::fuzz!(scan_diff);
#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "the library's inside is seen under cargo-fuzz alone; `cargo test --lib scan` replays this target"
    );
    std::process::ExitCode::from(2)
}
