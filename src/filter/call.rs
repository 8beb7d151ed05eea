//! [`Call`]: a program with the options of one call.

use std::borrow::Cow;

use super::compile::program::Program;
use super::options::CallOptions;

/// A [`Program`] and the [`CallOptions`] of one call: the first argument of [`Filter::new`](crate::Filter::new) and of
/// the drivers.
///
/// They accept a `&Program` as well, which stands for default options.
///
/// ```
/// use tamis::{Call, CallOptions, Limits, Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let shallow = CallOptions::new().with_limits(Limits::new().with_depth(2));
/// let call: Call<'_> = program.with_options(&shallow);
/// assert!(filter_slice(call, b"[[[1]]]").is_err());
/// assert!(filter_slice(&program, b"[[[1]]]").is_ok());
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Call<'a> {
    program: &'a Program,
    options: Cow<'a, CallOptions>,
}

impl<'a> Call<'a> {
    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns the options of the call.
    #[must_use]
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// Returns the call for documents of which `where` may drop one as a whole.
    pub(crate) fn of_records(&self) -> Self {
        let options = self.options.clone().into_owned().for_record();
        Self { program: self.program, options: Cow::Owned(options) }
    }
}

impl<'a> From<&'a Program> for Call<'a> {
    fn from(program: &'a Program) -> Self {
        Self { program, options: Cow::Owned(CallOptions::new()) }
    }
}

impl Program {
    /// Pairs the program with the options of one call, for [`Filter::new`](crate::Filter::new) and the drivers.
    #[must_use]
    pub fn with_options<'a>(&'a self, options: &'a CallOptions) -> Call<'a> {
        Call { program: self, options: Cow::Borrowed(options) }
    }
}
