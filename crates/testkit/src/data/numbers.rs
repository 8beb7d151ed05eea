//! Measurements: long arrays of floats and integers, like embeddings and time series.

use std::fmt::Write as _;

use super::random::{Random, WORDS};

/// Appends one measurement.
pub(super) fn measurement(text: &mut String, random: &mut Random) {
    let mut put = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a String takes all");
    put(format_args!(
        r#"{{"id":{},"label":"{}","embedding":["#,
        random.below(1 << 40),
        random.pick(&WORDS)
    ));
    for index in 0..256 {
        let comma = if index == 0 { "" } else { "," };
        let sign = random.pick(&["", "-"]);
        // The last digit is never 0, so that the text is the shortest of its value.
        put(format_args!(
            "{comma}{sign}0.{:08}{}",
            100_000 + random.below(99_000_000),
            1 + random.below(9)
        ));
    }
    put(format_args!(r#"],"score":{}.5,"counts":["#, random.below(100_000)));
    for index in 0..128 {
        let comma = if index == 0 { "" } else { "," };
        let digits = [10, 1000, 100_000, 1 << 53][random.below(4) as usize];
        put(format_args!("{comma}{}", random.below(digits)));
    }
    put(format_args!(r#"],"at":{}}}"#, 1_700_000_000_000 + random.below(90_000_000_000)));
}
