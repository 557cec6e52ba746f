//! Where and how urgently a thread runs: its processors, its niceness, and how exactly it is woken.

use std::num::NonZeroU64;

use rustix::process::nice;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

use crate::error::EngineError;
use crate::job::Job;

/// Settles thread `number` of a job where the job wants it.
///
/// # Errors
/// [`EngineError::Processors`] when the kernel refuses a processor or a niceness.
pub(crate) fn settle(job: &Job, number: u32) -> Result<(), EngineError> {
    if !job.cpus.is_empty() {
        let mut set = CpuSet::new();
        let own = job.cpus.get(number as usize % job.cpus.len());
        for cpu in job.cpus.iter().filter(|cpu| !job.one_cpu_each || Some(*cpu) == own) {
            let index = usize::try_from(*cpu).ok().filter(|cpu| *cpu < CpuSet::MAX_CPU);
            let Some(index) = index else {
                return Err(EngineError::Invalid {
                    field: "cpus_allowed",
                    value: cpu.to_string(),
                    reason: format!("processors are numbered from 0 to {}", CpuSet::MAX_CPU - 1),
                });
            };
            set.set(index);
        }
        sched_setaffinity(None, &set).map_err(|errno| EngineError::Processors {
            what: "run on the processors of `cpus_allowed`",
            source: errno.into(),
        })?;
    }
    if job.nice != 0 {
        // On Linux a niceness belongs to a thread.
        nice(job.nice).map_err(|errno| EngineError::Processors {
            what: "take the niceness of `nice`",
            source: errno.into(),
        })?;
    }
    if job.pace.is_open_loop() || job.think.is_some() {
        // By default the kernel may wake a sleeper 50 us late, to save energy; prctl(2), PR_SET_TIMERSLACK. Without
        // leave to change it arrivals are a little late, and their response times say so.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::Rw;

    fn settle_elsewhere(change: impl FnOnce(&mut Job) + Send + 'static) -> Result<(), String> {
        // On a thread of its own, since what is settled stays.
        let thread = std::thread::spawn(move || {
            let mut job = Job::new("/dev/null", Rw::Read);
            change(&mut job);
            settle(&job, 0).map_err(|error| error.to_string())
        });
        thread.join().unwrap()
    }

    #[test]
    fn a_thread_runs_where_it_is_told_to() {
        settle_elsewhere(|job| job.cpus = vec![0]).unwrap();
        settle_elsewhere(|job| job.nice = 1).unwrap();
        let error = settle_elsewhere(|job| job.cpus = vec![100_000]).unwrap_err();
        assert!(error.contains("`cpus_allowed` of `100000`"), "{error}");
        let error = settle_elsewhere(|job| job.cpus = vec![1023]).unwrap_err();
        assert!(error.contains("processors of `cpus_allowed`"), "{error}");
    }
}
