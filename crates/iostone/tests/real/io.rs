//! `io` under limits and through stalls, on devices of its own. Root only.

mod stall;
mod throttled;
