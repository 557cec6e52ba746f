//! The statistics of a trial's devices, read just before and just after its workload.

use std::path::PathBuf;
use std::time::Instant;

use iostone_model::sample::{NvmeActivity, NvmeStatistics};

use super::identity::keeps_statistics;
use super::{difference, read_statistics};
use crate::root::Root;
use crate::signal::disk::WatchedDevice;

/// The first reading of each device that keeps statistics; [`NvmeWatch::end`] takes the second.
///
/// Failing to read is a remark, and never more: a trial is as good without.
#[derive(Debug, Default)]
pub struct NvmeWatch {
    started: Vec<Started>,
    remarks: Vec<String>,
}

#[derive(Debug)]
struct Started {
    device: String,
    path: PathBuf,
    at: Instant,
    statistics: NvmeStatistics,
}

/// Whether a block device, by its kernel name, stands for one that keeps statistics, and the name of the whole device
/// where it is a partition. Only files of sysfs are read.
pub fn is_watchable(root: &Root, name: &str) -> Option<String> {
    let whole = whole_device(root, name);
    let model = root.word(format!("/sys/class/block/{whole}/device/model"))?;
    (whole.starts_with("nvme") && keeps_statistics(&model)).then_some(whole)
}

/// `nvme1n1` of `nvme1n1p1`: sysfs has a partition below its disk.
fn whole_device(root: &Root, name: &str) -> String {
    let place = format!("/sys/class/block/{name}");
    if root.exists(format!("{place}/partition"))
        && let Some(link) = root.link(&place)
        && let Some(parent) = link.parent().and_then(|parent| parent.file_name())
    {
        return parent.to_string_lossy().into_owned();
    }
    name.to_owned()
}

impl NvmeWatch {
    /// Reads the page of each device among these that has one, once; of other devices only sysfs is read, so that machines
    /// without any are not held up.
    pub fn begin(root: &Root, devices: &[WatchedDevice]) -> Self {
        let mut names: Vec<String> =
            devices.iter().filter_map(|device| is_watchable(root, &device.name)).collect();
        names.sort();
        names.dedup();
        let mut watch = Self::default();
        for device in names {
            let path = root.join(format!("/dev/{device}"));
            match read_statistics(&path) {
                Ok(reading) => watch.started.push(Started {
                    device,
                    path,
                    at: Instant::now(),
                    statistics: reading.statistics,
                }),
                Err(error) => watch.remarks.push(format!("NVMe statistics: {error}")),
            }
        }
        watch
    }

    /// Reads each page again: what was counted in between, and remarks on what could not be read.
    pub fn end(self) -> (Vec<NvmeActivity>, Vec<String>) {
        let mut remarks = self.remarks;
        let mut activities = Vec::new();
        for started in self.started {
            let reading = read_statistics(&started.path).map_err(|error| error.to_string());
            let seconds = started.at.elapsed().as_secs_f64();
            let grown = reading.and_then(|reading| {
                let after = reading.statistics;
                difference(&started.statistics, &after)
                    .map(|grown| (grown, after.queue_length))
                    .map_err(|error| format!("`{}`: {error}", started.device))
            });
            match grown {
                Ok((grown, queue_length_after)) => activities.push(NvmeActivity {
                    device: started.device,
                    kind: started.statistics.kind,
                    seconds,
                    grown,
                    queue_length_before: started.statistics.queue_length,
                    queue_length_after,
                }),
                Err(reason) => remarks.push(format!("NVMe statistics: {reason}")),
            }
        }
        (activities, remarks)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use iostone_model::sample::{NvmeCounters, NvmeKind};

    use super::*;
    use crate::fixture::{link, plant};
    use crate::nvme::encode_page;
    use crate::signal::disk::Role;

    fn page(writes: u64) -> Vec<u8> {
        encode_page(&NvmeStatistics {
            kind: NvmeKind::Ebs,
            version: 0,
            counters: NvmeCounters { writes, ..NvmeCounters::default() },
            queue_length: writes,
        })
    }

    fn watched(names: &[&str]) -> Vec<WatchedDevice> {
        names.iter().map(|name| WatchedDevice { name: (*name).to_owned(), role: Role::Stack }).collect()
    }

    const DISK: &str = "sys/devices/pci0/nvme/nvme1/nvme1n1";

    fn machine() -> (tempfile::TempDir, Root) {
        let (folder, root) = plant(&[
            (&format!("{DISK}/device/model"), "Amazon Elastic Block Store              \n"),
            (&format!("{DISK}/nvme1n1p1/partition"), "1\n"),
            ("sys/class/block/nvme2n1/device/model", "Some Other SSD\n"),
            ("sys/class/block/loop0/size", "1\n"),
        ]);
        let target = "../../devices/pci0/nvme/nvme1/nvme1n1";
        link(&folder, &[("sys/class/block/nvme1n1", target)]);
        link(&folder, &[("sys/class/block/nvme1n1p1", &format!("{target}/nvme1n1p1"))]);
        (folder, root)
    }

    #[test]
    fn each_volume_is_read_once_whatever_stands_on_it() {
        let (folder, root) = machine();
        fs::create_dir(folder.path().join("dev")).unwrap();
        fs::write(folder.path().join("dev/nvme1n1"), page(5)).unwrap();
        let watch = NvmeWatch::begin(&root, &watched(&["loop0", "nvme1n1p1", "nvme1n1", "nvme2n1", "gone"]));
        fs::write(folder.path().join("dev/nvme1n1"), page(12)).unwrap();
        let (activities, remarks) = watch.end();
        assert!(remarks.is_empty(), "{remarks:?}");
        assert_eq!(activities.len(), 1);
        let activity = &activities[0];
        assert_eq!((activity.device.as_str(), activity.grown.writes), ("nvme1n1", 7));
        assert_eq!((activity.queue_length_before, activity.queue_length_after), (5, 12));
    }

    #[test]
    fn what_cannot_be_read_is_a_remark() {
        let (folder, root) = machine();
        let (activities, remarks) = NvmeWatch::begin(&root, &watched(&["nvme1n1"])).end();
        assert!(activities.is_empty());
        assert!(remarks[0].starts_with("NVMe statistics: `") && remarks[0].contains("cannot be opened"));
        fs::create_dir(folder.path().join("dev")).unwrap();
        fs::write(folder.path().join("dev/nvme1n1"), page(5)).unwrap();
        let watch = NvmeWatch::begin(&root, &watched(&["nvme1n1"]));
        fs::write(folder.path().join("dev/nvme1n1"), page(1)).unwrap();
        let (activities, remarks) = watch.end();
        assert!(activities.is_empty());
        assert_eq!(
            remarks,
            [
                "NVMe statistics: `nvme1n1`: the volume was attached anew meanwhile: its count of writes fell from 5 to 1"
            ]
        );
    }
}
