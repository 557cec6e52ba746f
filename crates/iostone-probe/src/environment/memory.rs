//! Memory, and when the kernel begins to write dirty pages back.

use iostone_model::environment::Memory;

use super::pick_chosen;
use crate::fields::find_value;
use crate::root::Root;

/// Reads `/proc/meminfo` (kB there are 1024 bytes) and `/proc/sys/vm`.
pub(super) fn read_memory(root: &Root) -> Memory {
    let meminfo = root.bytes("/proc/meminfo").unwrap_or_default();
    let bytes = |key: &str| find_value(&meminfo, key.as_bytes()).map(|kib| kib.saturating_mul(1024));
    // Kernels before 3.14 make no estimate; free memory and the page cache are the old rule of thumb.
    let available = bytes("MemAvailable:").or_else(|| {
        Some(bytes("MemFree:")?.saturating_add(bytes("Cached:")?).saturating_add(bytes("Buffers:")?))
    });
    // Bytes and ratio are two faces of one setting: the one not in force reads 0 (Documentation/admin-guide/sysctl/vm.rst).
    let limit =
        |name: &str| root.number::<u64>(format!("/proc/sys/vm/{name}_bytes")).filter(|bytes| *bytes > 0);
    let ratio = |name: &str| {
        let percent = root.number::<u32>(format!("/proc/sys/vm/{name}_ratio"));
        percent.filter(|_| limit(name).is_none())
    };
    Memory {
        total_bytes: bytes("MemTotal:").unwrap_or_default(),
        available_bytes: available.unwrap_or_default(),
        swap_bytes: bytes("SwapTotal:").unwrap_or_default(),
        dirty_ratio_percent: ratio("dirty"),
        dirty_background_ratio_percent: ratio("dirty_background"),
        dirty_limit_bytes: limit("dirty"),
        dirty_background_limit_bytes: limit("dirty_background"),
        transparent_hugepages: root
            .word("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|choice| pick_chosen(&choice)),
    }
}
