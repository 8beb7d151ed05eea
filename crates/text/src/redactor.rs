//! Replaces credentials in text, before any rule on lines.

use std::collections::BTreeMap;

use tamis_json::error::{Error, ErrorKind, RulePlace};
use tamis_json::limits::Limits;
use tamis_json::regex_budget::RegexBudget;
use tamis_json::sink::Sink;

use super::lines::pipeline::TextPipeline;
use super::lines::redact_pattern;
use super::{TextProgram, TextReport};
use crate::Redact;
use crate::secrets::{
    MarkTable, Pattern, SecretRules, SecretSearch, TextForm, kind_names, personal_patterns,
};

/// Replaces credentials in a text by `[redacted:KIND]`, as [`Redact::secrets`](crate::Redact::secrets) does in JSON.
///
/// Use it for the output of commands, logs and other text, before a [`TextFilter`](super::TextFilter): a rule that strips,
/// folds or cuts lines could otherwise leave a part of a credential. Escape sequences, carriage returns and backspaces are
/// applied first, as a terminal applies them, because they could hide one.
///
/// Memory: the open line up to [`Limits::line`](tamis_json::limits::Limits::line), and up to 200 KiB. Output, except for what
/// [`release`](Self::release) writes, does not depend on chunks.
///
/// ```
/// use tamis::text::TextRedactor;
///
/// let mut output = Vec::new();
/// let mut redactor = TextRedactor::new();
/// redactor.write(b"cloning https://mira:ti\x1b[1mde@exam", &mut output);
/// redactor.write(b"ple.org/x\n", &mut output);
/// let found = redactor.end(&mut output);
/// assert_eq!(output, b"cloning https://mira:[redacted:url-password]@example.org/x\n");
/// assert_eq!(found["url-password"], 1);
/// ```
pub struct TextRedactor {
    /// `None` for JSON, which a terminal does not show.
    clean: Option<TextPipeline>,
    secrets: SecretSearch,
    /// The text before credentials were replaced.
    read: TextReport,
}

impl TextRedactor {
    /// Creates a redactor with default [`Limits`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(&Limits::new())
    }

    /// Creates a redactor with the given limits. It uses [`line`](Limits::with_line).
    #[must_use]
    pub fn with_limits(limits: &Limits) -> Self {
        Self::with_rules(&SecretRules::built_in(), limits)
    }

    /// Creates a redactor that looks for what a rule looks for: credentials if it has
    /// [`secrets`](crate::Redact::secrets), and its patterns. Paths mean nothing in text.
    ///
    /// ```
    /// use tamis::Limits;
    /// use tamis::spec::Redact;
    /// use tamis::text::TextRedactor;
    ///
    /// let redact = Redact::new().pattern("employee", "E-[0-9]{6}");
    /// let mut redactor = TextRedactor::of(&redact, &Limits::new())?;
    /// let mut output = Vec::new();
    /// redactor.write(b"badge E-104729\n", &mut output);
    /// redactor.end(&mut output);
    /// assert_eq!(output, b"badge [redacted:employee]\n");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Spec`](tamis_json::error::ErrorKind::Spec): a pattern is invalid.
    pub fn of(redact: &Redact, limits: &Limits) -> Result<Self, Error> {
        Ok(Self::with_program(&RedactProgram::compile(redact)?, limits))
    }

    /// Creates a redactor with compiled rules.
    #[must_use]
    pub fn with_program(program: &RedactProgram, limits: &Limits) -> Self {
        Self::with_rules(&program.0, limits)
    }

    /// Creates a redactor for what compiled rules look for.
    pub fn with_rules(rules: &SecretRules, limits: &Limits) -> Self {
        Self {
            clean: Some(TextPipeline::new(&TextProgram::rendering(), limits)),
            secrets: rules.filter(TextForm::Plain),
            read: TextReport::default(),
        }
    }

    /// Creates a redactor for a valid JSON text, which finds credentials in its strings and keys however they are escaped. A
    /// key with a credential is replaced as a whole.
    ///
    /// ```
    /// use tamis::text::TextRedactor;
    ///
    /// let mut output = Vec::new();
    /// let mut redactor = TextRedactor::for_json();
    /// redactor.write(br#"["https:\/\/mira:t\u0069de@example.org"]"#, &mut output);
    /// redactor.end(&mut output);
    /// assert_eq!(output, br#"["https:\/\/mira:[redacted:url-password]@example.org"]"#);
    /// ```
    #[must_use]
    pub fn for_json() -> Self {
        Self::json_with_rules(&SecretRules::built_in())
    }

    /// Creates a redactor for a valid JSON text that looks for what a rule looks for, as [`of`](Self::of) does for other
    /// text.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`](tamis_json::error::ErrorKind::Spec): a pattern is invalid.
    pub fn json_of(redact: &Redact) -> Result<Self, Error> {
        Ok(Self::json_with_rules(&secret_rules(redact, &mut RegexBudget::new())?))
    }

    fn json_with_rules(rules: &SecretRules) -> Self {
        Self { clean: None, secrets: rules.filter(TextForm::Json), read: TextReport::default() }
    }

    /// Sets the table from which marks of personal data get the numbers of their values, before the first byte.
    #[must_use]
    pub fn with_marks(mut self, marks: Option<&MarkTable>) -> Self {
        self.secrets.set_marks(marks);
        self
    }

    /// Reads the next bytes of the text.
    pub fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        let Self { clean, secrets, .. } = self;
        match clean {
            Some(clean) => clean.write(chunk, &mut SecretSink { secrets, sink }),
            None => secrets.write(chunk, sink),
        }
    }

    /// Writes everything that is held, except for a credential that may have begun. Call it if somebody waits for the output
    /// and no input has arrived for a second or so.
    pub fn release(&mut self, sink: &mut dyn Sink) {
        let Self { clean, secrets, .. } = self;
        if let Some(clean) = clean {
            clean.release(&mut SecretSink { secrets, sink });
            secrets.release(sink);
        }
    }

    /// Ends the text: writes what is held, and returns how many credentials of each kind were replaced. A redactor reads one
    /// text.
    pub fn end(&mut self, sink: &mut dyn Sink) -> BTreeMap<String, u64> {
        let Self { clean, secrets, read } = self;
        if let Some(clean) = clean {
            let mut to = SecretSink { secrets, sink };
            clean.end(&mut to);
            *read = clean.settle(&mut to);
        }
        self.secrets.end(sink);
        self.secrets.found()
    }

    /// Returns the counts of the text before credentials were replaced, after [`end`](Self::end). They are zero for a
    /// redactor of JSON.
    #[must_use]
    pub fn text_report(&self) -> &TextReport {
        &self.read
    }
}

/// The rule `redact`, compiled for texts. Immutable, cheap to clone, shared by any number of threads.
///
/// ```
/// use tamis::Limits;
/// use tamis::spec::Redact;
/// use tamis::text::{RedactProgram, TextRedactor};
///
/// let program = RedactProgram::compile(&Redact::new().pattern("employee", "E-[0-9]{6}"))?;
/// for _ in 0..2 {
///     let mut output = Vec::new();
///     let mut redactor = TextRedactor::with_program(&program, &Limits::new());
///     redactor.write(b"badge E-104729\n", &mut output);
///     redactor.end(&mut output);
///     assert_eq!(output, b"badge [redacted:employee]\n");
/// }
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedactProgram(SecretRules);

impl RedactProgram {
    /// Compiles the patterns of a rule. Its paths mean nothing in text.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`](tamis_json::error::ErrorKind::Spec): a pattern is invalid.
    pub fn compile(redact: &Redact) -> Result<Self, Error> {
        secret_rules(redact, &mut RegexBudget::new()).map(Self)
    }
}

impl Default for TextRedactor {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for TextRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextRedactor").finish_non_exhaustive()
    }
}

/// The search for credentials as the sink of the text.
struct SecretSink<'a> {
    secrets: &'a mut SecretSearch,
    sink: &'a mut dyn Sink,
}

impl Sink for SecretSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.secrets.write(bytes, self.sink);
    }
}

/// The most characters of the name of a pattern.
const LONGEST_NAME: usize = 32;

/// Compiles what a rule looks for.
pub fn secret_rules(redact: &Redact, allowance: &mut RegexBudget) -> Result<SecretRules, Error> {
    let mut patterns = Vec::new();
    for (entry, (name, text)) in redact.patterns.iter().enumerate() {
        check_name(name).map_err(|problem| {
            let message = format!("patterns: {problem}");
            let place = RulePlace {
                rule: "patterns",
                entry,
                is_key: true,
                at: 0,
                message: message.clone(),
            };
            Error::new(ErrorKind::Spec, message).in_rule(place)
        })?;
        let regex = redact_pattern(entry, text, allowance)?;
        patterns.push(Pattern {
            name: name.clone(),
            expression: Box::new(regex),
            is_numbered: false,
        });
    }
    if redact.personal {
        patterns.extend(personal_patterns());
    }
    let patterns = (!patterns.is_empty()).then(|| patterns.into());
    Ok(SecretRules { built_in: redact.secrets, patterns, marks: None })
}

/// Returns the problem of the name of a pattern, if it has one.
fn check_name(name: &str) -> Result<(), String> {
    let is_good = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_good) {
        return Err(format!(
            "the name {name:?} must have 1 to {LONGEST_NAME} small letters, digits and hyphens"
        ));
    }
    if name == "path" || kind_names().contains(&name) {
        return Err(format!("the name {name} is that of a built-in kind"));
    }
    Ok(())
}
