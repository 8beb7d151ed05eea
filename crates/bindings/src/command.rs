//! Filters for the output of commands: the built-in ones, and those of files with rules.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use tamis::Limits;
use tamis_command::{CommandFilter, CommandLine, CommandRules, OutputCap, OutputFilterRegistry};
use tamis_manifest::ManifestError;

use crate::error::{BindingError, ManifestProblem};
use crate::options::read;
use crate::stream::BindingStream;

/// The filtered output of a command.
#[derive(Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The filtered output.
    pub output: Vec<u8>,
    /// The report, as a JSON object. Its `filter` is the name of the filter, if there was one.
    pub report: String,
}

/// Filters for the output of commands. Cheap to clone, shared by any number of threads.
#[derive(Clone, Debug)]
pub struct BindingCommands(Arc<Commands>);

#[derive(Debug)]
struct Commands {
    registry: OutputFilterRegistry,
    rules: CommandRules,
}

/// The options of one call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OutputMembers {
    max_lines: u64,
    max_tokens: u64,
    /// Where the full output can be read, for the notice.
    full_output: Option<String>,
    notice: bool,
    held: Option<u64>,
}

impl Default for OutputMembers {
    fn default() -> Self {
        Self { max_lines: 0, max_tokens: 0, full_output: None, notice: true, held: None }
    }
}

impl BindingCommands {
    /// Returns the built-in filters.
    #[must_use]
    pub fn builtin() -> Self {
        static BUILTIN: LazyLock<BindingCommands> = LazyLock::new(|| {
            BindingCommands(Arc::new(Commands {
                registry: OutputFilterRegistry::builtin(),
                rules: CommandRules::builtin(),
            }))
        });
        BUILTIN.clone()
    }

    /// Reads rules from TOML. They precede the built-in ones.
    ///
    /// # Errors
    /// Fails with the kind `manifest` and all problems.
    ///
    /// ```
    /// use tamis_bindings::BindingCommands;
    ///
    /// let rules = "[[rules]]\nname = \"deploy\"\nmatch = { prefix = \"deploy\" }\nstrip = [\"^copying \"]\n";
    /// let commands = BindingCommands::parse("rules.toml", rules)?;
    /// let filtered = commands.filter("deploy web", b"copying a\nis up\n", Some(0), r#"{"notice": false}"#)?;
    /// assert_eq!(filtered.output, b"is up\n");
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, BindingError> {
        Ok(Self::of_rules(CommandRules::parse(name, text)?))
    }

    /// Reads rules from a TOML file.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and with the kind `read` if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, BindingError> {
        let name = path.as_ref().display().to_string();
        let bytes = std::fs::read(path).map_err(|error| ManifestError::read(&name, &error))?;
        Ok(Self::of_rules(CommandRules::parse_bytes(&name, &bytes)?))
    }

    fn of_rules(rules: CommandRules) -> Self {
        let registry = OutputFilterRegistry::new()
            .register_rules(rules.clone())
            .register_rules(CommandRules::builtin());
        Self(Arc::new(Commands { registry, rules }))
    }

    /// Returns the names of the rules in the file; of the built-in filters if there is no file.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.0.rules.names().collect()
    }

    /// Returns warnings about keys that have no effect.
    #[must_use]
    pub fn warnings(&self) -> Vec<ManifestProblem> {
        self.0.rules.warnings().iter().map(ManifestProblem::from).collect()
    }

    /// Runs the examples of the rules, and returns a problem for each that does not have the declared output.
    #[must_use]
    pub fn run_examples(&self) -> Vec<ManifestProblem> {
        self.0.rules.run_examples().iter().map(ManifestProblem::from).collect()
    }

    /// Returns the name of the filter for a command.
    #[must_use]
    pub fn filter_for(&self, command: &str) -> Option<String> {
        self.0.registry.filter_for(&CommandLine::parse(command))
    }

    /// Filters the output of a command. Output of a command without a filter is passed through. The options are `max_lines`,
    /// `max_tokens`, `full_output`, `notice` and `held`.
    ///
    /// # Errors
    /// Fails for options that are not known, and if a limit is reached.
    ///
    /// ```
    /// use tamis_bindings::BindingCommands;
    ///
    /// let raw = "   Compiling ryu v1.0.18\n   Compiling app v0.1.0 (/app)\nerror[E0425]: cannot find value `x`\n";
    /// let filtered = BindingCommands::builtin().filter("cargo build", raw.as_bytes(), Some(101), "{}")?;
    /// assert!(filtered.report.contains(r#""filter":"cargo-build""#));
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn filter(
        &self,
        command: &str,
        output: &[u8],
        exit_code: Option<i32>,
        options: &str,
    ) -> Result<CommandOutput, BindingError> {
        let mut stream = self.stream(command, options)?;
        let mut filtered = stream.write(output)?;
        filtered.append(&mut stream.end(exit_code)?);
        Ok(CommandOutput { output: filtered, report: stream.report() })
    }

    /// Starts a run that the output is pushed into while the command runs.
    ///
    /// # Errors
    /// Fails for options that are not known.
    pub fn stream(&self, command: &str, options: &str) -> Result<BindingStream, BindingError> {
        let options: OutputMembers = read(options)?;
        let limits = options.held.map_or_else(Limits::new, |held| Limits::new().with_held(held));
        let cap =
            OutputCap::new().with_max_lines(options.max_lines).with_max_tokens(options.max_tokens);
        let line = CommandLine::parse(command);
        let started = self.0.registry.start(&line, &limits, Vec::new());
        let mut filter: CommandFilter<Vec<u8>> = started.with_cap(cap).with_notice(options.notice);
        if let Some(place) = options.full_output {
            filter.set_full_output(place);
        }
        Ok(BindingStream::of_command(filter))
    }
}
