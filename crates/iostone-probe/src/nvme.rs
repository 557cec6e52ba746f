//! The statistics that NVMe devices of Amazon EC2 keep by themselves: log page 0xD0 of EBS volumes and instance store disks.
//!
//! [`read_statistics`] asks a device, after Identify has told that it is one of these; [`parse_page`] reads bytes from
//! anywhere; [`difference`] takes the counters of one page from those of a later one. Reading needs `CAP_SYS_ADMIN`.

pub mod admin;
mod difference;
mod identity;
mod page;
mod watch;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iostone_model::sample::NvmeStatistics;

use admin::Answer;
pub use difference::{DifferenceError, difference};
pub use identity::{Identity, parse_identity};
pub use page::{PageError, encode_page, parse_page};
pub use watch::{NvmeWatch, is_watchable};

/// The log page: vendor specific, so that on a device of another maker it is something else.
pub const STATISTICS_PAGE: u8 = 0xD0;
/// Bytes of an EBS volume's page, and of the first piece of an instance store disk's.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of a page with histograms by size, which is read in two pieces.
pub const DETAILED_PAGE_BYTES: usize = 8192;

/// Where the second piece begins.
const SECOND_PIECE_OFFSET_BYTES: u32 = 4096;

/// Why there are no statistics.
#[derive(Debug, thiserror::Error)]
pub enum NvmeError {
    /// The device cannot be opened.
    #[error("`{}` cannot be opened: {source}{}", path.display(), as_root(source))]
    Open {
        /// The device.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// It takes no commands of NVMe.
    #[error("`{}` is not an NVMe device; `ls /dev/nvme*` lists those", path.display())]
    NotNvme {
        /// The device.
        path: PathBuf,
    },
    /// Commands need a capability.
    #[error("`{}` takes commands from root only (CAP_SYS_ADMIN); run this with `sudo`", path.display())]
    NotPermitted {
        /// The device.
        path: PathBuf,
    },
    /// The command did not reach the controller.
    #[error("`{}` was asked for {asked}, and the kernel answered: {source}", path.display())]
    Failed {
        /// The device.
        path: PathBuf,
        /// What it was asked for.
        asked: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The controller refused.
    #[error("the controller of `{}` refused {asked} with status {status:#06x}, {}", path.display(), admin::status_in_words(*status))]
    Refused {
        /// The device.
        path: PathBuf,
        /// What it was asked for.
        asked: &'static str,
        /// The status field of the completion without its phase (NVM Express Base Specification, completion queue entry).
        status: u16,
    },
    /// Somebody else's NVMe device.
    #[error(
        "`{}` is not an EBS volume and not an instance store disk: it is a `{model}` of vendor {vendor:#06x}",
        path.display()
    )]
    NotAmazon {
        /// The device.
        path: PathBuf,
        /// Its model, as it calls itself.
        model: String,
        /// Its PCI vendor.
        vendor: u16,
    },
    /// The page is not what it should be.
    #[error("the statistics of `{}` cannot be understood: {source}", path.display())]
    Page {
        /// The device, or the file.
        path: PathBuf,
        /// Why.
        source: PageError,
    },
}

fn as_root(source: &io::Error) -> &'static str {
    let may_help = source.kind() == io::ErrorKind::PermissionDenied && !rustix::process::geteuid().is_root();
    if may_help { "; run this with `sudo`" } else { "" }
}

/// What a device is, and what it has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The device by itself; none for a saved page.
    pub identity: Option<Identity>,
    /// Its page.
    pub statistics: NvmeStatistics,
}

/// Asks a device (`/dev/nvme1n1`, or its controller `/dev/nvme1`) who it is and for its statistics, or reads a file in
/// which its page was saved, as `nvme get-log --raw-binary` writes it, or such a page from a pipe that the process was
/// handed (`/dev/stdin`). A FIFO elsewhere is refused, since it would be waited for.
///
/// # Errors
/// [`NvmeError`]; a device of another maker is not asked for the page at all.
pub fn read_statistics(path: &Path) -> Result<Reading, NvmeError> {
    let unopened = |source| NvmeError::Open { path: path.to_owned(), source };
    // Looked at before it is opened: other devices may do something about that, and may be closed to us.
    let metadata = fs::metadata(path).map_err(unopened)?;
    let kind = metadata.file_type();
    if kind.is_fifo() && HANDED_OVER.iter().any(|folder| path.starts_with(folder)) {
        return read_saved(path, File::open(path).map_err(unopened)?);
    }
    let is_device = kind.is_block_device() || kind.is_char_device();
    if is_device && is_known_to_be_another(&metadata) || !is_device && !kind.is_file() {
        return Err(NvmeError::NotNvme { path: path.to_owned() });
    }
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(unopened)?;
    if !is_device {
        return read_saved(path, file);
    }
    let device = Device { file, path };
    let identity = device.identity()?;
    if !identity.keeps_statistics() {
        return Err(NvmeError::NotAmazon {
            path: path.to_owned(),
            model: identity.model,
            vendor: identity.vendor,
        });
    }
    Ok(Reading { identity: Some(identity), statistics: device.statistics()? })
}

/// Below these lie what the process was handed: `/dev/stdin`, and what a shell puts for `<(program)`.
const HANDED_OVER: [&str; 2] = ["/dev", "/proc"];

/// Whether sysfs has the device under a name that is none of NVMe's. Where there is no sysfs, nothing is known.
fn is_known_to_be_another(metadata: &fs::Metadata) -> bool {
    let folder = if metadata.file_type().is_block_device() { "block" } else { "char" };
    let number = metadata.rdev();
    let place = format!("/sys/dev/{folder}/{}:{}", libc::major(number), libc::minor(number));
    let Ok(leads_to) = fs::canonicalize(place) else { return false };
    // `nvme1n1`, its partition below it, its controller, and its character device `ng1n1`.
    let is_nvme = |name: &str| name.starts_with("nvme") || name.starts_with("ng");
    !leads_to.file_name().is_some_and(|name| is_nvme(&name.to_string_lossy()))
}

fn read_saved(path: &Path, file: File) -> Result<Reading, NvmeError> {
    let mut bytes = Vec::new();
    // One byte more than the longest page tells that it is too long.
    file.take(DETAILED_PAGE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| NvmeError::Open { path: path.to_owned(), source })?;
    let statistics =
        parse_page(&bytes).map_err(|source| NvmeError::Page { path: path.to_owned(), source })?;
    Ok(Reading { identity: None, statistics })
}

/// An open device.
struct Device<'a> {
    file: File,
    path: &'a Path,
}

impl Device<'_> {
    fn identity(&self) -> Result<Identity, NvmeError> {
        let mut bytes = vec![0; PAGE_BYTES];
        let asked = "Identify Controller";
        self.judge(asked, admin::identify_controller(&self.file, &mut bytes))?;
        Ok(parse_identity(&bytes).unwrap_or_default())
    }

    fn statistics(&self) -> Result<NvmeStatistics, NvmeError> {
        let mut bytes = vec![0; PAGE_BYTES];
        let asked = "log page 0xD0";
        self.judge(asked, admin::log_page(&self.file, STATISTICS_PAGE, 0, &mut bytes))?;
        if page::is_detailed(&bytes) {
            let mut rest = vec![0; DETAILED_PAGE_BYTES - PAGE_BYTES];
            self.judge(
                asked,
                admin::log_page(&self.file, STATISTICS_PAGE, SECOND_PIECE_OFFSET_BYTES, &mut rest),
            )?;
            bytes.append(&mut rest);
        }
        parse_page(&bytes).map_err(|source| NvmeError::Page { path: self.path.to_owned(), source })
    }

    fn judge(&self, asked: &'static str, answer: io::Result<Answer>) -> Result<(), NvmeError> {
        let path = self.path.to_owned();
        match answer {
            Ok(Answer::Done) => Ok(()),
            Ok(Answer::Refused { status }) => Err(NvmeError::Refused { path, asked, status }),
            Err(source) => Err(match source.raw_os_error() {
                // Devices of other kinds know no such ioctl, each in its own way (ioctl(2), ioctl_list(2)).
                Some(libc::ENOTTY | libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP) => {
                    NvmeError::NotNvme { path }
                }
                Some(libc::EACCES | libc::EPERM) => NvmeError::NotPermitted { path },
                _ => NvmeError::Failed { path, asked, source },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_nvme_device_is_called_that() {
        for path in ["/dev/null", "/dev"] {
            let error = read_statistics(Path::new(path)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{path}` is not an NVMe device")), "{error}");
        }
        let error = read_statistics(Path::new("/dev/nvme999n9")).unwrap_err().to_string();
        assert!(error.contains("`/dev/nvme999n9` cannot be opened: No such file"), "{error}");
    }

    #[test]
    fn what_the_kernel_and_the_controller_answer_is_told_apart() {
        let device = Device { file: File::open("/dev/null").unwrap(), path: Path::new("/dev/nvme7") };
        let said =
            |answer: io::Result<Answer>| device.judge("log page 0xD0", answer).unwrap_err().to_string();
        assert_eq!(
            said(Ok(Answer::Refused { status: 0x4109 })),
            "the controller of `/dev/nvme7` refused log page 0xD0 with status 0x4109, which means: there is no such log page"
        );
        let os = |number| Err(io::Error::from_raw_os_error(number));
        assert!(said(os(libc::EACCES)).contains("from root only"));
        assert!(said(os(libc::EIO)).contains("Input/output error"));
    }
}
