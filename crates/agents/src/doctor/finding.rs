//! [`Finding`]: one line of an examination.

use std::fmt;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Something that was installed does not work.
    Broken,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Broken => "broken",
        })
    }
}

/// One line of an examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How serious it is.
    pub level: Level,
    /// The program, agent or file that was examined.
    pub subject: String,
    /// The state of the subject, and the remedy if it is broken.
    pub text: String,
}

impl Finding {
    fn new(level: Level, subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level, subject: subject.into(), text: text.into() }
    }

    pub(super) fn good(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Level::Good, subject, text)
    }

    pub(super) fn note(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Level::Note, subject, text)
    }

    pub(super) fn broken(
        subject: impl Into<String>,
        text: impl fmt::Display,
        remedy: &str,
    ) -> Self {
        Self::new(Level::Broken, subject, format!("{text}; {remedy}"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<6}  {}: {}", self.level, self.subject, self.text)
    }
}
