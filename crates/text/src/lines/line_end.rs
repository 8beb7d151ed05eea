//! [`LineEnd`]: how a line ends.

/// How a line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// The text ends without a line end.
    #[default]
    Missing,
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
}

impl LineEnd {
    /// Returns its spelling.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Missing => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}
