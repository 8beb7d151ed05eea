//! The programs of the fuzz targets. What the targets do is in `crates/testkit/src/fuzz`.

pub use tamis_testkit::fuzz::*;

/// The program of a target: under libfuzzer what it fuzzes, else one that replays the files that are its arguments.
#[cfg(fuzzing)]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$target::run(data));
    };
}

/// The program of a target: under libfuzzer what it fuzzes, else one that replays the files that are its arguments.
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
