//! The catalogue of cloud instances: what an hour of them costs, with source and date of each figure.
//!
//! What is not known is absent, never zero.

mod prices;

pub use prices::{AS_OF, DEFAULT_REGION, UnknownPrice, price, regions};
