//! The `command` workload: any program, started without a shell, timed by wait4(2), with figures picked from its output.

mod preparation;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::CommandWorkload;
use iostone_model::trial::WorkloadReport;

use crate::picked::pick;
use crate::program::{Finished, Program};
use crate::{Measurement, Place, Prepared, TrialContext, WorkloadError};

pub(crate) use preparation::{directory_as_program, missing_program, not_executable, preflight};

struct PreparedCommand {
    spec: CommandWorkload,
    program: Program,
}

pub(crate) fn prepare(
    spec: &CommandWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let mut program = Program::in_trial(spec.argv.clone(), place, context, "command")?;
    let own = std::mem::take(&mut program.environment);
    program.environment = spec.env.clone().into_iter().chain(own).collect();
    if let Some(directory) = &spec.directory {
        program.directory.clone_from(directory);
    }
    preparation::carry_out(spec, &program, stop)?;
    program.timeout = spec.timeout.map(|timeout| timeout.0);
    Ok(Box::new(PreparedCommand { spec: spec.clone(), program }))
}

impl Prepared for PreparedCommand {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let finished = self.program.run(stop)?;
        Ok(self.measurement(&finished))
    }
}

impl PreparedCommand {
    /// Its times, and what is picked from its output; one that is missing fails them all.
    fn figures(&self, finished: &Finished) -> Result<BTreeMap<String, f64>, String> {
        let mut figures = BTreeMap::from([
            ("wall_time".to_owned(), finished.wall.as_secs_f64()),
            ("user_time".to_owned(), finished.cpu.user_seconds),
            ("system_time".to_owned(), finished.cpu.system_seconds),
        ]);
        for (name, metric) in &self.spec.metrics {
            figures.insert(name.clone(), pick(name, metric, finished)?);
        }
        Ok(figures)
    }

    fn measurement(&self, finished: &Finished) -> Measurement {
        let (metrics, error) = match &finished.error {
            Some(error) => (BTreeMap::new(), Some(error.clone())),
            None => match self.figures(finished) {
                Ok(metrics) => (metrics, None),
                Err(missing) => (BTreeMap::new(), Some(missing)),
            },
        };
        let report = WorkloadReport {
            kind: "command".to_owned(),
            measured_seconds: finished.wall.as_secs_f64(),
            error,
            errno: finished.errno(),
            facts: BTreeMap::from([
                ("argv".to_owned(), self.spec.argv.join(" ")),
                ("status".to_owned(), finished.status.clone()),
            ]),
            stderr_tail: finished.stderr_tail(),
            ..WorkloadReport::default()
        };
        Measurement {
            metrics,
            report,
            raw: finished.raw(""),
            interrupted: finished.interrupted,
            cpu: Some(finished.cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::Span;
    use std::time::Duration;

    fn run(argv: &[&str], timeout: Option<Span>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let directory = tempfile::tempdir().unwrap();
        let spec = CommandWorkload {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            timeout,
            ..CommandWorkload::default()
        };
        let place = Place { directory: Some(directory.path().to_owned()), device: None };
        let context = TrialContext {
            number: 7,
            configuration: "off".to_owned(),
            seed: 1,
            marker: ("IOSTONE_RUN".to_owned(), "test".to_owned()),
            groups: Vec::new(),
        };
        prepare(&spec, &place, &context, &AtomicBool::new(false))?.run(stop)
    }

    #[test]
    fn a_program_sees_its_trial_and_its_output_is_kept() {
        let script = "pwd; echo $IOSTONE_TRIAL $IOSTONE_CONFIGURATION $IOSTONE_MOUNT; echo oops >&2";
        let measurement = run(&["sh", "-c", script], None, &AtomicBool::new(false)).unwrap();
        let stdout = &measurement.raw[0].text;
        let (directory, rest) = stdout.split_once('\n').unwrap();
        assert_eq!(rest, format!("7 off {directory}\n"));
        assert_eq!(measurement.report.stderr_tail.as_deref(), Some("oops\n"));
        assert!(measurement.report.error.is_none());
        assert!(measurement.metrics["wall_time"] > 0.0);
    }

    #[test]
    fn cpu_time_of_descendants_is_counted() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let nested = format!("sh -c '{busy}'");
        let measurement = run(&["sh", "-c", &nested], None, &AtomicBool::new(false)).unwrap();
        assert!(measurement.metrics["user_time"] > 0.0);
    }

    #[test]
    fn a_failing_program_yields_no_figures_but_a_reason() {
        let measurement = run(&["sh", "-c", "exit 3"], None, &AtomicBool::new(false)).unwrap();
        assert_eq!(measurement.report.error.as_deref(), Some("`sh` ended with status 3"));
        assert!(measurement.metrics.is_empty());
        let measurement = run(&["sh", "-c", "kill -9 $$"], None, &AtomicBool::new(false)).unwrap();
        assert_eq!(measurement.report.error.as_deref(), Some("`sh` was ended by signal 9"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&["no-such-program-here"], None, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("`no-such-program-here` could not be started"));
    }

    #[test]
    fn a_timeout_ends_the_whole_session() {
        let limit = Span(Duration::from_millis(100));
        let measurement =
            run(&["sh", "-c", "sleep 60 & sleep 60"], Some(limit), &AtomicBool::new(false)).unwrap();
        assert!(measurement.report.error.unwrap().contains("timeout of 100ms"));
    }

    #[test]
    fn an_interrupt_ends_it() {
        let measurement = run(&["sleep", "60"], None, &AtomicBool::new(true)).unwrap();
        assert!(measurement.interrupted);
    }

    #[test]
    fn a_background_process_does_not_hold_the_trial_up() {
        let measurement = run(&["sh", "-c", "sleep 60 & echo done"], None, &AtomicBool::new(false)).unwrap();
        assert!(measurement.report.measured_seconds < 30.0);
        assert_eq!(measurement.raw[0].text, "done\n");
    }
}
