//! Rules on what the figures can mean: limits, caches, units, processors.

mod above_ceiling;
mod above_every_ceiling;
mod at_ceiling;
mod beyond_cpus;
pub(super) mod case;
mod clock_backwards;
mod cpu_time;
mod disk_full;
mod failed;
mod given_up;
mod idle_ceiling;
mod latency_unit;
mod limits;
#[cfg(test)]
mod made_up;
mod network_inside;
mod not_flushed;
mod one_core;
mod page_cache;
mod prediction_beyond_ceiling;
mod remarks;
mod rewrite_faster;
mod slip;
mod small_file;
mod source_limited;
mod statistics_order;
mod steal;
mod sync_dropped;
mod throttled;
mod too_fast;
mod too_short;
pub(crate) mod traffic;
mod unit_slip;
mod zero_data;

use super::Rule;

/// These rules.
pub(super) const RULES: &[&dyn Rule] = &[
    &above_ceiling::AboveCeiling,
    &above_every_ceiling::AboveEveryCeiling,
    &page_cache::PageCache,
    &small_file::SmallFile,
    &not_flushed::NotFlushed,
    &sync_dropped::SyncDropped,
    &rewrite_faster::RewriteFaster,
    &zero_data::ZeroData,
    &source_limited::SourceLimited,
    &unit_slip::UnitSlip,
    &latency_unit::LatencyUnit,
    &prediction_beyond_ceiling::PredictionBeyondCeiling,
    &at_ceiling::AtCeiling,
    &idle_ceiling::IdleCeiling,
    &statistics_order::StatisticsOrder,
    &clock_backwards::ClockBackwards,
    &beyond_cpus::BeyondCpus,
    &cpu_time::CpuTime,
    &steal::Steal,
    &throttled::Throttled,
    &one_core::OneCore,
    &network_inside::NetworkInside,
    &disk_full::DiskFull,
    &failed::Failed,
    &given_up::GivenUp,
    &too_fast::TooFast,
    &too_short::TooShort,
    &remarks::Remarks,
];
