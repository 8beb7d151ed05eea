//! Replaces long `data:` URLs in a text by a mark, while it arrives.

use tamis::Sink;
use tamis_text::data_urls;

/// A longer one is replaced.
const LONGEST: u64 = 256;

/// Passes a text on, without long `data:` URLs.
pub(super) struct DataUrls<'a, S> {
    out: &'a mut S,
    /// `None`: nothing is replaced.
    urls: Option<data_urls::DataUrls>,
}

impl<'a, S: Sink> DataUrls<'a, S> {
    pub(super) fn new(out: &'a mut S, is_on: bool) -> Self {
        Self { out, urls: is_on.then(|| data_urls::DataUrls::new(LONGEST)) }
    }

    /// Ends the text. Returns the bytes of data in the URLs that were replaced.
    pub(super) fn end(self) -> u64 {
        let Some(mut urls) = self.urls else { return 0 };
        urls.end(&[], self.out);
        urls.replaced_characters()
    }
}

impl<S: Sink> Sink for DataUrls<'_, S> {
    fn write(&mut self, bytes: &[u8]) {
        match &mut self.urls {
            Some(urls) => urls.write(bytes, &[], self.out),
            None => self.out.write(bytes),
        }
    }
}
