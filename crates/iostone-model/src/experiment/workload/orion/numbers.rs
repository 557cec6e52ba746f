//! Numbers of ORION's options: what cannot be one is told the bounds of the option, not those of a machine word.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

/// Reads a number. One beyond the bounds that a `u32` holds is left to ORION's own rules.
pub(super) fn from_to<'de, const LEAST: u32, const MOST: u32, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    struct Bounded<const LEAST: u32, const MOST: u32>;

    impl<const LEAST: u32, const MOST: u32> Visitor<'_> for Bounded<LEAST, MOST> {
        type Value = Option<u32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a whole number from {LEAST} to {MOST}")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
            let number =
                u32::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
            Ok(Some(number))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
            let number =
                u32::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))?;
            Ok(Some(number))
        }
    }

    deserializer.deserialize_u64(Bounded::<LEAST, MOST>)
}
