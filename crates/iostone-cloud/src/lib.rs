//! The catalogue of cloud instances: what an hour of them costs and what their processors are allowed, with source and date
//! of each figure.
//!
//! What is not known is absent, never zero.

mod allowance;
mod prices;

pub use allowance::{
    Agreement, CREDIT_SECONDS, Demand, LawState, Point, Simulation, UnknownAllowance, allowance, allowances,
    best_limit, governed_types, hold_against, problem_of_machine, runs_out_after, simulate, simulate_from,
    simulate_others,
};
pub use prices::{AS_OF, DEFAULT_REGION, UnknownPrice, price, regions};
