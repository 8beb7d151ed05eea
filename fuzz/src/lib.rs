//! The programs of the fuzz targets. The targets themselves are in `crates/testkit/src/fuzz`.

pub use tamis_testkit::fuzz::*;

/// Defines the program of a target: it fuzzes under libFuzzer, and otherwise replays the files in its arguments.
#[cfg(fuzzing)]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$target::run(data));
    };
}

/// Defines the program of a target: it fuzzes under libFuzzer, and otherwise replays the files in its arguments.
#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        fn main() -> std::io::Result<()> {
            for file in std::env::args_os().skip(1) {
                $crate::$target::run(&std::fs::read(file)?);
            }
            Ok(())
        }
    };
}
