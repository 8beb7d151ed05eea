//! The rule `redact` of a spec.

use tamis_text::Redact;

use super::Spec;

impl Spec {
    /// Replaces the values at paths, and credentials wherever they are in the output. Applies after all rules that remove, and
    /// before the budget. A value is replaced by a string, and its key is kept.
    ///
    /// Paths are read like those of [`exclude`](Self::exclude): from the item as it is written, and from the document's own
    /// names if a select found nothing, if the call failed or if raw output was asked for. A document is changed even if
    /// everything else is skipped, so raw output is refused unless [`allow_raw`](Self::allow_raw) permits it.
    ///
    /// Credentials are searched for in each string and key, after escapes are resolved. A match never spans two
    /// strings. See [`Redact`] for an example.
    #[must_use]
    pub fn redact(mut self, redact: Redact) -> Self {
        self.redact = Some(redact);
        self
    }

    /// Replaces what a rule replaces, in addition to what the spec replaces already.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis::spec::Redact;
    ///
    /// let spec = Spec::new().redact(Redact::new().path("ssn"));
    /// let both = spec.redact_also(&Redact::new().secrets(true));
    /// assert_eq!(both, Spec::new().redact(Redact::new().path("ssn").secrets(true)));
    /// ```
    #[must_use]
    pub fn redact_also(mut self, more: &Redact) -> Self {
        self.redact = Some(match &self.redact {
            None => more.clone(),
            Some(redact) => redact.and(more),
        });
        self
    }
}
