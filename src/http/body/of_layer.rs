//! Parts of a body that only a layer uses, which sends the headers and decides when.

use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body;
use tamis_json::error::Error;

use super::FilterBody;
use crate::http::steps::Steps;

impl<B> FilterBody<B> {
    /// Creates an empty body for headers that belong to another response, whose length is unknown.
    pub(in crate::http) fn none() -> Self {
        Self { in_place: true, ..Self::full(Bytes::new()) }
    }

    /// Notes that the headers are sent before the first output is known. They must not get lost with an error.
    pub(in crate::http) fn follow_headers(&mut self) {
        self.is_unsent = true;
    }
}

impl<B> FilterBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Waits for the first output, the end of the body, or an error. Until then another response can be sent instead.
    /// The output is kept and returned by `poll_frame`.
    ///
    /// # Errors
    /// The error of the run, if it occurs before any output is returned. The body has ended then.
    pub(in crate::http) fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.steps.is_none() || self.first.is_some() {
            return Poll::Ready(Ok(()));
        }
        let first = ready!(Pin::new(&mut *self).poll_frame(cx)).transpose()?;
        if let Some(first) = first {
            match first.into_data() {
                Ok(data) => self.first = Some(data),
                Err(trailers) => self.trailers = Some(trailers),
            }
        }
        // An error that is known by now can still change the response.
        match self.steps.as_mut().and_then(Steps::take_error) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(())),
        }
    }
}
