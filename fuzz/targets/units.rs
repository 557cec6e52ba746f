//! Quantities: what is printed reads back as the same quantity.
#![no_main]

use std::fmt::Display;
use std::str::FromStr;

use iostone_model::units::{Bytes, BytesPerSecond, Fraction, Span};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    read_exactly::<Bytes>(text);
    read_exactly::<Span>(text);
    read_nearly::<BytesPerSecond>(text, |rate| rate.0);
    read_nearly::<Fraction>(text, |share| share.0);
    if let Ok(size) = text.parse::<Bytes>() {
        size.approximate();
    }
});

fn read_exactly<T: FromStr + Display + PartialEq>(text: &str) {
    let Ok(quantity) = text.parse::<T>() else { return };
    let printed = quantity.to_string();
    assert!(printed.parse::<T>().is_ok_and(|back| back == quantity), "`{text}` is printed as `{printed}`");
}

/// Rates and shares are printed to a few decimals: what is read again is near, and prints the same.
fn read_nearly<T: FromStr + Display>(text: &str, figure: impl Fn(&T) -> f64) {
    let Ok(quantity) = text.parse::<T>() else { return };
    let printed = quantity.to_string();
    let Ok(back) = printed.parse::<T>() else { panic!("`{text}` is printed as `{printed}`") };
    let (before, after) = (figure(&quantity), figure(&back));
    // Six decimals of a percent or of a byte a second.
    assert!((before - after).abs() <= 1e-6 + before * 1e-9, "`{text}` is printed as `{printed}`");
}
