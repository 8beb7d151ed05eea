//! [`Transform`]: the common interface to filters of all kinds, for the asynchronous adapters.
//!
//! This module defines the kinds of filters and how long a step of each may take. It does not depend on streams, bodies
//! or tasks.

mod outcome;
#[cfg(feature = "text")]
mod text;

use std::fmt;

use bytes::Bytes;

use tamis_json::error::Error;
use tamis_json::limits::SpillGate;

use super::decode::Decoder;
use super::gather::GatherSink;
pub use outcome::{OtherReport, Outcome};
#[cfg(feature = "text")]
pub use text::RedactedTextReport;

use crate::filter::{Call, CallOptions, Filter, Program};

use crate::io::push::PushFilter;
use crate::io::records::{Events, Lines, RecordForm, Records};
use crate::spec::{Budget, ContentFormat, Encode, Spec};

/// A filter for one input, of any kind, for the asynchronous adapters [`transform_async`](crate::http::transform_async),
/// [`FilterStream`](crate::http::FilterStream) and `FilterBody`.
///
/// They accept a `&Program` or a [`Call`] as well, which stand for [`Transform::json`].
///
/// ```
/// use tamis::http::{Transform, transform_async};
/// use tamis::{Program, Spec};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tamis::Error> {
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let lines = &b"{\"id\": 1, \"x\": 2}\n{\"id\": 3}\n"[..];
/// let mut output = Vec::new();
/// let outcome = transform_async(Transform::ndjson(&program), lines, &mut output).await?;
/// assert_eq!(output, b"{\"id\":1}\n{\"id\":3}\n");
/// assert_eq!(outcome.report().map(|report| report.original_bytes), Some(26));
/// # Ok(())
/// # }
/// ```
pub struct Transform {
    pub(super) filter: Box<dyn BodyFilter>,
    pub(super) pace: Pace,
    /// The gate of all bytes that the filter holds. [`Steps`](super::steps::Steps) opens and closes it.
    pub(super) spill_gate: SpillGate,
    /// The media type of the output, if it differs from the input's.
    media_type: Option<&'static str>,
    /// The input is a stream of records, which arrive whenever the sender has one.
    endless: bool,
    /// Whether the filter reports an error for empty input, or produces no output.
    pub(super) needs_input: bool,
    /// Empty input is acceptable, and no byte has been read yet.
    pub(super) may_be_empty: bool,
    pub(super) decoder: Option<Decoder>,
    pub(super) on_end: Option<OnEnd>,
}

pub(super) type OnEnd = Box<dyn FnOnce(&Outcome, Result<(), &Error>) + Send>;

/// The speed of a filter, which decides the size of its steps and the thread that they run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Pace {
    /// About a gigabyte a second.
    Scan,
    /// About a tenth of that: patterns.
    Match,
    /// Unknown: pages, templates, counted tokens, compressed input, a user's code. Runs on a thread for blocking work.
    Work,
}

impl Pace {
    /// Returns the size of a step in bytes, which takes some tens, at most some hundreds of microseconds.
    pub(super) fn step(self) -> usize {
        match self {
            Self::Scan | Self::Work => 64 << 10,
            Self::Match => 16 << 10,
        }
    }

    fn of(call: &Call<'_>) -> Self {
        let spec = call.program().spec();
        let counts = |budget| matches!(budget, Some(Budget::Tokens(_)));
        let works = |spec: &Spec| {
            let encodes = spec.encode != Encode::Json;
            encodes || spec.content.is_some() || spec.compact.is_some() || counts(spec.budget)
        };
        let matches = |spec: &Spec| spec.text_filter.is_some();
        let branches = || spec.when.iter().flatten();
        if works(spec) || branches().any(works) || counts(call.options().budget()) {
            Self::Work
        } else if matches(spec) || branches().any(matches) {
            Self::Match
        } else {
            Self::Scan
        }
    }
}

impl Transform {
    /// Creates a filter over one JSON document, or over a page or a text if the program has a [`Content`](crate::content::Content).
    #[must_use]
    pub fn json<'a>(call: impl Into<Call<'a>>) -> Self {
        let call = call.into();
        let (program, options) = (call.program(), call.options());
        let skipped = options.skips(program.compiled()).is_some();
        let content = program.spec().content.as_ref().filter(|_| !skipped);
        let media_type = content.map(|content| match content.format {
            ContentFormat::Text => "text/plain; charset=utf-8",
            ContentFormat::Markdown => "text/markdown; charset=utf-8",
        });
        let pace = Pace::of(&call);
        let (options, gate) = gated(&call);
        let filter = Filter::new(program.with_options(&options), GatherSink::default());
        Self { media_type, ..Self::of(filter, pace, gate) }
    }

    /// Creates a filter over newline-delimited JSON, as [`filter_ndjson`](crate::filter_ndjson).
    ///
    /// A bad line emits nothing and does not end the run. When all lines were read, the run fails with the error of the
    /// first bad line.
    #[must_use]
    pub fn ndjson<'a>(call: impl Into<Call<'a>>) -> Self {
        let call = call.into();
        let (options, gate) = gated(&call);
        let gated = call.program().with_options(&options);
        let lines = Lines::new(&gated, GatherSink::default(), |_, _| {});
        // A program whose output is text is refused. That is an error which the response head can still report.
        let endless = !call.program().is_text();
        Self { endless, ..Self::of(lines, Pace::of(&call), gate) }
    }

    /// Creates a filter over an event stream (`text/event-stream`) with a document in the `data` of each event, as
    /// [`filter_events`](crate::filter_events).
    ///
    /// A bad event emits nothing and does not end the run. When all events were read, the run fails with the error of
    /// the first bad event.
    #[must_use]
    pub fn events<'a>(call: impl Into<Call<'a>>) -> Self {
        let call = call.into();
        let (options, gate) = gated(&call);
        let gated = call.program().with_options(&options);
        let events = Events::new(&gated, GatherSink::default(), |_, _| {});
        Self { endless: true, ..Self::of(events, Pace::of(&call), gate) }
    }

    /// Chooses the filter for a response by its media type (`Content-Type`), without its parameters.
    ///
    /// | media type | filter |
    /// |---|---|
    /// | `application/json`, `text/json`, any that ends in `+json` | [`json`](Self::json) |
    /// | `application/x-ndjson`, `application/ndjson`, `application/jsonl`, `application/x-jsonlines` | [`ndjson`](Self::ndjson) |
    /// | `text/event-stream` | [`events`](Self::events) |
    /// | any other | `None` |
    ///
    /// ### Caveat
    /// A caller who must not forward unfiltered responses has to reject a response for which this returns `None`.
    ///
    /// ```
    /// use tamis::http::Transform;
    /// use tamis::{Program, Spec};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let filtered = |media_type| Transform::for_media_type(media_type, &program).is_some();
    /// assert!(filtered("application/json; charset=utf-8"));
    /// assert!(filtered("Application/Problem+JSON"));
    /// assert!(filtered("text/event-stream"));
    /// assert!(!filtered("text/html"));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn for_media_type<'a>(media_type: &str, call: impl Into<Call<'a>>) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" | "text/json" => Some(Self::json(call)),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines" => Some(Self::ndjson(call)),
            "text/event-stream" => Some(Self::events(call)),
            other if other.ends_with("+json") => Some(Self::json(call)),
            _ => None,
        }
    }

    /// An input without a byte is filtered, too.
    #[doc(hidden)]
    #[must_use]
    pub fn without_input(self) -> Self {
        Self { needs_input: false, ..self }
    }

    /// Returns the media type of the output if it differs from the input's, as for a [`Content`](crate::content::Content).
    #[must_use]
    pub fn media_type(&self) -> Option<&'static str> {
        self.media_type
    }

    /// Returns whether the input is a stream of lines or events, which arrive whenever the sender has one.
    ///
    /// Send the headers of such a response at once. For any other input, send them with the first byte of output: until
    /// then, an error can still change the status.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.endless
    }

    /// Calls `on_end` once with the report when the run has ended or failed, on the thread of the last step. That may
    /// be one for blocking work.
    ///
    /// A run that is dropped before its end, because the client has left, ends with an error of the kind
    /// [`Write`](crate::ErrorKind::Write). A layer also calls it if it rejects the response by its head, and if there can
    /// be no body (HEAD, 204, 304). It is not called if the filter is dropped before an adapter has taken it.
    #[must_use]
    pub fn with_on_end(
        mut self,
        on_end: impl FnOnce(&Outcome, Result<(), &Error>) + Send + 'static,
    ) -> Self {
        self.on_end = Some(Box::new(on_end));
        self
    }

    /// Creates the transform of a filter. `spill_gate` is that of its limits.
    #[doc(hidden)]
    pub fn of(filter: impl BodyFilter + 'static, pace: Pace, spill_gate: SpillGate) -> Self {
        Self {
            filter: Box::new(filter),
            pace,
            spill_gate,
            media_type: None,
            endless: false,
            needs_input: true,
            may_be_empty: false,
            decoder: None,
            on_end: None,
        }
    }

    /// Takes the next piece of `input`, which the filter reads in one step. Returns `None` if more input is needed, or
    /// none is left.
    pub(super) fn piece(
        &mut self,
        input: &mut Bytes,
        complete: bool,
    ) -> Result<Option<Bytes>, Error> {
        let piece = self.decoded_piece(input, complete)?;
        self.may_be_empty &= piece.as_ref().is_none_or(Bytes::is_empty);
        Ok(piece)
    }

    fn decoded_piece(&mut self, input: &mut Bytes, complete: bool) -> Result<Option<Bytes>, Error> {
        if let Some(decoder) = &mut self.decoder {
            return match decoder.next(input)? {
                None if complete => decoder.finish(),
                piece => Ok(piece),
            };
        }
        let piece = input.split_to(input.len().min(self.pace.step()));
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// Ends the filter after all input was read.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if self.may_be_empty && self.needs_input { Ok(()) } else { self.filter.end() }
    }

    /// Returns whether there is certainly no further piece in `input`.
    pub(super) fn is_hungry(&self, input: &Bytes) -> bool {
        if self.decoder.is_some() {
            return false;
        }
        input.is_empty()
    }

    /// Calls the callback of [`with_on_end`](Self::with_on_end).
    pub(super) fn report_end(&mut self, result: Result<(), &Error>) {
        if let Some(on_end) = self.on_end.take() {
            on_end(&self.filter.outcome(), result);
        }
    }
}

/// Returns the options of a call with a gate for the bytes that its run holds, and that gate.
fn gated(call: &Call<'_>) -> (CallOptions, SpillGate) {
    let gate = SpillGate::default();
    let limits = call.options().limits().clone().with_spill_gate(&gate);
    (call.options().clone().with_limits(limits), gate)
}

/// A filter whose output is gathered for a body.
#[doc(hidden)]
pub trait BodyFilter: PushFilter<Sink = GatherSink> + Send {
    /// Returns the largest number of bytes that were held at once so far.
    fn held_peak(&self) -> u64;

    /// Returns the report so far.
    fn outcome(&self) -> Outcome;

    /// Returns the sink.
    fn sink(&self) -> &GatherSink;
}

impl BodyFilter for Filter<GatherSink> {
    fn held_peak(&self) -> u64 {
        Self::held_peak(self)
    }

    fn outcome(&self) -> Outcome {
        Outcome::Filter(Box::new(self.report()))
    }

    fn sink(&self) -> &GatherSink {
        Self::sink(self)
    }
}

impl<C, F> BodyFilter for Records<C, GatherSink, F>
where
    C: RecordForm + Send,
    F: FnMut(u64, &Error) + Send,
{
    fn held_peak(&self) -> u64 {
        Self::held_peak(self)
    }

    fn outcome(&self) -> Outcome {
        Outcome::Filter(Box::new(self.report()))
    }

    fn sink(&self) -> &GatherSink {
        Self::sink(self)
    }
}

impl From<&Program> for Transform {
    /// [`Transform::json`].
    fn from(program: &Program) -> Self {
        Self::json(program)
    }
}

impl From<Call<'_>> for Transform {
    /// [`Transform::json`].
    fn from(call: Call<'_>) -> Self {
        Self::json(call)
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform").field("pace", &self.pace).finish_non_exhaustive()
    }
}
