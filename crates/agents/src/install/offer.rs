//! Lines that install prints, for users to add to settings themselves.

/// Lines that a user can add to settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub(super) reason: String,
    pub(super) lines: String,
}

impl Offer {
    /// Returns what the lines are for, and where to add them.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the lines.
    #[must_use]
    pub fn lines(&self) -> &str {
        &self.lines
    }
}
