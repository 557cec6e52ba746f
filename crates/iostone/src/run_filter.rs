//! Which runs a command means, in the words of its command line.

use clap::Args;
use iostone_lab::{RunFilter, moment};
use iostone_model::verdict::Verdict;
use jiff::Timestamp;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which runs")]
pub(crate) struct RunFilterArguments {
    /// Runs of this experiment only; `*` stands for any part, as in `ext4-*`
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// Runs on this host only; `*` as above
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Runs under this kernel only, as in `6.1.*`
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// Runs in which some level came to this verdict: faster, slower, equivalent, undecided, unstable
    #[arg(long, value_name = "WORD", value_parser = verdict)]
    verdict: Option<Verdict>,
    /// Runs since a date (2026-11-21, UTC), a time, or so long ago (12h, 7d, 4w)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,
    /// Runs until then, the day included
    #[arg(long, value_name = "WHEN", value_parser = until)]
    until: Option<Timestamp>,
    /// Runs with this tag only; repeatable
    #[arg(long, value_name = "NAME")]
    tag: Vec<String>,
}

impl RunFilterArguments {
    pub(crate) fn filter(&self) -> RunFilter {
        RunFilter {
            experiment: self.experiment.clone(),
            host: self.host.clone(),
            kernel: self.kernel.clone(),
            verdict: self.verdict,
            since: self.since,
            until: self.until,
            tags: self.tag.clone(),
        }
    }
}

fn verdict(typed: &str) -> Result<Verdict, String> {
    let all = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, Verdict::Undecided, Verdict::Unstable];
    let words = || all.map(Verdict::word).join(", ");
    all.into_iter().find(|one| one.word() == typed).ok_or_else(|| format!("expected one of {}", words()))
}

fn since(typed: &str) -> Result<Timestamp, String> {
    moment(typed, false, Timestamp::now())
}

fn until(typed: &str) -> Result<Timestamp, String> {
    moment(typed, true, Timestamp::now())
}
