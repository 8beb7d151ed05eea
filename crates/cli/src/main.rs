//! The binary `tamis`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tamis_cli::main()
}
