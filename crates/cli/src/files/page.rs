//! Writes the page or the picture of a command.

use std::io::Write as _;
use std::path::Path;

use super::Output;
use super::place::{Place, called};
use crate::console::{Console, Exit};

/// Writes a text to a file, if there is one. Returns the exit if that failed.
pub(crate) fn write_page(
    console: &Console,
    path: Option<&Path>,
    text: impl Fn() -> String,
) -> Option<Exit> {
    let path = path?;
    let written = Output::open(&Place::from(path.to_path_buf())).and_then(|mut output| {
        output.write_all(text().as_bytes())?;
        output.finish()
    });
    written
        .err()
        .map(|error| console.fail(&called(path), format_args!("cannot write the output: {error}")))
}
