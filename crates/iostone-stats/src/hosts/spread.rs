//! How far hosts lie apart, how far blocks of a host do, and what that means for the next host.

use crate::median::sort;
use crate::special::student_critical;

/// The parts of the spread, as standard deviations of log figures or log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Between blocks of one host.
    pub block: f64,
    /// Between hosts, that of their blocks taken off.
    pub host: f64,
    /// Blocks of a host, on average.
    pub blocks: f64,
}

impl Components {
    /// By analysis of variance, from the blocks of each host; none below two hosts or without a second block of any.
    pub fn of(hosts: &[Vec<f64>]) -> Option<Self> {
        let hosts: Vec<&Vec<f64>> = hosts.iter().filter(|host| !host.is_empty()).collect();
        let h = hosts.len() as f64;
        let all: f64 = hosts.iter().map(|host| host.len() as f64).sum();
        if hosts.len() < 2 || all <= h {
            return None;
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let grand = hosts.iter().flat_map(|host| host.iter()).sum::<f64>() / all;
        let within: f64 =
            hosts.iter().map(|host| host.iter().map(|block| (block - mean(host)).powi(2)).sum::<f64>()).sum();
        let between: f64 = hosts.iter().map(|host| host.len() as f64 * (mean(host) - grand).powi(2)).sum();
        // What unequal numbers of blocks come to on average (Searle, Casella and McCulloch 1992, 3.6).
        let blocks =
            (all - hosts.iter().map(|host| (host.len() as f64).powi(2)).sum::<f64>() / all) / (h - 1.0);
        let of_block = within / (all - h);
        let of_host = ((between / (h - 1.0) - of_block) / blocks).max(0.0);
        Some(Self { block: of_block.sqrt(), host: of_host.sqrt(), blocks })
    }

    /// Whether only further hosts make an estimate better: hosts lie further apart than the mean of a host's blocks is uncertain.
    pub fn needs_hosts(&self) -> bool {
        self.host > self.block / self.blocks.max(1.0).sqrt()
    }
}

/// Where the next host's value will lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextHost {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// Whether it assumes that hosts vary normally. From 39 hosts on, at 95 %, it does not.
    pub assumes_normal: bool,
}

impl NextHost {
    /// From hosts' values: between order statistics where there are enough hosts, else by Student's law. None below three.
    pub fn of(values: &[f64], confidence: f64) -> Option<Self> {
        let sorted = sort(values);
        let n = sorted.len() as f64;
        // The next of n + 1 exchangeable hosts is beyond the r-th from either end with chance 2 r / (n + 1).
        let outside = ((n + 1.0) * (1.0 - confidence) / 2.0 + 1e-9).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of hosts")]
        let outside = outside as usize;
        if let Some(place) = outside.checked_sub(1) {
            let upper = *sorted.get(sorted.len().checked_sub(outside)?)?;
            return Some(Self { lower: *sorted.get(place)?, upper, assumes_normal: false });
        }
        if sorted.len() < 3 {
            return None;
        }
        let mean = sorted.iter().sum::<f64>() / n;
        let deviation = (sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let reach = student_critical(1.0 - confidence, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
        Some(Self { lower: mean - reach, upper: mean + reach, assumes_normal: true })
    }
}
