//! Numbers as people read them.

pub(crate) use tamis_text::grouped::grouped;

/// Writes a share in percent with one digit. A share that is not all is never written as 100.
#[must_use]
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let mut tenths = (part * 1_000 + whole / 2) / whole;
    if part < whole {
        tenths = tenths.min(999);
    }
    if part > 0 {
        tenths = tenths.max(1);
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Writes bytes with a unit.
#[must_use]
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{} bytes", grouped(number)),
        10_000..10_000_000 => format!("{} kB", grouped(number / 1_000)),
        _ => format!("{} MB", grouped(number / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        assert_eq!(percent(0, 0), "-");
        assert_eq!(percent(0, 9), "0.0 %");
        assert_eq!(percent(1, 100_000), "0.1 %");
        assert_eq!(percent(99_999, 100_000), "99.9 %");
        assert_eq!(percent(3, 3), "100.0 %");
        assert_eq!(grouped(1_234_567_u64), "1,234,567");
        assert_eq!(grouped(12_u64), "12");
    }
}
