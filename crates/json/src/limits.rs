//! Upper bounds of a run, and the meter for held bytes.
//!
//! Bytes that wait for a decision are charged to the meter before they are stored. Other state that is kept for a while
//! (the open path, a key, a value that is needed twice) is bounded by the limit of its name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::error::{LimitName, Raise};

/// Upper bounds of one run. A run that would exceed one fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit), and
/// [`Error::limit`](crate::Error::limit) returns the name of the bound.
///
/// ```
/// use tamis::Limits;
///
/// let limits = Limits::new().with_depth(64).with_spill(0); // never touch the disk
/// assert_eq!(limits.depth(), 64);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Limits {
    depth: usize,
    key: usize,
    held: u64,
    spill: u64,
    item: u64,
    line: usize,
    /// Set by drivers whose steps must not always write to the disk.
    spill_gate: Option<SpillGate>,
    /// The limit for all runs with these limits together.
    pool: Option<HeldPool>,
}

impl fmt::Debug for Limits {
    /// Shows the bounds only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { depth, key, held, spill, item, line, spill_gate: _, pool: _ } = self;
        f.debug_struct("Limits")
            .field("depth", depth)
            .field("key", key)
            .field("held", held)
            .field("spill", spill)
            .field("item", item)
            .field("line", line)
            .finish()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

impl Limits {
    /// Returns the defaults, which are listed at each setter.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            depth: 1024,
            key: 64 << 10,
            held: 4 << 20,
            spill: 1 << 30,
            item: 16 << 20,
            line: 64 << 10,
            spill_gate: None,
            pool: None,
        }
    }

    /// Sets the maximum number of nested containers.
    ///
    /// ### Default
    /// 1,024.
    ///
    /// ### Caveat
    /// Each level costs one bit for the grammar and a few words for the place of errors. Nothing recurses on the depth.
    #[must_use]
    pub const fn with_depth(mut self, containers: usize) -> Self {
        self.depth = containers;
        self
    }

    /// Sets how many bytes of one member name, as spelled between its quotes, may be held until the member is decided.
    ///
    /// ### Default
    /// 64 KiB.
    ///
    /// ### Caveat
    /// A longer name is held like an item ([`with_item`](Self::with_item)) where it matters: not inside a value that is
    /// dropped or kept as a whole, and not if only selected members are kept. If white space is kept, this limit also bounds the white space between two
    /// tokens.
    #[must_use]
    pub const fn with_key(mut self, bytes: usize) -> Self {
        self.key = bytes;
        self
    }

    /// Sets how many bytes may wait in memory for a decision: the branch of `when`, the payload of `root: auto`, the
    /// fallback of a missed select, or patches that may still fail.
    ///
    /// ### Default
    /// 4 MiB. More bytes are written to a temporary file.
    #[must_use]
    pub const fn with_held(mut self, bytes: u64) -> Self {
        self.held = bytes;
        self
    }

    /// Sets how many bytes may wait in an anonymous temporary file after the memory is full.
    ///
    /// ### Default
    /// 1 GiB. 0 never touches the disk.
    ///
    /// ### Caveat
    /// Spilled bytes are unredacted input. The file has no name and is removed with the process.
    #[must_use]
    pub const fn with_spill(mut self, bytes: u64) -> Self {
        self.spill = bytes;
        self
    }

    /// Sets how many bytes of values may be held to be read twice: a selected value inside another one, or a value that
    /// two output members need. Values inside one another count together.
    ///
    /// The limit also applies to values tested by `when`, to documents buffered for patches that cannot stream (with
    /// the pieces that they are split into), and to the fields of a JSON response that are its
    /// `Content`.
    ///
    /// ### Default
    /// 16 MiB.
    #[must_use]
    pub const fn with_item(mut self, bytes: u64) -> Self {
        self.item = bytes;
        self
    }

    /// Sets how many bytes of one line of text may be held until the line is decided
    /// (`TextSpec`). Its line end and bytes that `strip_ansi` removes do not count.
    ///
    /// ### Default
    /// 64 KiB.
    ///
    /// ### Caveat
    /// A longer line is not an error. If patterns choose lines, it is removed, unless the patterns have decided after
    /// this many bytes that it is kept. In the output of a command it is kept, unless they have decided that it is
    /// removed. If patterns do not choose lines, it is written as it arrives and equals no other line. Below about 100
    /// bytes, a line that may begin like a notice of tamis is marked as if it were one.
    #[must_use]
    pub const fn with_line(mut self, bytes: usize) -> Self {
        self.line = bytes;
        self
    }

    /// Returns the maximum number of nested containers.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the number of bytes of a member name that may be held.
    #[must_use]
    pub const fn key(&self) -> usize {
        self.key
    }

    /// Returns the number of bytes of a member name that may be held where every name is needed.
    #[doc(hidden)]
    #[must_use]
    pub fn longest_key(&self) -> usize {
        self.key.max(usize::try_from(self.item).unwrap_or(usize::MAX))
    }

    /// Returns the number of bytes that may wait in memory.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.held
    }

    /// Returns the number of bytes that may wait in a temporary file.
    #[must_use]
    pub const fn spill(&self) -> u64 {
        self.spill
    }

    /// Returns the number of bytes of values that may be held to be read twice.
    #[must_use]
    pub const fn item(&self) -> u64 {
        self.item
    }

    /// Returns the number of bytes of one line of text that may be held.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Sets what all runs that have a clone of `pool` may hold together, in memory and in temporary files, in addition to
    /// the limits of each.
    ///
    /// ### Default
    /// No pool: `held` and `spill` of each run are the only limits.
    ///
    /// ### Caveat
    /// Whether a run fails then also depends on others.
    #[must_use]
    pub fn with_pool(mut self, pool: &HeldPool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// Makes every run with these limits ask `gate` before it writes to the disk.
    pub fn with_spill_gate(mut self, gate: &SpillGate) -> Self {
        self.spill_gate = Some(gate.clone());
        self
    }

    /// Returns whether held bytes may be written to the disk now. If not, the request is recorded in the gate.
    pub fn allow_disk(&self) -> bool {
        self.spill_gate.as_ref().is_none_or(SpillGate::request)
    }
}

/// Decides whether the runs of one driver may write held bytes to the disk. Clones share their state.
///
/// An asynchronous driver closes the gate before a step on the thread of its task, which must not block. Bytes for the
/// disk then stay in memory until a step with an open gate. If [`open`](Self::open) returns `true`, the next step has
/// to run on a thread that may block. A file that was written while the gate was open must not be read while it is
/// closed, because reading blocks as well.
///
/// A new gate is open.
#[derive(Clone, Debug, Default)]
pub struct SpillGate(Arc<AtomicU8>);

impl SpillGate {
    const OPEN: u8 = 0;
    const CLOSED: u8 = 1;
    /// Closed, and a run had bytes for the disk.
    const REQUESTED: u8 = 2;

    /// Closes the gate until the next call of [`open`](Self::open).
    pub fn close(&self) {
        self.0.store(Self::CLOSED, Ordering::Relaxed);
    }

    /// Opens the gate, and returns whether a run had bytes for the disk while it was closed.
    pub fn open(&self) -> bool {
        self.0.swap(Self::OPEN, Ordering::Relaxed) == Self::REQUESTED
    }

    /// Returns whether the gate is open. If it is closed, records that a run has bytes for the disk.
    fn request(&self) -> bool {
        // One thread at a time runs a step, so the state does not change between these operations.
        let is_open = self.0.load(Ordering::Relaxed) == Self::OPEN;
        if !is_open {
            self.0.store(Self::REQUESTED, Ordering::Relaxed);
        }
        is_open
    }
}

/// Gates are equal if they share their state.
impl PartialEq for SpillGate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SpillGate {}

/// A limit for the bytes that all responses of a service hold together while they wait for decisions.
///
/// [`Limits::held`] and [`Limits::spill`] bound one response; a service with a thousand responses may hold a thousand times
/// as much. [`Limits::with_pool`] gives runs a common limit. If the memory of the pool is exhausted, bytes are written to
/// temporary files earlier. If its room on the disk is exhausted, too, the run fails with the limit `pool`. Clones share
/// their state.
///
/// ```
/// use tamis::http::HeldPool;
/// use tamis::{CallOptions, Filter, Limits, Program, Spec};
///
/// let pool = HeldPool::new(100, 0);
/// let options = CallOptions::new().with_limits(Limits::new().with_pool(&pool));
/// let program = Program::compile(&Spec::new().select("id"))?;
/// // The beginning of a document waits for the rest, because no item was found yet.
/// let beginning = format!(r#"{{"text": "{}"#, "x".repeat(200));
/// let mut filter = Filter::new(program.with_options(&options), Vec::new());
/// let error = filter.write(beginning.as_bytes()).unwrap_err();
/// assert_eq!(error.limit(), Some("pool"));
/// drop(filter);
/// assert_eq!((pool.in_memory(), pool.on_disk()), (0, 0));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HeldPool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    memory: PoolCounter,
    disk: PoolCounter,
}

/// Bytes that are in use, and how many may be.
#[derive(Debug)]
struct PoolCounter {
    used: AtomicU64,
    most: u64,
}

impl PoolCounter {
    fn new(most: u64) -> Self {
        Self { used: AtomicU64::new(0), most }
    }

    /// Takes up to `bytes`, and returns how many.
    fn take(&self, bytes: u64) -> u64 {
        let mut taken = 0;
        // The counter never exceeds its limit, not even for a moment.
        _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            taken = bytes.min(self.most.saturating_sub(used));
            Some(used + taken)
        });
        taken
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl HeldPool {
    /// Creates a pool of `memory` bytes, and of `disk` bytes in temporary files.
    #[must_use]
    pub fn new(memory: u64, disk: u64) -> Self {
        Self(Arc::new(PoolState { memory: PoolCounter::new(memory), disk: PoolCounter::new(disk) }))
    }

    /// Returns how many bytes are held in memory now.
    #[must_use]
    pub fn in_memory(&self) -> u64 {
        self.0.memory.used.load(Ordering::Relaxed)
    }

    /// Returns how many bytes are held in temporary files now.
    #[must_use]
    pub fn on_disk(&self) -> u64 {
        self.0.disk.used.load(Ordering::Relaxed)
    }
}

/// Pools are equal if they share their state.
impl PartialEq for HeldPool {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HeldPool {}

/// The bytes that one holder has taken from the pool of its limits. Dropping it gives everything back.
#[derive(Debug, Default)]
pub struct PoolShare {
    taken: Option<PoolTaken>,
}

#[derive(Debug)]
struct PoolTaken {
    pool: HeldPool,
    memory: u64,
    disk: u64,
}

impl PoolShare {
    /// Returns what was taken, if the limits have a pool.
    fn of(&mut self, limits: &Limits) -> Option<&mut PoolTaken> {
        if self.taken.is_none() {
            let pool = limits.pool.as_ref()?.clone();
            self.taken = Some(PoolTaken { pool, memory: 0, disk: 0 });
        }
        self.taken.as_mut()
    }

    /// Takes up to `bytes` of memory, and returns how many.
    pub fn take_memory(&mut self, limits: &Limits, bytes: usize) -> usize {
        let Some(taken) = self.of(limits) else { return bytes };
        let got = taken.pool.0.memory.take(bytes as u64);
        taken.memory += got;
        // It is not more than `bytes`.
        usize::try_from(got).unwrap_or(bytes)
    }

    /// Takes room on the disk.
    ///
    /// # Errors
    /// The pool has no room for all bytes.
    pub fn take_disk(&mut self, limits: &Limits, bytes: u64) -> Result<(), Raise> {
        let Some(taken) = self.of(limits) else { return Ok(()) };
        let got = taken.pool.0.disk.take(bytes);
        taken.disk += got;
        if got == bytes {
            return Ok(());
        }
        let (memory, disk) = (taken.pool.0.memory.most, taken.pool.0.disk.most);
        let message = format!("all responses together hold {memory} bytes and {disk} on disk");
        Err(Raise::limit(LimitName::Pool, message))
    }

    /// Gives memory back.
    pub fn release_memory(&mut self, bytes: usize) {
        if let Some(taken) = &mut self.taken {
            let bytes = taken.memory.min(bytes as u64);
            taken.memory -= bytes;
            taken.pool.0.memory.release(bytes);
        }
    }
}

impl Drop for PoolTaken {
    fn drop(&mut self) {
        self.pool.0.memory.release(self.memory);
        self.pool.0.disk.release(self.disk);
    }
}

/// Accounts for held bytes: they are charged before they are stored and released afterwards. Keeps the peak for the
/// report.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    now: u64,
    peak: u64,
}

impl Meter {
    /// Charges `bytes` to a limit of which `already` bytes are used.
    pub fn charge(
        &mut self,
        name: LimitName,
        limit: u64,
        already: u64,
        bytes: u64,
    ) -> Result<(), Raise> {
        if already.saturating_add(bytes) > limit {
            let message = format!("buffer limit of {limit} bytes exceeded");
            return Err(Raise::limit(name, message));
        }
        self.now += bytes;
        self.peak = self.peak.max(self.now);
        Ok(())
    }

    /// Releases bytes that were charged.
    pub fn release(&mut self, bytes: u64) {
        self.now = self.now.saturating_sub(bytes);
    }

    /// Adds the current bytes of another meter, and takes the higher peak.
    pub fn absorb(&mut self, other: &Self) {
        self.now += other.now;
        self.peak = self.peak.max(other.peak);
    }

    /// Returns the highest number of bytes that were charged at a time.
    pub fn peak(&self) -> u64 {
        self.peak
    }
}
