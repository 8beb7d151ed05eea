//! Maps results to calls and tools: tools by number, and the calls that have no result yet.
//!
//! A call names the results after it. Ids may be reused (some servers number the calls of each response from 0); the last call
//! counts. A call is forgotten when its result was read, unless its tool is protected: then every result is kept. Calls in the
//! `content` that is the result of a tool name nothing, because pruning removes them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher, RandomState};

use tamis_json::error::{LimitName, Raise};
use tamis_json::limits::{Limits, Meter};

use super::super::program::CompiledPrune;

/// The number of an unknown tool.
pub(super) const UNKNOWN: u32 = 0;

/// Size of a table entry in bytes, without its text.
const ENTRY: u64 = 40;

#[derive(Debug)]
pub(crate) struct Calls {
    tools: Vec<Tool>,
    by_name: HashMap<String, u32>,
    /// By two hashes of the id, whose keys are random for each run.
    open: HashMap<(u64, u64), u32, BuildHasherDefault<Hashed>>,
    hashes: [RandomState; 2],
    meter: Meter,
    taken: u64,
}

#[derive(Debug)]
struct Tool {
    name: String,
    protected: bool,
}

/// A hasher for keys that are hashes already.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Calls {
    pub(super) fn new(program: &CompiledPrune) -> Self {
        let unknown = Tool { name: String::new(), protected: program.protects("") };
        Self {
            tools: vec![unknown],
            by_name: HashMap::new(),
            open: HashMap::default(),
            hashes: [RandomState::new(), RandomState::new()],
            meter: Meter::default(),
            taken: 0,
        }
    }

    pub(super) fn hashes(&self) -> &[RandomState; 2] {
        &self.hashes
    }

    /// Returns the number of a tool, and assigns one if needed.
    pub(super) fn tool(&mut self, name: &str, program: &CompiledPrune) -> Result<u32, Raise> {
        if name.is_empty() {
            return Ok(UNKNOWN);
        }
        if let Some(number) = self.by_name.get(name) {
            return Ok(*number);
        }
        self.charge(2 * (name.len() as u64 + ENTRY), &program.limits)?;
        let number = u32::try_from(self.tools.len()).unwrap_or(UNKNOWN);
        self.tools.push(Tool { name: name.to_owned(), protected: program.protects(name) });
        self.by_name.insert(name.to_owned(), number);
        Ok(number)
    }

    /// Adds a call of a tool, by the hash of its id.
    pub(super) fn call(&mut self, id: (u64, u64), tool: u32, limits: &Limits) -> Result<(), Raise> {
        if self.open.insert(id, tool).is_none() {
            self.charge(ENTRY, limits)?;
        }
        Ok(())
    }

    /// Returns the tool of the call with this id.
    pub(super) fn answer(&mut self, id: (u64, u64)) -> Option<u32> {
        let tool = *self.open.get(&id)?;
        if !self.is_protected(tool) {
            self.open.remove(&id);
            self.taken = self.taken.saturating_sub(ENTRY);
            self.meter.release(ENTRY);
        }
        Some(tool)
    }

    /// Starts another history, in which no earlier call has its result.
    pub(super) fn forget(&mut self) {
        let open = self.open.len() as u64 * ENTRY;
        self.open.clear();
        self.taken = self.taken.saturating_sub(open);
        self.meter.release(open);
    }

    pub(super) fn is_protected(&self, tool: u32) -> bool {
        self.tools.get(tool as usize).is_some_and(|tool| tool.protected)
    }

    pub(crate) fn name(&self, tool: u32) -> &str {
        self.tools.get(tool as usize).map_or("", |tool| &tool.name)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.meter.peak()
    }

    fn charge(&mut self, bytes: u64, limits: &Limits) -> Result<(), Raise> {
        self.meter.charge(LimitName::Held, limits.held(), self.taken, bytes)?;
        self.taken += bytes;
        Ok(())
    }
}
