//! `io` on devices of its own: discards, failures, what the guard keeps it from. Root only.

mod damage;
mod devices;
