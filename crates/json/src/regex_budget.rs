//! The budget for compiled patterns, templates and name tables of one spec or file.
//!
//! The budget does not depend on patterns, templates or names. The code that compiles one charges the budget, even if
//! compiling fails. So the memory and work for a file do not grow without bound with the number of its patterns,
//! templates and names. There is no global state: the code that reads a file creates a budget and passes it on.

/// The remaining budget of one spec or one file.
#[derive(Debug)]
pub struct RegexBudget {
    /// Remaining bytes for compiled patterns.
    left: usize,
    is_spent: bool,
    /// Whether the patterns were charged before.
    is_charged: bool,
    /// Remaining tables of names, and remaining steps of paths.
    tables: usize,
    steps: usize,
    /// Remaining bytes for compiled templates.
    templates: usize,
}

/// Maximum number of name tables of a file, two kilobytes each. Names without a table are found, too, but more slowly.
const TABLES: usize = 8 << 10;
/// Maximum number of steps of all paths of a file. Each compiles to some hundred bytes.
const STEPS: usize = 100_000;
/// Maximum number of bytes that the templates of a file compile to: about 150,000 actions.
const TEMPLATES: usize = 64 << 20;

impl RegexBudget {
    /// Charges the steps of a path.
    ///
    /// # Errors
    /// The message, if fewer steps remain.
    pub fn take_steps(&mut self, steps: usize) -> Result<(), String> {
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

    /// Charges the bytes that a template compiles to.
    ///
    /// # Errors
    /// The message, if fewer bytes remain. Nothing more may be compiled then.
    pub fn take_template(&mut self, bytes: usize) -> Result<(), String> {
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

    /// Charges a table. Returns whether one remained.
    pub fn take_table(&mut self) -> bool {
        let is_left = self.tables > 0;
        self.tables = self.tables.saturating_sub(1);
        is_left
    }
}

impl RegexBudget {
    /// Two lists of the maximum size, as a spec may have, and what parsing them takes. Patterns within the budget
    /// compile in about two seconds in an unoptimised build. The built-in rules take less than three quarters of it
    /// (tested).
    pub const BYTES: usize = 24 << 20;

    /// Creates the budget of one spec or file.
    pub fn new() -> Self {
        Self {
            left: Self::BYTES,
            is_spent: false,
            is_charged: false,
            tables: TABLES,
            steps: STEPS,
            templates: TEMPLATES,
        }
    }

    /// Creates a budget with this number of bytes for compiled patterns.
    pub fn of(bytes: usize) -> Self {
        Self { left: bytes, ..Self::new() }
    }

    /// Creates a budget for patterns that were charged when their file was read, and are compiled now. They are not charged again, and
    /// so each is compiled in one attempt.
    pub fn charged() -> Self {
        Self { is_charged: true, ..Self::new() }
    }

    /// Returns whether the patterns were charged before.
    pub fn is_charged(&self) -> bool {
        self.is_charged
    }

    /// Returns the remaining bytes for compiled patterns.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Whether a charge exceeded the budget. Nothing more may be compiled then.
    pub fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Charges bytes of compiled patterns. Returns false if fewer remain; the budget is then spent.
    pub fn take(&mut self, bytes: usize) -> bool {
        if self.is_charged {
            return true;
        }
        self.is_spent |= bytes > self.left;
        self.left = self.left.saturating_sub(bytes);
        !self.is_spent
    }

    /// Spends the whole budget.
    pub fn spend(&mut self) {
        (self.left, self.is_spent) = (0, true);
    }
}
