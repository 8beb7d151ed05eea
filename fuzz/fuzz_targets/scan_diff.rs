#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
tamis_fuzz::fuzz!(scan_diff);
#[cfg(not(fuzzing))]
fn main() {}
