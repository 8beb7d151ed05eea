//! Stands in for `decode` without the feature of this name: no options of decoding exist, so nothing is decoded.

#![allow(dead_code, reason = "some of it is only for the layer")]

use std::convert::Infallible;

use bytes::Bytes;
use tamis_json::error::Error;

use super::transform::Transform;

/// Limits of decoding, of which no value exists.
#[derive(Clone, Debug)]
pub(super) struct DecodeOptions(Infallible);

/// A content coding that cannot be decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentCoding;

impl ContentCoding {
    /// Returns `None` if the body is not encoded.
    pub(super) fn from_content_encoding(value: &str) -> Result<Option<Self>, Error> {
        Ok(match value.trim() {
            "" | "identity" => None,
            _ => Some(Self),
        })
    }
}

/// A decoder, of which no value exists.
#[derive(Debug)]
pub(super) struct Decoder(Infallible);

impl Decoder {
    pub(super) fn next(&mut self, _: &mut Bytes) -> Result<Option<Bytes>, Error> {
        match self.0 {}
    }

    pub(super) fn finish(&mut self) -> Result<Option<Bytes>, Error> {
        match self.0 {}
    }
}

impl Transform {
    pub(super) fn with_decoding(self, _: ContentCoding, options: &DecodeOptions) -> Self {
        match options.0 {}
    }
}
