//! Filters for the lines of text that is not JSON.

use serde::Deserialize;
use tamis::Limits;
use tamis::text::{TextFilter, TextProgram, TextSpec};

use crate::error::BindingError;
use crate::options::read;
use crate::program::text_of;
use crate::stream::BindingStream;

/// Compiled rules for the lines of a text. Cheap to clone, shared by any number of threads.
#[derive(Clone, Debug)]
pub struct BindingText(TextProgram);

/// The options of one call.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TextMembers {
    line: Option<usize>,
    held: Option<u64>,
}

impl BindingText {
    /// Compiles rules, given as a JSON object with the names of [`TextSpec`].
    ///
    /// # Errors
    /// Fails for names that are not known and for patterns that cannot be compiled, with the kind `spec`.
    ///
    /// ```
    /// use tamis_bindings::BindingText;
    ///
    /// let program = BindingText::compile(r#"{"strip_ansi": true, "dedup": true}"#)?;
    /// let (output, _) = program.filter("{}", b"\x1b[1mretry\x1b[0m\nretry\nretry\nretry\n")?;
    /// assert_eq!(output, b"retry (x4)\n");
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn compile(rules: &str) -> Result<Self, BindingError> {
        let spec: TextSpec = read(rules)?;
        TextProgram::compile(&spec).map(Self).map_err(|error| BindingError::from(&error))
    }

    /// Returns the rules as JSON.
    #[must_use]
    pub fn spec(&self) -> String {
        text_of(self.0.spec())
    }

    /// Filters a text, and returns it with the report as JSON. The options are the limits `line` and `held`.
    ///
    /// # Errors
    /// Fails for options that are not known. No text is an error.
    pub fn filter(&self, options: &str, text: &[u8]) -> Result<(Vec<u8>, String), BindingError> {
        let mut stream = self.stream(options)?;
        let mut output = stream.write(text)?;
        output.append(&mut stream.end(None)?);
        Ok((output, stream.report()))
    }

    /// Starts a run that bytes are pushed into.
    ///
    /// # Errors
    /// Fails for options that are not known.
    pub fn stream(&self, options: &str) -> Result<BindingStream, BindingError> {
        let TextMembers { line, held } = read(options)?;
        let mut limits = Limits::new();
        if let Some(bytes) = line {
            limits = limits.with_line(bytes);
        }
        if let Some(bytes) = held {
            limits = limits.with_held(bytes);
        }
        Ok(BindingStream::of_text(TextFilter::with_limits(&self.0, &limits, Vec::new())))
    }
}
