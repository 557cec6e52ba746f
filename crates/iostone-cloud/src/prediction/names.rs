//! The names of ceilings and their buckets: each with its own figure.

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::{Basis, Law};
use iostone_model::metric::Unit;
use iostone_model::units::{ByteRate, Span, three_digits};

use super::{Route, RouteCpu, Work};
use crate::ceiling::{Counted, Lane};

/// "62.5MB/s".
fn rate(bytes: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is positive")]
    let whole = bytes.round() as u64;
    ByteRate(whole).to_string()
}

/// "3000", "0.3".
fn plain(value: f64) -> String {
    if (value - value.round()).abs() < 1e-6 * value.abs().max(1.0) {
        format!("{value:.0}")
    } else {
        three_digits(value)
    }
}

/// "reads of ", "writes of ", or nothing where both count.
fn side(lane: &Lane) -> &'static str {
    match (lane.read_cost > 0.0, lane.write_cost > 0.0) {
        (true, false) => "reads at ",
        (false, true) => "writes at ",
        _ => "",
    }
}

impl Route {
    /// A ceiling with its figure: "660 IOPS of gp2:220GiB, 3000 while credits last".
    pub fn name(&self, lane: &Lane, work: &Work) -> String {
        let figure = |units: f64| match lane.counted {
            Counted::Bytes => rate(units),
            Counted::Ios => format!("{} IOPS", plain(units)),
            Counted::CpuSeconds | Counted::IoSeconds => plain(units),
        };
        let shares = if matches!(lane.kind, CeilingKind::Array) { self.joined.reads } else { 1.0 };
        let burst = lane.burst.filter(|burst| burst.rate > lane.base);
        let more = burst.map(|burst| {
            let units = burst.rate / shares;
            let figure = if lane.counted == Counted::Ios { plain(units) } else { figure(units) };
            format!(", {figure} while credits last")
        });
        let more = more.unwrap_or_default();
        let own = figure(lane.base / shares);
        let side = side(lane);
        let volume = &self.volume_name;
        match lane.kind {
            CeilingKind::Array => {
                format!("{side}{own} of each of {} {volume}{more}", plain(self.joined.members))
            }
            CeilingKind::Link => {
                let what = if self.is_network { "network" } else { "link" };
                match lane.counted {
                    Counted::Ios => format!("{own} of the {what}{more}"),
                    _ => format!("the {what} of {own}{more}"),
                }
            }
            CeilingKind::Cpu => self.name_processors(lane),
            CeilingKind::Source => format!("the source of {own}"),
            CeilingKind::QueueDepth => {
                let latency = self.latency.map(|(latency, _)| latency);
                let latency = latency.or_else(|| self.limits.as_ref()?.latency);
                let each = latency.map(|latency| format!(", each {latency}")).unwrap_or_default();
                let depth = work.depth.unwrap_or(1);
                let plural = if depth == 1 { "I/O" } else { "I/Os" };
                format!("{depth} {plural} at once{each}")
            }
            CeilingKind::Volume | CeilingKind::PageCache | CeilingKind::Filesystem => {
                format!("{side}{own} of {volume}{more}")
            }
        }
    }

    /// A ceiling as it is in one phase: "the link of 593.75MB/s while credits last", "the link of 81.25MB/s once they are spent".
    pub(super) fn name_in(&self, lane: &Lane, is_bursting: bool, work: &Work) -> String {
        let Some(burst) = lane.burst.filter(|burst| burst.rate > lane.base) else {
            return self.name(lane, work);
        };
        let is_turned = matches!(&self.cpu, Some(RouteCpu::Governed(governor, _))
            if lane.kind == CeilingKind::Cpu && !matches!(governor.allowance.law, Law::Credits { .. }));
        let now = Lane { base: if is_bursting { burst.rate } else { lane.base }, burst: None, ..*lane };
        let name = self.name(&now, work);
        match (is_turned, is_bursting) {
            (true, _) => name,
            (false, true) => format!("{name} while credits last"),
            (false, false) => format!("{name} once credits are spent"),
        }
    }

    fn name_processors(&self, lane: &Lane) -> String {
        let count = |processors: f64| {
            let plural = if (processors - 1.0).abs() < 1e-9 { "" } else { "s" };
            format!("{} processor{plural}", plain(processors))
        };
        match &self.cpu {
            Some(RouteCpu::Governed(governor, _)) => {
                let instance = &governor.allowance.instance;
                match (&governor.allowance.law, lane.burst) {
                    (Law::Credits { .. }, Some(burst)) => format!(
                        "{} of {instance}, {} while CPU credits last",
                        count(lane.base),
                        plain(burst.rate)
                    ),
                    (_, Some(burst)) => format!(
                        "the CPU allowance of {instance}, {} or {}",
                        plain(burst.rate),
                        count(lane.base)
                    ),
                    (_, None) => format!("{} of {instance}", count(lane.base)),
                }
            }
            _ => count(lane.base),
        }
    }

    /// What the bucket of a ceiling is called, and what it is counted in.
    pub(super) fn bucket(&self, lane: &Lane) -> (String, Unit) {
        let what = match lane.counted {
            Counted::Bytes => "byte credits",
            Counted::Ios => "I/O credits",
            Counted::CpuSeconds | Counted::IoSeconds => "CPU time",
        };
        let side = match (lane.read_cost > 0.0, lane.write_cost > 0.0) {
            (true, false) => " for reads",
            (false, true) => " for writes",
            _ => "",
        };
        let whose = match lane.kind {
            CeilingKind::Array => format!("{} {}", plain(self.joined.members), self.volume_name),
            CeilingKind::Link if self.is_network => "the network".to_owned(),
            CeilingKind::Link => "the link".to_owned(),
            CeilingKind::Cpu => self.instance.clone().unwrap_or_else(|| "the processors".to_owned()),
            _ => self.volume_name.clone(),
        };
        let unit = match lane.counted {
            Counted::Bytes => Unit::Bytes,
            Counted::Ios => Unit::Plain,
            Counted::CpuSeconds | Counted::IoSeconds => Unit::Seconds,
        };
        (format!("the {what} of {whose}{side}"), unit)
    }

    /// What the figures of a ceiling rest on, and who says them.
    pub(crate) fn source(&self, lane: &Lane, work: &Work) -> (Basis, String) {
        match lane.kind {
            CeilingKind::Volume | CeilingKind::Array | CeilingKind::PageCache | CeilingKind::Filesystem => {
                let limits = self.limits.as_ref();
                limits.map_or((Basis::Assumed, String::new()), |limits| {
                    (limits.basis, format!("{}: {}", limits.row, limits.source))
                })
            }
            CeilingKind::Link => (self.link_basis, self.link_source.clone()),
            CeilingKind::Cpu => match &self.cpu {
                Some(RouteCpu::Governed(governor, _)) => {
                    (governor.allowance.basis, governor.allowance.source.clone())
                }
                Some(RouteCpu::Processors(_, source)) => (Basis::Published, source.clone()),
                None => (Basis::Assumed, String::new()),
            },
            CeilingKind::Source => (Basis::Assumed, "as the question says".to_owned()),
            CeilingKind::QueueDepth => {
                let depth = work.depth.unwrap_or(1);
                let latency = self.latency.map(|(latency, _)| Span(latency.0).to_string());
                let latency = latency.unwrap_or_else(|| "its latency".to_owned());
                (Basis::Assumed, format!("Little's law: {depth} over {latency}"))
            }
        }
    }
}
