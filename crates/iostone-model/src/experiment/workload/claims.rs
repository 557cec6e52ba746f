//! Whether a workload can ever claim bytes read or written, so that nothing is decided by a figure that no trial has.

use super::{DdDirection, Workload};

impl Workload {
    /// Whether it can claim to have written anything; of some, that depends on what they find.
    pub fn may_claim_writes(&self) -> bool {
        match self {
            Self::Io(io) => io.rw.writes(),
            Self::Command(_) => false,
            Self::Dd(dd) => dd.direction == DdDirection::Write,
            Self::Ioping(ioping) => ioping.write,
            Self::Orion(orion) => orion.write.is_some_and(|percent| percent > 0),
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
            Self::Orion(orion) => orion.write != Some(100),
            Self::Dbench(_) | Self::Bonnie(_) | Self::Fio(_) | Self::Sysbench(_) | Self::CopyUp(_) => true,
        }
    }
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
        let program = r#"{ kind = "command", argv = ["true"] }"#;
        assert!(refusal("read_per_claimed_byte", program).unwrap().contains("never tells"));
    }
}
