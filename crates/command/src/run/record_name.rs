//! Names of record files, and the test whether a file is one of ours.

use rustix::fs::FileType;

/// The name of a record: `run-SECONDS-PROCESS-ATTEMPT.log`.
pub(super) struct RecordName {
    /// Seconds since 1970.
    pub(super) seconds: u64,
    pub(super) process: u32,
    pub(super) attempt: u32,
}

impl std::fmt::Display for RecordName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run-{}-{}-{}.log", self.seconds, self.process, self.attempt)
    }
}

/// Whether a file name is that of a record.
pub(super) fn is_record_name(name: &[u8]) -> bool {
    let number =
        |text: &[u8]| (1..=20).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let inner = name.strip_prefix(b"run-").and_then(|name| name.strip_suffix(b".log"));
    inner.is_some_and(|inner| {
        let mut parts = inner.split(|byte| *byte == b'-');
        parts.by_ref().take(3).filter(|part| number(part)).count() == 3 && parts.next().is_none()
    })
}

/// Whether a file is a regular file of this user.
pub(super) fn is_own_file(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::{RecordName, is_record_name};

    #[test]
    fn only_names_of_records_are_recognised() {
        for name in [
            RecordName { seconds: 0, process: 0, attempt: 0 },
            RecordName { seconds: u64::MAX, process: u32::MAX, attempt: u32::MAX },
        ] {
            assert!(is_record_name(name.to_string().as_bytes()), "{name}");
        }
        for name in [
            "",
            "run-",
            ".log",
            "run-.log",
            "run-1-2.log",
            "run-1-2-3",
            "run-1-2-3-4.log",
            "run-1--3.log",
            "run-1-2-3.log.gz",
            "run-1-2-x.log",
            "xrun-1-2-3.log",
            "run-1-2-+3.log",
            "run-1-2-3.LOG",
            "run-1-2-123456789012345678901.log",
            "../run-1-2-3.log",
            "run--1-2-3.log",
        ] {
            assert!(!is_record_name(name.as_bytes()), "{name}");
        }
    }
}
