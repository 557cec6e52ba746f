//! What block devices served, from `/sys/class/block/NAME/stat` or, without sysfs, `/proc/diskstats`.

use std::io;

use iostone_model::sample::DiskCounters;

use crate::error::ProbeError;
use crate::fields::{parse_decimal, split_fields, split_lines};
use crate::kernel_file::KernelFile;
use crate::root::Root;

/// One line of 17 numbers.
const STAT_BYTES: usize = 512;
/// Enough for some 300 devices before the buffer has to grow.
const TABLE_BYTES: usize = 32 * 1024;
/// iostats.rst counts in units of 512 bytes whatever the device's blocks are.
const SECTOR_BYTES: u64 = 512;

/// A device's place in the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The workload's filesystem stands on it.
    Stack,
    /// A member of the array that it stands on.
    Member,
    /// What a device of the stack stands on, such as the disk under a loop file.
    Below,
}

impl Role {
    /// The word that a trial's record has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Member => "member",
            Self::Below => "below",
        }
    }
}

/// A device to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedDevice {
    /// Kernel name, without `/dev/`: `nvme0n1`, `sda1`, `cciss!c0d0` (or `cciss/c0d0`).
    pub name: String,
    /// Its place in the stack.
    pub role: Role,
}

/// Why a device's series ended, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) at_ns: u64,
    pub(crate) reason: String,
}

/// One device with what is known of it.
#[derive(Debug)]
pub(crate) struct DiskSeries {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Whether the kernel counts flushes (since Linux 5.5).
    pub(crate) flushes_counted: bool,
    /// Whether the device counts at all: `queue/iostats` may be switched off.
    pub(crate) counting: bool,
    /// Whether the kernel takes it for a device with a volatile write cache; none where it does not tell.
    pub(crate) volatile_cache: Option<bool>,
    pub(crate) ending: Option<Ending>,
    /// Its own file; without one its line of the table is read.
    file: Option<KernelFile>,
}

/// All watched devices and their counters of the last sample.
#[derive(Debug)]
pub(crate) struct DiskSignal {
    pub(crate) series: Vec<DiskSeries>,
    pub(crate) counters: Vec<DiskCounters>,
    table: Option<KernelFile>,
}

impl DiskSignal {
    pub(crate) fn open(root: &Root, devices: &[WatchedDevice]) -> Result<Self, ProbeError> {
        let mut signal = Self { series: Vec::new(), counters: Vec::new(), table: None };
        for device in devices {
            signal.add(root, device)?;
        }
        Ok(signal)
    }

    fn add(&mut self, root: &Root, device: &WatchedDevice) -> Result<(), ProbeError> {
        let unknown = || ProbeError::UnknownDevice { name: device.name.clone() };
        // sysfs writes the slash of a name such as `cciss/c0d0` as an exclamation mark, the table does not.
        let folder = format!("/sys/class/block/{}", device.name.replace('/', "!"));
        let is_name = !["", ".", ".."].contains(&device.name.as_str());
        let mut file = None;
        if is_name {
            file = KernelFile::open(root.join(&folder).join("stat"), STAT_BYTES).ok();
        }
        let table_name = device.name.replace('!', "/");
        let (path, parsed) = if let Some(stat) = &mut file {
            let path = stat.path().to_path_buf();
            let text = stat
                .read_beginning()
                .map_err(|source| ProbeError::Unreadable { path: path.clone(), source })?;
            (path, parse_counters(split_fields(text)))
        } else {
            let path = root.join("/proc/diskstats");
            if self.table.is_none() {
                self.table = KernelFile::open(path.clone(), TABLE_BYTES).ok();
            }
            let text = match &mut self.table {
                Some(table) => table
                    .read_all()
                    .map_err(|source| ProbeError::Unreadable { path: path.clone(), source })?,
                None => return Err(unknown()),
            };
            let fields = find_in_table(text, table_name.as_bytes()).ok_or_else(unknown)?;
            (path, parse_counters(fields))
        };
        let (counters, tells_flushes) =
            parsed.ok_or_else(|| ProbeError::NoCounters { name: device.name.clone(), path })?;
        // A partition has no queue of its own; its counters follow the switch of the whole device.
        let counting = ["queue/iostats", "../queue/iostats"]
            .iter()
            .find_map(|file| root.word(format!("{folder}/{file}")))
            != Some("0".to_owned());
        // "Not tracked for partitions" (Documentation/admin-guide/iostats.rst): the field stays 0 there.
        let is_partition = root.text(format!("{folder}/partition")).is_some();
        // As the workload finds it: the layer that may change it has done so by now.
        let volatile_cache = ["queue/write_cache", "../queue/write_cache"]
            .iter()
            .find_map(|file| root.text(format!("{folder}/{file}")))
            .map(|text| text.trim() == "write back");
        self.counters.push(counters);
        self.series.push(DiskSeries {
            name: if file.is_some() { device.name.clone() } else { table_name },
            role: device.role,
            flushes_counted: tells_flushes && !is_partition,
            counting,
            volatile_cache,
            ending: None,
            file,
        });
        Ok(())
    }

    /// Reads all devices into `counters`. A device that cannot be read any more keeps its last counters there, and
    /// its series is marked as ended at `at_ns`.
    pub(crate) fn take(&mut self, at_ns: u64) {
        let uses_table = self.series.iter().any(|one| one.file.is_none() && one.ending.is_none());
        let table = match &mut self.table {
            Some(table) if uses_table => Some(table.read_all()),
            _ => None,
        };
        for (series, slot) in self.series.iter_mut().zip(&mut self.counters) {
            if series.ending.is_some() {
                continue;
            }
            match read_counters(series, table.as_ref()) {
                Ok(counters) => *slot = counters,
                Err(reason) => series.ending = Some(Ending { at_ns, reason }),
            }
        }
    }
}

fn read_counters(series: &mut DiskSeries, table: Option<&io::Result<&[u8]>>) -> Result<DiskCounters, String> {
    let parsed = match &mut series.file {
        Some(file) => match file.read_beginning() {
            Ok(text) => parse_counters(split_fields(text)),
            Err(error) => return Err(describe_loss(&series.name, &error)),
        },
        None => match table {
            Some(Ok(text)) => match find_in_table(text, series.name.as_bytes()) {
                Some(fields) => parse_counters(fields),
                None => return Err(format!("`{}` vanished from `/proc/diskstats`", series.name)),
            },
            Some(Err(error)) => return Err(describe_loss(&series.name, error)),
            None => return Err(format!("`{}` has no file to read", series.name)),
        },
    };
    parsed
        .map(|(counters, _)| counters)
        .ok_or_else(|| format!("the counters of `{}` cannot be understood any more", series.name))
}

/// sysfs answers ENODEV on a file whose device was taken away.
fn describe_loss(name: &str, error: &io::Error) -> String {
    if error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) {
        format!("`{name}` vanished")
    } else {
        format!("the counters of `{name}` cannot be read any more: {error}")
    }
}

/// The fields after the name in the line of a device: `   8       1 sda1 12 0 ...`.
fn find_in_table<'a>(table: &'a [u8], name: &[u8]) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
    split_lines(table).find_map(|line| {
        let mut fields = split_fields(line).skip(2);
        if fields.next()? == name { Some(fields) } else { None }
    })
}

/// Reads the fields of a device (Documentation/admin-guide/iostats.rst, Documentation/block/stat.rst): 11 in all
/// kernels, 15 with discards since Linux 4.18, 17 with flushes since 5.5; later ones may append more. The flag says
/// whether flushes are counted. The four fields of a partition before Linux 2.6.25 are refused.
pub(crate) fn parse_counters<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Option<(DiskCounters, bool)> {
    let mut numbers = [0_u64; 17];
    let mut count = 0;
    for (place, (field, slot)) in fields.zip(&mut numbers).enumerate() {
        // Requests in flight: old kernels let the gauge slip below zero.
        *slot = if place == 8 && field.starts_with(b"-") { 0 } else { parse_decimal(field)? };
        count = place + 1;
    }
    if count < 11 {
        return None;
    }
    let [
        reads,
        _,
        read_sectors,
        read_ms,
        writes,
        _,
        written_sectors,
        write_ms,
        in_flight,
        busy_ms,
        _,
        discards,
        _,
        _,
        _,
        flushes,
        _,
    ] = numbers;
    let counters = DiskCounters {
        reads,
        read_bytes: read_sectors.saturating_mul(SECTOR_BYTES),
        writes,
        written_bytes: written_sectors.saturating_mul(SECTOR_BYTES),
        discards,
        flushes,
        read_ms,
        write_ms,
        busy_ms,
        in_flight,
    };
    Some((counters, count >= 16))
}

/// What happened between two readings of a device; `in_flight` is the later one's, for it is no counter.
///
/// Milliseconds are 32 bits wide in every kernel, and all counters are on a 32-bit one (iostats.rst), so a decrease is
/// first taken for a wrap. One of more than half of the range is a reset instead (zram resets its counters), and
/// counts as nothing.
pub(crate) fn subtract_counters(before: &DiskCounters, after: &DiskCounters) -> DiskCounters {
    const WRAP: u64 = 1 << 32;
    let count = |before: u64, after: u64| subtract_wrapping(before, after, WRAP);
    let bytes = |before: u64, after: u64| subtract_wrapping(before, after, WRAP * SECTOR_BYTES);
    DiskCounters {
        reads: count(before.reads, after.reads),
        read_bytes: bytes(before.read_bytes, after.read_bytes),
        writes: count(before.writes, after.writes),
        written_bytes: bytes(before.written_bytes, after.written_bytes),
        discards: count(before.discards, after.discards),
        flushes: count(before.flushes, after.flushes),
        read_ms: count(before.read_ms, after.read_ms),
        write_ms: count(before.write_ms, after.write_ms),
        busy_ms: count(before.busy_ms, after.busy_ms),
        in_flight: after.in_flight,
    }
}

fn subtract_wrapping(before: u64, after: u64, modulus: u64) -> u64 {
    if after >= before {
        return after - before;
    }
    match (modulus.saturating_sub(before)).saturating_add(after) {
        wrapped if before < modulus && wrapped < modulus / 2 => wrapped,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
