//! `tamis restore`: gives back the document that `tamis filter --factor` has written.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::path::PathBuf;

use tamis::factor::{self, restore_with};
use tamis::{Error, ErrorKind, Limits};

use crate::console::print::is_closed_pipe;
use crate::console::remedies::Remedied;
use crate::console::{Console, Exit};
use crate::files::conflicts::{self, Places};
use crate::files::place::Place;
use crate::files::{self, Output};
use crate::flags::groups::Bounds;

pub(crate) const HELP: &str = "\
Examples:
  tamis filter --factor issues.json | tamis restore
  tamis filter --factor --ndjson log.ndjson | tamis restore --ndjson -o log.ndjson

The values are those of the document that was factored; members of objects may have another order. A document that is
not factored is unchanged. The document is read into memory. Neither it nor the restored document may be longer than
`--held` and `--spill` together.

Exit codes: 0 done, 1 the input cannot be restored, 2 the command line is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// The document; `-` is standard input
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// Read one document per line
    #[arg(long, help_heading = "Input")]
    ndjson: bool,

    /// Write to a file, which may be FILE itself
    ///
    /// The output is written to a temporary file, which is renamed when the run succeeds. A run that fails leaves OUT
    /// unchanged.
    #[arg(short, long = "output", value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    bounds: Bounds,
}

/// Runs `tamis restore`.
pub(crate) fn run(args: &RestoreArgs) -> Exit {
    let console = Console::default();
    let input = Place::from(args.file.clone());
    let output = args.output.clone().map_or(Place::Standard, Place::from);
    let all = Places { input: Some(&input), output: Some(&output), ..Places::default() };
    if let Err(usage) = conflicts::check(&all) {
        return console.refuse(&usage);
    }
    match restore(args, &input, &output) {
        Ok(()) => Exit::Done,
        Err((_, error)) if is_closed_pipe(&error) => Exit::Done,
        Err((place, error)) => {
            console.say(&place, Remedied(&error));
            Exit::Failed
        }
    }
}

/// Restores the input into the output. An error has the name of the file or stream that it is about.
fn restore(args: &RestoreArgs, input: &Place, output: &Place) -> Result<(), (String, Error)> {
    let (from, to) = (input.name("standard input"), output.name("standard output"));
    let limits = args.bounds.limits();
    let file = files::open(input).map_err(|error| (from.clone(), Error::read(error)))?;
    let blame = |error| (to.clone(), Error::write(error));
    let mut writer = Output::open(output).map_err(blame)?;
    let result = if args.ndjson {
        restore_lines(file, &limits, &mut writer, &from)
    } else {
        restore_document(file, &limits, &mut writer).map_err(|error| (from.clone(), error))
    };
    result.map_err(|(place, error)| {
        let is_output = error.kind() == ErrorKind::Write;
        (if is_output { to.clone() } else { place }, error)
    })?;
    writer.finish().map_err(blame)
}

fn restore_document(file: File, limits: &Limits, writer: &mut impl Write) -> Result<(), Error> {
    let mut document = Vec::new();
    let most = limits.held().saturating_add(limits.spill());
    // One byte more, so that a longer document is not valid.
    file.take(most.saturating_add(1)).read_to_end(&mut document).map_err(Error::read)?;
    let line_end = !document.ends_with(b"\n");
    restore_to(&document, limits, writer)?;
    if line_end { writer.write_all(b"\n").map_err(Error::write) } else { Ok(()) }
}

fn restore_lines(
    file: File,
    limits: &Limits,
    writer: &mut impl Write,
    from: &str,
) -> Result<(), (String, Error)> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let most = limits.held().saturating_add(limits.spill());
    for number in 1_u64.. {
        line.clear();
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
        if read.map_err(|error| (from.to_owned(), Error::read(error)))? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let place = |error| (format!("{from}: line {number}"), error);
        // A line that cannot be restored emits nothing.
        let mut restored = factor::restore(text, limits).map_err(place)?;
        restored.push(b'\n');
        writer.write_all(&restored).map_err(Error::write).map_err(place)?;
    }
    Ok(())
}

/// Writes the restored document.
fn restore_to(document: &[u8], limits: &Limits, writer: &mut impl Write) -> Result<(), Error> {
    let mut written = Ok(());
    restore_with(document, limits, |bytes| {
        if written.is_ok() {
            written = writer.write_all(bytes);
        }
    })?;
    written.map_err(Error::write)
}
