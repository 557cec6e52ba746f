//! What `iostone limit` is asked for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use iostone_model::experiment::{
    AllowanceStart, CpuLimit, CpuQuota, DEFAULT_PERIOD, FASTEST_SPEED, Governor, LEAST_EXACT_PERIOD,
    LONGEST_PERIOD, Limit, SHORTEST_PERIOD,
};
use iostone_model::units::{Bytes, Fraction, Span};

use crate::output_file::Overwrite;

/// Runs a command under limits and reports where its time went.
///
/// The command has this terminal, its own standard streams and its signals; Ctrl-C reaches it. Once it has ended, the limits
/// are taken away and a table of its time goes to standard error. The status is the command's own: its exit code, 128 and
/// the number of the signal that ended it, 127 if it is not found, 126 if it cannot be executed. What keeps it from
/// being begun is said as an `error:` with the codes of `iostone --help`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LimitArguments {
    /// CPU time as a share of one processor, as in `30%` or `150%`, or `none`
    #[arg(value_name = "SHARE", default_value = "none", value_parser = read_share)]
    share: Share,
    /// Period of the CPU quota, 1ms to 1s: in each, the command runs at full speed until its quota is used up
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    period: Span,
    /// Unused CPU time that may be carried over to later periods, at most one period's quota
    #[arg(long, value_name = "TIME")]
    burst: Option<Span>,
    /// Memory limit, page cache included
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// CPUs that the command may use, as in `0`, `0-1` or `0,2-3`
    #[arg(long, value_name = "LIST")]
    cpuset: Option<String>,
    /// Emulate the CPU allowance of an instance type within the limit, as in `t1.micro`; see `iostone credits --list`
    #[arg(long, value_name = "TYPE")]
    governed: Option<String>,
    /// Spend and earn the allowance this many times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "governed")]
    speed: f64,
    /// The model of the type's allowance
    #[arg(long, value_name = "NAME", requires = "governed")]
    law: Option<String>,
    /// Credits at the start
    #[arg(long, value_enum, default_value = "launch", requires = "governed")]
    start: Start,
    /// Print the figures as JSON on stdout; the command's own output then goes to stderr, unless --output is given
    #[arg(long)]
    pub(super) json: bool,
    /// Write the table or the JSON to this file
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) overwrite: Overwrite,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

const HELP: &str = "\
Needs root, or a cgroup delegated to this user:
  iostone limit 30% -- make -j1
  iostone limit 150% --memory 512MiB -- make -j2
  iostone limit 30% --governed t1.micro --speed 20 -- make
Processes that the command leaves running are killed when its limits are removed.";

/// `none` or a share of one processor.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Share {
    None,
    Of(Fraction),
}

fn read_share(text: &str) -> Result<Share, String> {
    if text == "none" {
        return Ok(Share::None);
    }
    match text.parse::<Fraction>() {
        Ok(share) if share.0 > 0.0 && share.0.is_finite() => Ok(Share::Of(share)),
        _ => Err("expected a share of a processor such as `30%` or `150%`, or `none`".to_owned()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Start {
    /// Those of a newly launched instance
    Launch,
    /// The maximum balance
    Full,
    /// None
    Empty,
}

impl LimitArguments {
    /// What the command may use.
    ///
    /// # Errors
    /// A quota that the kernel would refuse.
    pub(super) fn limit(&self) -> Result<Limit> {
        let limit = Limit { cpu: self.cpu()?, memory: self.memory, cpuset: self.cpuset.clone(), io: None };
        if let Some(problem) = limit.problems().into_iter().next() {
            bail!("{}: {}: {}", self.written(problem.key), problem.message, problem.expected);
        }
        Ok(limit)
    }

    /// A key of the limit as it stands on the command line.
    fn written(&self, key: &str) -> String {
        match (key, self.share, self.memory, &self.cpuset) {
            ("cpu", Share::Of(share), _, _) => format!("`{share}`"),
            ("memory", _, Some(memory), _) => format!("`--memory {memory}`"),
            ("cpuset", _, _, Some(cpuset)) => format!("`--cpuset {cpuset}`"),
            _ => key.to_owned(),
        }
    }

    fn cpu(&self) -> Result<CpuLimit> {
        let Share::Of(share) = self.share else {
            if self.burst.is_some() || self.period.0 != DEFAULT_PERIOD {
                bail!(
                    "`--period` and `--burst` are of a share of CPU time: give one, as in `iostone limit 30%`"
                );
            }
            return Ok(CpuLimit::None);
        };
        let period = self.period.0;
        if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&period) {
            bail!("`--period {}`: the kernel takes 1ms to 1s", self.period);
        }
        let mut quota = CpuQuota::over(share, period);
        if quota.quota < SHORTEST_PERIOD {
            // Not what the kernel would just take: it has to keep the share too.
            let least = (SHORTEST_PERIOD.as_secs_f64() / share.0).max(LEAST_EXACT_PERIOD.as_secs_f64());
            let advice = if least <= LONGEST_PERIOD.as_secs_f64() {
                let longer = Duration::from_secs_f64((least * 1e3).ceil() / 1e3);
                format!("try `--period {}`", Span(longer))
            } else {
                "0.1% of `--period 1s` is the least that can be had".to_owned()
            };
            bail!(
                "{share} of a period of {} is {}, and the kernel takes no quota below 1ms; {advice}",
                self.period,
                Span(quota.quota)
            );
        }
        quota.burst = self.burst.map(|burst| burst.0);
        if let Some(burst) = self.burst.filter(|burst| burst.0 > quota.quota) {
            bail!(
                "`--burst {burst}` is above the quota of {} in each period, which the kernel refuses; at most that can \
                 be kept for later",
                Span(quota.quota)
            );
        }
        Ok(CpuLimit::Quota(quota))
    }

    /// The emulated allowance; none if none was asked for.
    ///
    /// # Errors
    /// A type or a law that is not known, a speed that is none.
    pub(super) fn governor(&self) -> Result<Option<Governor>> {
        let Some(instance) = &self.governed else { return Ok(None) };
        if !(1.0..=FASTEST_SPEED).contains(&self.speed) {
            bail!(
                "`--speed {}`: expected a factor from 1 to {FASTEST_SPEED}, as in `--speed 20`",
                self.speed
            );
        }
        let allowance = iostone_cloud::allowance(instance, self.law.as_deref())?;
        let start = match self.start {
            Start::Launch => AllowanceStart::Launch,
            Start::Full => AllowanceStart::Full,
            Start::Empty => AllowanceStart::Empty,
        };
        Ok(Some(Governor { allowance, speed: self.speed, start }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: LimitArguments,
    }

    fn limit(line: &str) -> Result<Limit, String> {
        let words = ["limit"].into_iter().chain(line.split(' ')).chain(["--", "true", "--json"]);
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        assert_eq!(line.arguments.command, ["true", "--json"]);
        line.arguments.limit().map_err(|error| error.to_string())
    }

    #[test]
    fn shares_are_of_one_processor() {
        let share = |line: &str| limit(line).unwrap().cpu.quota().map(|quota| quota.share());
        assert_eq!(share("30%"), Some(0.3));
        assert_eq!(share("150% --period 10ms"), Some(1.5));
        assert_eq!(share("none"), None);
        assert_eq!(share("--memory 64MiB"), None);
        let burst = limit("20% --burst 20ms").unwrap().cpu.quota().unwrap().burst;
        assert_eq!(burst, Some(Duration::from_millis(20)));
    }

    #[test]
    fn quotas_that_the_kernel_refuses_are_refused_with_what_would_do() {
        let refused = |line: &str| limit(line).unwrap_err();
        assert!(refused("0.5%").contains("try `--period 200ms`"), "{}", refused("0.5%"));
        assert!(refused("0.01%").contains("0.1% of `--period 1s`"), "{}", refused("0.01%"));
        // The kernel would take 2ms, and not keep the share.
        assert!(
            refused("50% --period 1ms").contains("try `--period 10ms`"),
            "{}",
            refused("50% --period 1ms")
        );
        assert!(refused("20% --burst 21ms").contains("above the quota of 20ms"));
        assert!(refused("20% --period 2s").contains("1ms to 1s"));
        assert!(refused("none --burst 1ms").contains("give one"));
        let most = refused("9999999999999999999999%");
        assert!(most.contains("more than 8192 processors"), "{most}");
        for wrong in ["0%", "-3%", "lots", "nan%"] {
            let said = refused(wrong);
            assert!(said.contains("such as `30%`") || said.contains("unexpected"), "{said}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_as_it_was_typed() {
        let refused = |line: &str| limit(line).unwrap_err();
        assert!(
            refused("30% --memory 1KiB").starts_with("`--memory 1KiB`: "),
            "{}",
            refused("30% --memory 1KiB")
        );
        assert!(refused("--memory 9999999TiB").contains("the kernel does not accept a limit of 9999999TiB"));
        let beyond = refused("30% --cpuset 0-99999999");
        assert!(beyond.starts_with("`--cpuset 0-99999999`: there is no processor 99999999"), "{beyond}");
    }

    #[test]
    fn an_allowance_is_no_faster_than_it_can_be_kept() {
        for speed in ["0.5", "1e300", "nan", "101"] {
            let words = ["limit", "none", "--governed", "t1.micro", "--speed", speed, "--", "true"];
            let line = Line::try_parse_from(words).unwrap();
            let said = line.arguments.governor().unwrap_err().to_string();
            assert!(said.contains("from 1 to 100"), "{said}");
        }
    }
}
