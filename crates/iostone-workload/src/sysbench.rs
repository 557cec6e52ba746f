//! The `sysbench` workload: its fileio test on files that are laid out first, and its cpu test.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostone_model::experiment::{SysbenchTest, SysbenchWorkload};

use crate::program::{Finished, Program, patience};
use crate::tool::{self, in_plain_words, measurement, observe, prepare_with, settle_files};
use crate::{Measurement, Place, Prepared, TrialContext, WorkloadError};

struct PreparedSysbench {
    spec: SysbenchWorkload,
    program: Program,
    version: String,
}

/// Finds out whether the sysbench that is installed knows what is asked of it.
///
/// # Errors
/// A warm-up of a version that has none: only those after 1.0 do.
pub(crate) fn preflight(spec: &SysbenchWorkload) -> Result<(), WorkloadError> {
    if spec.warm_up.is_none() || tool::ask("sysbench", "--help")?.contains("--warmup-time") {
        return Ok(());
    }
    let version = tool::version("sysbench", "--version")?;
    let reason = format!("`{version}` has no `--warmup-time`; leave `workload.warm_up` out");
    Err(WorkloadError::Unsuitable { program: "sysbench", reason })
}

pub(crate) fn prepare(
    spec: &SysbenchWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let version = tool::version("sysbench", "--version")?;
    let plain = |step| {
        let argv = arguments(spec, context.seed, step);
        Program::in_trial(argv, place, context, "sysbench").map(in_plain_words)
    };
    if lays_out(spec) {
        let layout = plain("prepare")?.unlimited();
        prepare_with(&layout, stop)?;
        settle_files(&layout.directory)?;
    }
    let mut program = plain("run")?;
    let asked = u64::from(spec.seconds) + u64::from(spec.warm_up.unwrap_or(0));
    program.timeout = Some(patience(Duration::from_secs(asked)));
    Ok(Box::new(PreparedSysbench { spec: spec.clone(), program, version }))
}

/// `seqwr` makes its files itself; that is what it measures.
fn lays_out(spec: &SysbenchWorkload) -> bool {
    spec.test == SysbenchTest::Fileio && spec.file_test_mode.as_deref() != Some("seqwr")
}

/// sysbench's command line for one of its steps.
fn arguments(spec: &SysbenchWorkload, seed: u64, step: &str) -> Vec<String> {
    let mut argv = vec!["sysbench".to_owned(), spec.test.word().to_owned()];
    let mut add = |name: &str, value: Option<String>| {
        argv.extend(value.map(|value| format!("--{name}={value}")));
    };
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    add("threads", Some(spec.threads.to_string()));
    add("time", Some(spec.seconds.to_string()));
    add("warmup-time", number(spec.warm_up));
    // It takes 31 bits, and 0 is the clock.
    add("rand-seed", Some(((seed & 0x7fff_ffff) | 1).to_string()));
    add("histogram", Some("on".to_owned()));
    if spec.test == SysbenchTest::Fileio {
        add("file-total-size", Some(spec.room().0.to_string()));
        add("file-num", number(spec.file_num));
        add("file-block-size", spec.file_block_size.map(|size| size.0.to_string()));
        add("file-test-mode", spec.file_test_mode.clone());
        add("file-io-mode", spec.file_io_mode.clone());
        let flags = (!spec.file_extra_flags.is_empty()).then(|| spec.file_extra_flags.join(","));
        add("file-extra-flags", flags);
        add("file-fsync-freq", number(spec.file_fsync_freq));
    } else {
        add("cpu-max-prime", number(spec.cpu_max_prime));
    }
    argv.push(step.to_owned());
    argv
}

impl Prepared for PreparedSysbench {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = self.program.run(stop)?;
        Ok(self.measurement(&finished))
    }
}

impl PreparedSysbench {
    fn measurement(&self, finished: &Finished) -> Measurement {
        let mut measured = measurement("sysbench", &self.program, &self.version, finished);
        measured.take(observe("sysbench", &finished.stdout));
        // It may go on after a failed request and end as if nothing had been.
        if let Some(said) = finished.stderr.lines().find(|line| line.starts_with("FATAL:"))
            && measured.report.error.is_none()
        {
            measured.report.error = Some(format!("sysbench failed, saying: {}", said.trim()));
            measured.metrics.clear();
        }
        measured.report.latency_histogram = histogram(&finished.stdout);
        measured.report.must_reach_device = self.spec.is_direct();
        if lays_out(&self.spec) {
            let words =
                "by `sysbench prepare` before the trial, written back and dropped from the page cache";
            measured.state("laid_out", words);
        }
        measured
    }
}

/// The buckets of `--histogram=on`: nanoseconds and how many requests took so long. A line is `0.214 |***  7`, its
/// value in milliseconds.
fn histogram(text: &str) -> Vec<(u64, u64)> {
    let buckets = text
        .lines()
        .skip_while(|line| !line.starts_with("Latency histogram"))
        .skip(2)
        .map_while(|line| {
            let (value, rest) = line.split_once('|')?;
            let milliseconds: f64 = value.trim().parse().ok()?;
            let time = Duration::try_from_secs_f64(milliseconds / 1e3).ok()?;
            let count: u64 = rest.trim_start_matches(['*', '-']).trim().parse().ok()?;
            Some((u64::try_from(time.as_nanos()).ok()?, count))
        })
        .filter(|(_, count)| *count > 0);
    // Below a microsecond several buckets are printed alike.
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (ns, count) in buckets {
        match merged.last_mut() {
            Some(last) if last.0 == ns => last.1 += count,
            _ => merged.push((ns, count)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::Bytes;

    fn spec(test: SysbenchTest) -> SysbenchWorkload {
        SysbenchWorkload {
            test,
            threads: 2,
            seconds: 1,
            warm_up: None,
            file_total_size: None,
            file_num: None,
            file_block_size: None,
            file_test_mode: None,
            file_io_mode: None,
            file_extra_flags: Vec::new(),
            file_fsync_freq: None,
            cpu_max_prime: None,
        }
    }

    #[test]
    fn options_are_spelt_as_sysbench_spells_them() {
        let mut fileio = spec(SysbenchTest::Fileio);
        fileio.file_total_size = Some(Bytes(16 << 20));
        fileio.file_num = Some(4);
        fileio.file_test_mode = Some("rndrw".to_owned());
        fileio.file_extra_flags = vec!["direct".to_owned(), "dsync".to_owned()];
        fileio.file_fsync_freq = Some(0);
        assert_eq!(
            arguments(&fileio, 6, "run").join(" "),
            "sysbench fileio --threads=2 --time=1 --rand-seed=7 --histogram=on --file-total-size=16777216 \
             --file-num=4 --file-test-mode=rndrw --file-extra-flags=direct,dsync --file-fsync-freq=0 run"
        );
        assert_eq!(
            arguments(&spec(SysbenchTest::Cpu), 0, "run").join(" "),
            "sysbench cpu --threads=2 --time=1 --rand-seed=1 --histogram=on run"
        );
    }

    #[test]
    fn only_a_test_that_makes_its_files_itself_is_not_laid_out() {
        let mut fileio = spec(SysbenchTest::Fileio);
        fileio.file_test_mode = Some("seqwr".to_owned());
        assert!(!lays_out(&fileio) && !lays_out(&spec(SysbenchTest::Cpu)));
        fileio.file_test_mode = Some("seqrd".to_owned());
        assert!(lays_out(&fileio));
    }

    #[test]
    fn a_histogram_is_read_to_its_end() {
        let text = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.001 |**                                       11
       0.001 |*                                        7
       0.218 |**************************************** 31
      12.500 |                                         1

CPU speed:
";
        assert_eq!(histogram(text), [(1000, 18), (218_000, 31), (12_500_000, 1)]);
        assert_eq!(histogram("nothing"), []);
    }
}
