//! How much the patterns and templates of one spec or file may compile to, and how many tables its names may have.
//!
//! Knows no pattern, template or name: the code that compiles one charges for it, also where that failed. So memory and
//! work for a file do not grow with the number of its patterns and templates, and not many times faster than the file with
//! that of its names. Nothing is global: a file that is read has one, and hands it on.

/// The rest of the allowance of one spec or one file.
#[derive(Debug)]
#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "text alone has patterns"))]
pub(crate) struct RegexBudget {
    /// Bytes that patterns may still compile to.
    left: usize,
    is_spent: bool,
    /// Tables of names that may still be made, and steps that paths may still have.
    tables: usize,
    steps: usize,
    /// Bytes that templates may still compile to.
    #[cfg(feature = "template")]
    templates: usize,
}

/// Tables of names in one file, of two kilobytes each. Names without one are found all the same, in more time.
const TABLES: usize = 8 << 10;
/// Steps of all paths in one file: each is compiled to some hundred bytes.
const STEPS: usize = 100_000;
/// Bytes that the templates of one file compile to: about 20,000 actions.
#[cfg(feature = "template")]
const TEMPLATES: usize = 64 << 20;

impl RegexBudget {
    /// Takes the steps of a path.
    ///
    /// # Errors
    /// The message where they are more than are left.
    pub(crate) fn take_steps(&mut self, steps: usize) -> Result<(), String> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(format!(
                "with the paths before it, more than {STEPS} steps; write shorter paths, or split the file"
            )),
        }
    }

    /// Takes the bytes that a template compiles to.
    ///
    /// # Errors
    /// The message where they are more than are left; then nothing more is compiled.
    #[cfg(feature = "template")]
    pub(crate) fn take_template(&mut self, bytes: usize) -> Result<(), String> {
        match self.templates.checked_sub(bytes) {
            Some(left) => {
                self.templates = left;
                Ok(())
            }
            None => {
                (self.templates, self.is_spent) = (0, true);
                Err(format!(
                    "with the templates before it, more than {} MiB of memory; write fewer actions, or split the file",
                    TEMPLATES >> 20
                ))
            }
        }
    }

    /// Takes one of the tables, if one is left.
    pub(crate) fn take_table(&mut self) -> bool {
        let is_left = self.tables > 0;
        self.tables = self.tables.saturating_sub(1);
        is_left
    }
}

#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "text alone has patterns"))]
impl RegexBudget {
    /// Room for two lists that are as big as one may be, as a spec has, and what reading them takes. What it admits compiles in
    /// about two seconds where nothing is optimised. What comes with tamis takes less than a quarter (tested).
    pub(crate) const BYTES: usize = 24 << 20;

    pub(crate) fn new() -> Self {
        Self {
            left: Self::BYTES,
            is_spent: false,
            tables: TABLES,
            steps: STEPS,
            #[cfg(feature = "template")]
            templates: TEMPLATES,
        }
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: usize) -> Self {
        Self { left: bytes, ..Self::new() }
    }

    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Whether more was asked for than was left: then nothing is to be compiled any more.
    #[cfg_attr(
        not(any(feature = "manifest", feature = "command")),
        allow(dead_code, reason = "files alone go on behind an error")
    )]
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Charges so many bytes. `false`: they are more than were left, and it is spent.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        self.is_spent |= bytes > self.left;
        self.left = self.left.saturating_sub(bytes);
        !self.is_spent
    }

    /// Nothing is left.
    pub(crate) fn spend(&mut self) {
        (self.left, self.is_spent) = (0, true);
    }
}
