//! Claimed against served: bytes that a workload says it moved and the device never saw are page cache.

use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::Bytes;
use iostone_model::verdict::Flag;

/// A smaller share than this is what an unfinished request or a counter's moment can explain.
const WORTH_SAYING: f64 = 0.10;

/// A flag for each configuration much of whose traffic never reached the device.
pub(super) fn page_cache(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    plan.experiment
        .configurations
        .iter()
        .filter_map(|configuration| {
            let (mut claimed, mut served, mut device) = (0u64, 0u64, String::new());
            let counted = trials.iter().filter(|trial| {
                trial.configuration == configuration.name
                    && blocks.iter().any(|block| block.counted && block.number == trial.block)
            });
            for trial in counted {
                let footing = trial.signals.footing()?;
                device = footing.name;
                claimed += trial.workload.claimed_read_bytes + trial.workload.claimed_written_bytes;
                served += footing.served.read_bytes + footing.served.written_bytes;
            }
            let missing = claimed.saturating_sub(served);
            (claimed > 0 && missing as f64 > WORTH_SAYING * claimed as f64).then(|| {
                Flag::new(
                    "page-cache",
                    format!(
                        "under {} the workload claims {} but {device} served {} during the trials: {:.0} % is page \
                         cache, not the device",
                        configuration.name,
                        Bytes(claimed).approximate(),
                        Bytes(served).approximate(),
                        missing as f64 / claimed as f64 * 100.0
                    ),
                )
            })
        })
        .collect()
}
