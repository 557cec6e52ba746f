//! The catalogue of cloud instances: what an hour of them costs and what their processors are allowed, with source and date
//! of each figure.
//!
//! What is not known is absent, never zero.

mod allowance;
mod prices;

pub use allowance::{LawState, UnknownAllowance, allowance, allowances};
pub use prices::{AS_OF, DEFAULT_REGION, UnknownPrice, price, regions};
