//! Time that tasks stalled, from `/proc/pressure`, where the kernel has it.

use iostone_model::sample::Pressure;

use crate::error::ProbeError;
use crate::fields::{parse_prefixed, split_fields, split_lines};
use crate::kernel_file::KernelFile;
use crate::root::Root;

/// Two lines of at most 90 bytes.
const PRESSURE_BYTES: usize = 512;

#[derive(Debug)]
pub(crate) struct PressureSignal {
    cpu: KernelFile,
    io: KernelFile,
    memory: KernelFile,
}

impl PressureSignal {
    /// `None` without all three files: a kernel before 4.20, one without `CONFIG_PSI`, or one that was started
    /// with `psi=0`, where the files exist and refuse to be read.
    pub(crate) fn open(root: &Root) -> Option<Self> {
        let open = |name: &str| KernelFile::open(root.join("/proc/pressure").join(name), PRESSURE_BYTES).ok();
        let mut signal = Self { cpu: open("cpu")?, io: open("io")?, memory: open("memory")? };
        signal.take().ok()?;
        Some(signal)
    }

    pub(crate) fn take(&mut self) -> Result<Pressure, ProbeError> {
        let (io_some_us, io_full_us) = read_totals(&mut self.io)?;
        Ok(Pressure {
            cpu_some_us: read_totals(&mut self.cpu)?.0,
            io_some_us,
            // Only the cpu file has ever lacked its line `full`.
            io_full_us: io_full_us.unwrap_or_default(),
            memory_some_us: read_totals(&mut self.memory)?.0,
        })
    }
}

fn read_totals(file: &mut KernelFile) -> Result<(u64, Option<u64>), ProbeError> {
    let totals = match file.read_beginning() {
        Ok(text) => (parse_total(text, b"some"), parse_total(text, b"full")),
        Err(source) => return Err(ProbeError::Unreadable { path: file.path().to_path_buf(), source }),
    };
    match totals {
        (Some(some), full) => Ok((some, full)),
        (None, _) => Err(ProbeError::Unexpected {
            path: file.path().to_path_buf(),
            wanted: "line `some` with a total",
        }),
    }
}

/// Reads the total in microseconds of the line `some` or `full`:
/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234` (Documentation/accounting/psi.rst).
pub(crate) fn parse_total(text: &[u8], kind: &[u8]) -> Option<u64> {
    split_lines(text).find_map(|line| {
        let mut fields = split_fields(line);
        if fields.next()? != kind {
            return None;
        }
        fields.find_map(|field| parse_prefixed(field, b"total="))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_totals_are_read() {
        let text = b"some avg10=0.12 avg60=0.00 avg300=0.00 total=98765\n\
                     full avg10=0.00 avg60=0.00 avg300=0.00 total=432\n";
        assert_eq!(parse_total(text, b"some"), Some(98_765));
        assert_eq!(parse_total(text, b"full"), Some(432));
        assert_eq!(parse_total(b"some avg10=0.12\n", b"some"), None);
    }

    #[test]
    fn an_old_kernel_without_pressure_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(PressureSignal::open(&Root::at(folder.path())).is_none());
    }

    #[test]
    fn a_kernel_that_refuses_to_tell_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let pressure = folder.path().join("proc/pressure");
        fs::create_dir_all(&pressure).unwrap();
        for name in ["cpu", "io", "memory"] {
            fs::write(pressure.join(name), "").unwrap();
        }
        assert!(PressureSignal::open(&Root::at(folder.path())).is_none());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = parse_total(&text, b"some");
        }
    }
}
