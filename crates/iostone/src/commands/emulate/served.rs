//! What the disk server of an emulation counted, from the moment that the command began to its end.

use std::path::Path;
use std::time::Duration;

use iostone_disk::{Control, ServerReport, Setting};
use iostone_machine::Moment;

/// A server that takes longer to answer does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The counters at both ends.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// When the command began.
    pub(super) before: Option<ServerReport>,
    /// When it had ended.
    pub(super) after: Option<ServerReport>,
    /// What kept the server from telling.
    pub(super) trouble: Vec<String>,
}

impl Served {
    /// Looks at the counters, and lifts the limits once the command has ended: what it left in the page cache is then
    /// written, and thrown away, without waiting for a volume that nobody measures any more.
    pub(super) fn look(&mut self, moment: Moment<'_>, control: Option<&Path>) {
        let Some(control) = control else { return };
        let told = Control::connect(control, PATIENCE).and_then(|mut server| match moment {
            Moment::Begins(_) => {
                // The buckets are as they were asked for: the session saw to that, whatever making the filesystem took.
                self.before = Some(server.counters()?);
                Ok(())
            }
            Moment::Ended => {
                let after = server.counters()?;
                self.trouble.extend(after.trouble_below());
                self.after = Some(after);
                server.set(None, &[Setting::Link(None), Setting::Throughput(None), Setting::Iops(None)])
            }
        });
        if let Err(error) = told {
            self.trouble.push(format!("the emulation's disk server: {error}"));
        }
    }

    /// Bytes read and bytes written meanwhile, of all volumes together; none where the server did not tell.
    pub(super) fn bytes(&self) -> Option<(u64, u64)> {
        self.growth(|report| {
            let sum = |of: fn(&iostone_disk::Counters) -> u64| {
                report.volumes.iter().map(|volume| of(&volume.counters)).sum::<u64>()
            };
            [sum(|counters| counters.reads.bytes), sum(|counters| counters.writes.bytes)]
        })
        .map(|[reads, writes]| (reads, writes))
    }

    /// I/Os as the volumes counted them, split and merged.
    pub(super) fn ios(&self) -> Option<u64> {
        let count =
            |report: &ServerReport| [report.volumes.iter().map(|volume| volume.counters.ios()).sum::<u64>()];
        self.growth(count).map(|[ios]| ios)
    }

    fn growth<const N: usize>(&self, count: impl Fn(&ServerReport) -> [u64; N]) -> Option<[u64; N]> {
        let (before, after) = (count(self.before.as_ref()?), count(self.after.as_ref()?));
        let mut grown = after;
        for (grown, before) in grown.iter_mut().zip(before) {
            *grown = grown.saturating_sub(before);
        }
        Some(grown)
    }
}
