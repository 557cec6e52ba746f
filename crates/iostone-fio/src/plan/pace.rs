//! Rates, pauses, limits of latency, steady state, logs by time.

use std::time::Duration;

use iostone_engine::{Job, LeastRate, Pace, Rate, SteadyLimit, SteadyOf, SteadyRule, Think};
use iostone_model::load::PerDirection;
use iostone_model::units::{Bytes, BytesPerSecond, Span};

use crate::job_file::Section;
use crate::plan::Planner;
use crate::values::SteadyState;

impl Planner<'_> {
    pub(super) fn plan_pace(&mut self, section: &Section, job: &mut Job) {
        let options = &section.options;
        job.pace = Pace {
            rate: rates(section, &options.rate, &options.rate_iops),
            arrivals: options.rate_process.unwrap_or_default(),
        };
        let least = rates(section, &options.rate_min, &options.rate_iops_min);
        if least.read.is_some() || least.write.is_some() || least.trim.is_some() {
            let cycle = options.rate_cycle.unwrap_or(Span(Duration::from_secs(1)));
            job.least_rate = Some(LeastRate { rate: least, cycle });
        }
        job.think = self.think(section);
        job.max_latency = self.max_latency(section);
        job.steady = self.steady(section);
        self.check_logs(section);
    }

    fn think(&mut self, section: &Section) -> Option<Think> {
        let options = &section.options;
        let time = options.thinktime.filter(|time| !time.0.is_zero())?;
        let io_time = options.thinktime_iotime.filter(|time| !time.0.is_zero());
        if io_time.is_some() && options.thinktime_blocks.is_some() {
            self.refuse(
                section,
                "thinktime_blocks",
                "pauses come after a number of I/Os or after a time, not both",
            );
        }
        let spin = options.thinktime_spin.unwrap_or_default().min(time);
        Some(Think { time, spin, every: options.thinktime_blocks.unwrap_or(1), io_time })
    }

    fn max_latency(&mut self, section: &Section) -> Option<Span> {
        let options = &section.options;
        let directions = options.access().rw.directions();
        let mut limits = directions
            .map(|direction| options.max_latency.of(direction).filter(|limit: &Span| !limit.0.is_zero()));
        let first = limits.next().flatten();
        if limits.any(|limit| limit != first) {
            self.refuse(section, "max_latency", "one limit holds for all directions of a job");
        }
        first
    }

    fn steady(&mut self, section: &Section) -> Option<SteadyRule> {
        let options = &section.options;
        let over = options.steadystate_duration.filter(|over| !over.0.is_zero())?;
        // fio's criterion where only the window is given.
        let default = SteadyState { of: SteadyOf::IopsSlope, limit: SteadyLimit::Percent(0.01) };
        let SteadyState { of, limit } = options.steadystate.unwrap_or(default);
        if options.group_reporting == Some(true) && options.numjobs.is_some_and(|clones| clones > 1) {
            let place = section.place_of("steadystate").unwrap_or(&section.place).clone();
            self.remark(
                &place,
                "each clone is judged by itself, where fio judges those reported together as one",
            );
        }
        Some(SteadyRule {
            of,
            limit,
            over,
            ramp: options.steadystate_ramp_time.unwrap_or_default(),
            interval: options
                .steadystate_check_interval
                .filter(|interval| !interval.0.is_zero())
                .unwrap_or(Span(Duration::from_secs(1))),
        })
    }

    /// Figures over time are kept by 100 ms, not by I/O.
    fn check_logs(&mut self, section: &Section) {
        let options = &section.options;
        let asked = [
            ("write_bw_log", &options.write_bw_log),
            ("write_lat_log", &options.write_lat_log),
            ("write_iops_log", &options.write_iops_log),
        ];
        let span = options.log_avg_msec.unwrap_or_default().0;
        let is_whole = !span.is_zero() && span.as_millis().is_multiple_of(100);
        for (name, log) in asked {
            if log.is_some() && !is_whole {
                let why = "logs hold averages: it needs a `log_avg_msec` that is a multiple of 100";
                self.refuse(section, name, why);
            }
        }
    }
}

/// By bytes or by I/Os; a rate of 0 is none. Directions that the job does not go in have none.
fn rates(
    section: &Section,
    bytes: &PerDirection<Option<Bytes>>,
    ios: &PerDirection<Option<u32>>,
) -> PerDirection<Option<Rate>> {
    let mut rates = PerDirection::default();
    for direction in section.options.access().rw.directions() {
        let by_bytes = bytes.of(direction).filter(|rate| rate.0 > 0);
        let by_ios = ios.of(direction).filter(|rate| *rate > 0);
        *rates.of_mut(direction) = by_bytes
            .map(|rate| Rate::Bytes(BytesPerSecond(rate.0 as f64)))
            .or(by_ios.map(|rate| Rate::Iops(rate.into())));
    }
    rates
}
