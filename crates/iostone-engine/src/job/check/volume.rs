//! What cannot go with several targets as one volume, or with a walk that begins within its span.

use super::{Verdict, refuse};
use iostone_model::load::{IoEngine, RequestFlag};

use crate::job::{Job, Service, Volume};

impl Volume {
    /// As it is written in a job.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Concat => "concat",
            Self::Raid0 { .. } => "raid0",
        }
    }
}

impl Job {
    /// Refuses what names a target, or would be cut in two.
    pub(super) fn check_volume(&self) -> Verdict {
        let Some(volume) = self.volume else { return Ok(()) };
        if let Volume::Raid0 { chunk } = volume
            && chunk.0 == 0
        {
            return refuse("volume", chunk, "a chunk needs a length");
        }
        let asked = [
            ("verify", self.verify.is_some(), "what is verified has places in targets; leave out `volume`"),
            ("rw", self.rw.trims(), "nothing is discarded on a volume; leave out `volume`"),
            ("file_service_type", self.service != Service::default(), "members of a volume take no turns"),
            (
                "sync_file_range",
                self.sync_file_range.is_some(),
                "it needs a range of one target; use `fdatasync`",
            ),
            ("engine", self.engine == IoEngine::Mmap, "members of a volume are not mapped; use `sync`"),
            (
                "flags",
                self.flags.contains(&RequestFlag::Atomic),
                "a write that is cut in two on a volume is not atomic",
            ),
        ];
        match asked.into_iter().find(|(_, given, _)| *given) {
            Some((field, _, reason)) => {
                refuse(field, format!("given with `volume` = {}", volume.word()), reason)
            }
            None => Ok(()),
        }
    }

    /// Refuses a start where there is none: what is random has no order, and several walks have one each.
    pub(super) fn check_start(&self) -> Verdict {
        let start = self.walk.start;
        if start.0 == 0 {
            return Ok(());
        }
        let asked = [
            (self.rw.is_random(), "a random job begins anywhere"),
            (
                self.numjobs > 1,
                "with `numjobs` above 1 each thread has a part of the span; use jobs of their own",
            ),
            (
                self.targets.len() > 1 && self.volume.is_none(),
                "several targets need a `volume` to have one span",
            ),
            (self.walk.skip_bytes != 0, "a walk that skips begins at the start"),
            (self.walk.strides.is_some(), "a walk with zones begins at the start"),
        ];
        match asked.into_iter().find(|(given, _)| *given) {
            Some((_, reason)) => refuse("walk.start", start, reason),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{ServiceOrder, Strides, Verify};
    use iostone_model::load::Rw;
    use iostone_model::units::Bytes;

    fn refused(rw: Rw, change: impl FnOnce(&mut Job)) -> String {
        let mut job = Job::new("/nowhere", rw);
        change(&mut job);
        job.check().unwrap_err().to_string()
    }

    fn on_a_volume(rw: Rw, change: impl FnOnce(&mut Job)) -> String {
        refused(rw, |job| {
            job.targets.push("/elsewhere".into());
            job.volume = Some(Volume::Concat);
            change(job);
        })
    }

    #[test]
    fn what_names_a_target_does_not_go_with_a_volume() {
        assert_eq!(
            on_a_volume(Rw::Write, |job| job.verify = Some(Verify::default())),
            "`verify` of `given with `volume` = concat` is refused: what is verified has places in targets; leave out \
             `volume`"
        );
        assert!(on_a_volume(Rw::RandTrim, |_| ()).starts_with("`rw`"));
        assert!(on_a_volume(Rw::Read, |job| job.service.order = ServiceOrder::Sequential).contains("turns"));
        assert!(
            on_a_volume(Rw::Write, |job| job.sync_file_range = "write:1".parse().ok())
                .contains("`fdatasync`")
        );
        assert!(on_a_volume(Rw::Read, |job| job.engine = IoEngine::Mmap).starts_with("`engine`"));
        assert!(on_a_volume(Rw::Write, |job| job.flags.push(RequestFlag::Atomic)).contains("atomic"));
        let chunk = Bytes(0);
        assert!(on_a_volume(Rw::Read, |job| job.volume = Some(Volume::Raid0 { chunk })).contains("length"));
    }

    #[test]
    fn a_start_needs_one_sequence_over_one_span() {
        let with_start = |rw, change: fn(&mut Job)| {
            refused(rw, |job| {
                job.walk.start = Bytes(8192);
                change(job);
            })
        };
        assert_eq!(
            with_start(Rw::RandRead, |_| ()),
            "`walk.start` of `8KiB` is refused: a random job begins anywhere"
        );
        assert!(with_start(Rw::Read, |job| job.numjobs = 2).contains("part of the span"));
        assert!(with_start(Rw::Read, |job| job.targets.push("/b".into())).contains("need a `volume`"));
        assert!(with_start(Rw::Read, |job| job.walk.skip_bytes = 4096).contains("skips"));
        let strides = Strides { range: Bytes(8192), io: Bytes(8192), skip: Bytes(0) };
        let mut job = Job::new("/nowhere", Rw::Read);
        (job.walk.start, job.walk.strides) = (Bytes(4096), Some(strides));
        assert!(job.check().unwrap_err().to_string().contains("zones"));
    }
}
