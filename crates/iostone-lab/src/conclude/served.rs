//! Claimed against served: bytes that a workload says it moved and the device never saw are page cache.

use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::Bytes;
use iostone_model::verdict::Flag;

use crate::gates::MEMORY;

/// A smaller share than this is what an unfinished request or a counter's moment can explain.
const WORTH_SAYING: f64 = 0.10;

/// A flag for each configuration much of whose traffic never reached the device.
pub(super) fn page_cache(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    plan.experiment
        .configurations
        .iter()
        .filter_map(|configuration| {
            // Read and written.
            let (mut claims, mut answers, mut device) = ([0u64; 2], [0u64; 2], String::new());
            let (mut in_memory, mut compressed) = (false, None);
            let counted = trials.iter().filter(|trial| {
                trial.configuration == configuration.name
                    && blocks.iter().any(|block| block.counted && block.number == trial.block)
            });
            for trial in counted {
                in_memory |= trial.container.as_ref().is_some_and(|container| container.place == MEMORY);
                compressed = compressed.or_else(|| trial.compressed_by(&configuration.stack));
                let footing = trial.signals.footing()?;
                device = footing.name;
                let (report, counters) = (&trial.workload, footing.served);
                claims[0] += report.claimed_read_bytes;
                claims[1] += report.claimed_written_bytes;
                answers[0] += counters.read_bytes;
                answers[1] += counters.written_bytes;
            }
            if in_memory {
                return Some(Flag::new(
                    "in-memory",
                    format!(
                        "under {} the workload worked in memory (`container.place = \"{MEMORY}\"`): none of its bytes were \
                         to reach {device}, and nothing of it outlives the container",
                        configuration.name
                    ),
                ));
            }
            // Each direction by itself: metadata and journals that were written make up for nothing that memory answered.
            let missing: u64 =
                claims.iter().zip(answers).map(|(claimed, served)| claimed.saturating_sub(served)).sum();
            let claimed: u64 = claims.iter().sum();
            let served = claimed - missing;
            (claimed > 0 && missing as f64 > WORTH_SAYING * claimed as f64).then(|| {
                if let Some(by) = &compressed {
                    return Flag::new(
                        "compressed",
                        format!(
                            "under {} the workload claims {} and {device} served {} of them: compressed by {by}, so that \
                             served bytes say nothing about the page cache",
                            configuration.name,
                            Bytes(claimed).approximate(),
                            Bytes(served).approximate()
                        ),
                    );
                }
                Flag::new(
                    "page-cache",
                    format!(
                        "under {} the workload claims {} but {device} served {} of them during the trials: {:.0} % is \
                         page cache, not the device",
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

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, trial};
    use super::*;

    #[test]
    fn writes_beyond_the_claim_make_up_for_no_reads() {
        // Its device wrote 1 GiB and read nothing.
        let mut one = trial(1, 0, 0, "on", 1.0, 0);
        one.workload.claimed_read_bytes = 256 << 20;
        one.workload.claimed_written_bytes = 256 << 20;
        let blocks = [BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None }];
        let flags = |one: &TrialRecord| page_cache(&plan("", ""), std::slice::from_ref(one), &blocks);
        let [flag] = &flags(&one)[..] else { panic!("one flag") };
        assert_eq!(flag.name, "page-cache");
        assert!(flag.message.contains("50 % is page cache"), "{}", flag.message);
        one.workload.claimed_read_bytes = 0;
        assert_eq!(flags(&one), []);
    }
}
