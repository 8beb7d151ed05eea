//! What asynchronous adapters run over the bytes that they move: a filter of any kind, behind one interface.
//!
//! Knows the kinds of filters, and how long a step of each may take; nothing of streams, bodies or tasks. [`runs`] has what each
//! kind does when a driver calls.

mod runs;

use std::fmt;

use bytes::Bytes;

#[cfg(feature = "decode")]
use super::decode::{Coding, Decoder, Decoding};
use super::gather::Gather;
use super::records::{Events, Lines};
#[cfg(feature = "command")]
use crate::command::{CommandLine, CommandReport, OutputFilterRegistry};
use crate::error::Error;
use crate::filter::{CallOptions, Filter, Program};
use crate::history::{PruneProgram, PruneReport, PruneRun};
#[cfg(feature = "text")]
use crate::limits::Limits;
use crate::report::Report;
use crate::spec::{Budget, ContentFormat, Spec};
#[cfg(feature = "text")]
use crate::text::{TextFilter, TextProgram, TextReport};
#[cfg(feature = "command")]
use runs::Command;
#[cfg(feature = "text")]
use runs::Ending;

/// What was pushed through an adapter, in numbers: the report of the filter that ran.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// Of [`Transform::json`], [`Transform::ndjson`] and [`Transform::events`].
    Filter(Box<Report>),
    /// Of [`Transform::prune`].
    Prune(Box<PruneReport>),
    /// Of [`Transform::text`].
    #[cfg(feature = "text")]
    Text(TextReport),
    /// Of [`Transform::command`].
    #[cfg(feature = "command")]
    Command(CommandReport),
}

impl Outcome {
    /// The report of a filter of JSON, lines or events.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Filter(report) => Some(report),
            _ => None,
        }
    }
}

#[cfg(feature = "text")]
impl From<TextReport> for Outcome {
    fn from(report: TextReport) -> Self {
        Self::Text(report)
    }
}

#[cfg(feature = "command")]
impl From<CommandReport> for Outcome {
    fn from(report: CommandReport) -> Self {
        Self::Command(report)
    }
}

/// One run of a filter, for the adapters [`transform_async`](crate::transform_async), [`FilterStream`](crate::FilterStream) and
/// `FilterBody`.
///
/// ```
/// use tamis::{Program, Spec, Transform, transform_async};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tamis::Error> {
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let lines = &b"{\"id\": 1, \"x\": 2}\n{\"id\": 3}\n"[..];
/// let mut output = Vec::new();
/// let (outcome, result) = transform_async(Transform::ndjson(&program), lines, &mut output).await;
/// result?;
/// assert_eq!(output, b"{\"id\":1}\n{\"id\":3}\n");
/// assert_eq!(outcome.report().map(|report| report.filter_original_bytes), Some(26));
/// # Ok(())
/// # }
/// ```
pub struct Transform {
    pub(super) run: Box<dyn Run>,
    pub(super) pace: Pace,
    /// What the output is, where it is not of the input's media type.
    media_type: Option<&'static str>,
    /// Records come as the sender has them.
    endless: bool,
    /// Input without a byte is an error, or makes nothing.
    #[cfg_attr(not(feature = "tower"), expect(dead_code, reason = "a layer asks"))]
    needs_input: bool,
    /// It is none: there is nothing to filter, and no byte came yet.
    may_be_empty: bool,
    #[cfg(feature = "decode")]
    decoder: Option<Decoder>,
    on_end: Option<OnEnd>,
}

type OnEnd = Box<dyn FnOnce(&Outcome, Result<(), &Error>) + Send>;

/// How long a step takes, and so where it may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// A gigabyte a second.
    Scan,
    /// A tenth of that: patterns.
    Match,
    /// Whatever it takes: pages, templates, tokens, what is encoded, a user's code. Never where others wait.
    Work,
}

impl Pace {
    /// Bytes of a step: some tens of microseconds, at most some hundreds.
    pub(super) fn step(self) -> usize {
        match self {
            Self::Scan | Self::Work => 64 << 10,
            Self::Match => 16 << 10,
        }
    }

    fn of(program: &Program, options: &CallOptions) -> Self {
        let spec = program.spec();
        let counts = |budget| matches!(budget, Some(Budget::Tokens(_)));
        let works =
            |spec: &Spec| spec.content.is_some() || spec.compact.is_some() || counts(spec.budget);
        let matches = |spec: &Spec| spec.text_filter.is_some();
        let branches = || spec.when.iter().flatten();
        if works(spec) || branches().any(works) || counts(options.call_budget()) {
            Self::Work
        } else if matches(spec) || branches().any(matches) {
            Self::Match
        } else {
            Self::Scan
        }
    }
}

impl Transform {
    /// A filter over one JSON document, or whatever the program takes ([`Content`](crate::Content): pages, texts).
    #[must_use]
    pub fn json(program: &Program) -> Self {
        Self::json_with(program, &CallOptions::new())
    }

    /// [`json`](Self::json) for one call.
    #[must_use]
    pub fn json_with(program: &Program, options: &CallOptions) -> Self {
        let filter = Filter::with_options(program, options, Gather::default());
        let content =
            program.spec().content.as_ref().filter(|_| options.skips(program.compiled()).is_none());
        let media_type = content.map(|content| match content.format {
            ContentFormat::Text => "text/plain; charset=utf-8",
            ContentFormat::Markdown => "text/markdown; charset=utf-8",
        });
        Self { media_type, ..Self::of(filter, Pace::of(program, options)) }
    }

    /// A filter over a document a line, as [`filter_ndjson`](crate::filter_ndjson): a bad line emits nothing, the run goes on,
    /// and ends in the error of the first bad line.
    #[must_use]
    pub fn ndjson(program: &Program) -> Self {
        Self::ndjson_with(program, &CallOptions::new())
    }

    /// [`ndjson`](Self::ndjson) for one call.
    #[must_use]
    pub fn ndjson_with(program: &Program, options: &CallOptions) -> Self {
        let lines = Lines::new(program, options, Gather::default(), |_, _| {});
        // Lines refuse a program that makes text: a head can still tell of that.
        Self { endless: !program.is_text(), ..Self::of(lines, Pace::of(program, options)) }
    }

    /// A filter over an event stream (`text/event-stream`) with a document in the `data` of each event, as
    /// [`filter_events`](crate::filter_events): a bad event emits nothing, the run goes on, and ends in the error of the first
    /// bad event.
    #[must_use]
    pub fn events(program: &Program) -> Self {
        Self::events_with(program, &CallOptions::new())
    }

    /// [`events`](Self::events) for one call.
    #[must_use]
    pub fn events_with(program: &Program, options: &CallOptions) -> Self {
        let events = Events::new(program, options, Gather::default(), |_, _| {});
        Self { endless: true, ..Self::of(events, Pace::of(program, options)) }
    }

    /// The filter for an answer of this media type (a `Content-Type`): [`json`](Self::json) for `application/json`, `text/json` and
    /// what ends in `+json`, [`ndjson`](Self::ndjson) for `application/x-ndjson`, `application/ndjson`, `application/jsonl` and
    /// `application/x-jsonlines`, [`events`](Self::events) for `text/event-stream`. Parameters do not count.
    ///
    /// `None` for any other: whoever must not let such an answer pass has to refuse it.
    ///
    /// ```
    /// use tamis::{CallOptions, Program, Spec, Transform};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let filtered = |media_type| Transform::for_media_type(media_type, &program, &CallOptions::new()).is_some();
    /// assert!(filtered("application/json; charset=utf-8"));
    /// assert!(filtered("Application/Problem+JSON"));
    /// assert!(filtered("text/event-stream"));
    /// assert!(!filtered("text/html"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn for_media_type(
        media_type: &str,
        program: &Program,
        options: &CallOptions,
    ) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" | "text/json" => Some(Self::json_with(program, options)),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines" => Some(Self::ndjson_with(program, options)),
            "text/event-stream" => Some(Self::events_with(program, options)),
            other if other.ends_with("+json") => Some(Self::json_with(program, options)),
            _ => None,
        }
    }

    /// Prunes a chat history: the body of a request to a model.
    #[must_use]
    pub fn prune(program: &PruneProgram) -> Self {
        Self::of(PruneRun::new(program, Gather::default()), Pace::Scan)
    }

    /// A filter over a text.
    #[cfg(feature = "text")]
    #[must_use]
    pub fn text(program: &TextProgram, limits: &Limits) -> Self {
        let run = TextFilter::with_limits(program, limits, Gather::default());
        Self { needs_input: false, ..Self::of(Ending::new(run), Pace::Match) }
    }

    /// A filter over the output of a command that has ended, or whose end is not known. An
    /// [`OutputFilter`](crate::OutputFilter) of the user's runs on the pool for blocking work.
    #[cfg(feature = "command")]
    #[must_use]
    pub fn command(
        registry: &OutputFilterRegistry,
        command: &CommandLine,
        exit_code: Option<i32>,
        limits: &Limits,
    ) -> Self {
        let run = registry.start(command, limits, Gather::default());
        let pace = if run.is_custom() { Pace::Work } else { Pace::Match };
        Self { needs_input: false, ..Self::of(Ending::new(Command { run, exit_code }), pace) }
    }

    /// The input is encoded so, and decoded first. Steps run on the pool for blocking work: how long one takes is the
    /// sender's to say.
    ///
    /// ```
    /// use std::io::Write;
    /// use tamis::{Coding, Decoding, Program, Spec, Transform, transform_async};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    /// encoder.write_all(br#"{"id": 1, "x": 2}"#)?;
    /// let answer = encoder.finish()?;
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let transform = Transform::json(&program).decoded(Coding::Gzip, &Decoding::new());
    /// let mut output = Vec::new();
    /// transform_async(transform, &answer[..], &mut output).await.1?;
    /// assert_eq!(output, br#"{"id":1}"#);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "decode")]
    #[must_use]
    pub fn decoded(mut self, coding: Coding, decoding: &Decoding) -> Self {
        self.decoder = Some(Decoder::new(coding, decoding));
        self.pace = Pace::Work;
        self
    }

    /// The media type of the output, where it is another than the input's: that of a [`Content`](crate::Content).
    #[must_use]
    pub fn media_type(&self) -> Option<&'static str> {
        self.media_type
    }

    /// Whether the input is a stream of documents, lines or events, which come as the sender has them. Whoever sends a head in
    /// front of the output does so at once; it waits for the first byte of any other, so that it can tell of an error.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.endless
    }

    /// `told` is called once when the run has ended or failed, with its report; where the last step ran, which may be a thread for
    /// blocking work. A run that is dropped before that, because its receiver has gone, or lost with its runtime, says nothing; nor does
    /// one that a layer does not begin, because it refuses the answer by its head, or there can be no body (HEAD, 204, 304).
    #[must_use]
    pub fn on_end(
        mut self,
        told: impl FnOnce(&Outcome, Result<(), &Error>) + Send + 'static,
    ) -> Self {
        self.on_end = Some(Box::new(told));
        self
    }

    fn of(run: impl Run + 'static, pace: Pace) -> Self {
        Self {
            run: Box::new(run),
            pace,
            media_type: None,
            endless: false,
            needs_input: true,
            may_be_empty: false,
            #[cfg(feature = "decode")]
            decoder: None,
            on_end: None,
        }
    }

    /// Whether input without a byte is an error, or makes nothing. Not so of texts and of outputs of commands, of which a filter
    /// may say that there was nothing.
    #[cfg(feature = "tower")]
    pub(super) fn needs_input(&self) -> bool {
        self.needs_input
    }

    /// Input without a byte is none, if it is needed: the body of an answer that has no body, which its head need not tell.
    #[cfg(feature = "tower")]
    pub(super) fn unless_empty(mut self) -> Self {
        self.may_be_empty = self.needs_input;
        self
    }

    /// The next piece of `input` that the filter reads in one step. `None`: it needs more, or there is no more.
    pub(super) fn piece(
        &mut self,
        input: &mut Bytes,
        complete: bool,
    ) -> Result<Option<Bytes>, Error> {
        let piece = self.any_piece(input, complete)?;
        self.may_be_empty &= piece.as_ref().is_none_or(Bytes::is_empty);
        Ok(piece)
    }

    fn any_piece(&mut self, input: &mut Bytes, complete: bool) -> Result<Option<Bytes>, Error> {
        #[cfg(feature = "decode")]
        if let Some(decoder) = &mut self.decoder {
            return match decoder.next(input)? {
                None if complete => decoder.finish(),
                piece => Ok(piece),
            };
        }
        _ = complete;
        let piece = input.split_to(input.len().min(self.pace.step()));
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// The input is complete, and read.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if self.may_be_empty { Ok(()) } else { self.run.end() }
    }

    /// Whether it is certain that there is no piece without more input.
    pub(super) fn is_hungry(&self, input: &Bytes) -> bool {
        #[cfg(feature = "decode")]
        if self.decoder.is_some() {
            return false;
        }
        input.is_empty()
    }

    /// Tells whoever wants to know how it ended.
    pub(super) fn tell(&mut self, result: Result<(), &Error>) {
        if let Some(told) = self.on_end.take() {
            told(&self.run.outcome(), result);
        }
    }
}

impl From<&Program> for Transform {
    /// [`Transform::json`].
    fn from(program: &Program) -> Self {
        Self::json(program)
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform").field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// A filter as a driver sees it.
pub(super) trait Run: Send {
    /// Takes the next bytes.
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error>;
    /// All was written. Called once.
    fn end(&mut self) -> Result<(), Error>;
    /// An error of the driver's ends the run.
    fn fail(&mut self, error: &Error);
    /// Whether more input is pointless.
    fn is_done(&self) -> bool {
        false
    }
    /// The most bytes that waited so far.
    fn held_peak(&self) -> u64;
    fn outcome(&self) -> Outcome;
    /// Where the output is.
    fn gather(&self) -> &Gather;
    fn gather_mut(&mut self) -> &mut Gather;
}
