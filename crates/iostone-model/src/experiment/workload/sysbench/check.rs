//! Whether sysbench can be asked for a test.

use crate::experiment::check::Findings;
use crate::experiment::{SysbenchTest, SysbenchWorkload};
use crate::units::Bytes;

/// More would starve the machine before they measured anything.
const MOST_THREADS: u32 = 1024;

pub(super) fn check(sysbench: &SysbenchWorkload, findings: &mut Findings<'_>) {
    const MODES: &[&str] = &["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"];
    if !(1..=MOST_THREADS).contains(&sysbench.threads) {
        findings.value("workload.threads", "the number of threads is out of range", "1 to 1024");
    }
    if sysbench.seconds == 0 {
        findings.value("workload.seconds", "sysbench would run forever", "at least 1");
    }
    match (&sysbench.file_test_mode, sysbench.test) {
        (None, SysbenchTest::Fileio) => {
            findings.key(
                "workload",
                "sysbench's fileio test needs a mode",
                "add `file_test_mode = \"rndrw\"`",
            );
        }
        (Some(mode), SysbenchTest::Fileio) if !MODES.contains(&mode.as_str()) => {
            let message = format!("`{mode}` is not one of sysbench's modes");
            findings.value(
                "workload.file_test_mode",
                message,
                "seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw",
            );
        }
        (Some(_), SysbenchTest::Cpu) => {
            findings.value("workload.file_test_mode", "the cpu test has no files", "leave this out");
        }
        _ => {}
    }
    if let Some(mode) = &sysbench.file_io_mode
        && !["sync", "async", "mmap"].contains(&mode.as_str())
    {
        findings.value(
            "workload.file_io_mode",
            format!("`{mode}` is not one of sysbench's ways"),
            "sync, async or mmap",
        );
    }
    for (index, flag) in sysbench.file_extra_flags.iter().enumerate() {
        if !["sync", "dsync", "direct"].contains(&flag.as_str()) {
            let path = format!("workload.file_extra_flags[{index}]");
            findings.value(
                &path,
                format!("`{flag}` is not one of sysbench's flags"),
                "sync, dsync or direct",
            );
        }
    }
    check_files(sysbench, findings);
}

/// What sysbench itself takes when these are left out.
const FILES: u32 = 128;
const BLOCK: Bytes = Bytes(16 << 10);

fn check_files(sysbench: &SysbenchWorkload, findings: &mut Findings<'_>) {
    if sysbench.test == SysbenchTest::Cpu {
        let files = [
            ("file_total_size", sysbench.file_total_size.is_some()),
            ("file_num", sysbench.file_num.is_some()),
            ("file_block_size", sysbench.file_block_size.is_some()),
            ("file_io_mode", sysbench.file_io_mode.is_some()),
            ("file_extra_flags", !sysbench.file_extra_flags.is_empty()),
            ("file_fsync_freq", sysbench.file_fsync_freq.is_some()),
        ];
        for (key, _) in files.iter().filter(|(_, set)| *set) {
            findings.key(&format!("workload.{key}"), "the cpu test has no files", "leave this out");
        }
        return;
    }
    if sysbench.cpu_max_prime.is_some() {
        findings.key("workload.cpu_max_prime", "the fileio test has no primes", "leave this out");
    }
    let block = sysbench.file_block_size.unwrap_or(BLOCK);
    let files = sysbench.file_num.unwrap_or(FILES);
    let each = sysbench.room().0 / u64::from(files.max(1));
    if block.0 == 0 {
        findings.value("workload.file_block_size", "the block size is 0", "at least 1B");
    } else if files > 0 && each < block.0 {
        let message = format!("each of {files} files would be smaller than a block of {block}");
        findings.key("workload", message, "a larger `file_total_size`, or fewer files with `file_num`");
    } else if sysbench.is_direct() && !block.0.is_multiple_of(512) {
        let message = format!("`direct` does not support blocks of {block}");
        findings.value("workload.file_block_size", message, "a multiple of 512B, or of the device's sectors");
    }
    if sysbench.file_num == Some(0) {
        findings.value("workload.file_num", "the number of files is 0", "at least 1");
    }
}
