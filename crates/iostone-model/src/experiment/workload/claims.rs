//! Whether a workload can ever claim bytes read or written, so that nothing is decided by a figure that no trial has.

use super::{DdDirection, OrionWorkload, Workload};
use crate::orion::OrionTest;

impl Workload {
    /// Whether it can claim to have written anything; of some, that depends on what they find.
    pub fn may_claim_writes(&self) -> bool {
        match self {
            Self::Io(io) => io.rw.writes(),
            Self::Command(_) => false,
            Self::Dd(dd) => dd.direction == DdDirection::Write,
            Self::Ioping(ioping) => ioping.write,
            Self::Orion(orion) => is_of(orion, |test| test.write_percent > 0),
            Self::Dbench(_) | Self::Bonnie(_) | Self::Fio(_) | Self::Sysbench(_) | Self::CopyUp(_) => true,
        }
    }

    /// Whether it can claim to have read anything; of some, that depends on what they find.
    pub fn may_claim_reads(&self) -> bool {
        match self {
            Self::Io(io) => io.rw.reads(),
            Self::Command(_) => false,
            Self::Dd(dd) => dd.direction == DdDirection::Read,
            Self::Ioping(ioping) => !ioping.write,
            Self::Orion(orion) => is_of(orion, |test| test.write_percent < 100),
            Self::Dbench(_) | Self::Bonnie(_) | Self::Fio(_) | Self::Sysbench(_) | Self::CopyUp(_) => true,
        }
    }
}

/// Whether its test is so, as keys or as a command line; one that is wrong itself is spoken of elsewhere.
fn is_of(orion: &OrionWorkload, is_so: impl Fn(&OrionTest) -> bool) -> bool {
    orion.test().map_or(true, |test| is_so(&test))
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Override, read};

    fn refusal(metric: &str, workload: &str) -> Option<String> {
        let over = |path: &str, value: &str| Override { path: path.to_owned(), value: value.to_owned() };
        let experiment = include_str!("../../../../../experiments/barrier.toml");
        let set = [over("decide.metric", &format!("\"{metric}\"")), over("workload", workload)];
        read(experiment, &set).err().map(|found| format!("{found:?}"))
    }

    #[test]
    fn nothing_is_decided_by_bytes_that_are_never_claimed() {
        let copied = r#"{ kind = "dd", direction = "read", size = "64MiB" }"#;
        let reason = refusal("written_per_claimed_byte", copied).unwrap();
        assert!(reason.contains("claims no bytes written"), "{reason}");
        assert_eq!(refusal("read_per_claimed_byte", copied), None);
        let written = r#"{ kind = "io", rw = "randwrite", size = "64MiB", runtime = "5s" }"#;
        assert!(refusal("read_per_claimed_byte", written).unwrap().contains("claims no bytes read"));
        assert_eq!(refusal("written_per_claimed_byte", written), None);
        let orion = |test: &str| format!(r#"{{ kind = "orion", {test}, files = 1, size = "64MiB" }}"#);
        let line = |write: &str| orion(&format!(r#"arguments = "-run advanced -duration 1 {write}""#));
        for test in [line("-write 20"), orion(r#"run = "advanced", duration = "1s", write = 20"#)] {
            assert_eq!(refusal("written_per_claimed_byte", &test), None);
            assert_eq!(refusal("read_per_claimed_byte", &test), None);
        }
        assert!(refusal("written_per_claimed_byte", &line("")).unwrap().contains("claims no bytes written"));
        let overwritten = refusal("read_per_claimed_byte", &line("-write 100")).unwrap();
        assert!(overwritten.contains("claims no bytes read"), "{overwritten}");
        let program = r#"{ kind = "command", argv = ["true"] }"#;
        assert!(refusal("read_per_claimed_byte", program).unwrap().contains("do not report"));
    }
}
