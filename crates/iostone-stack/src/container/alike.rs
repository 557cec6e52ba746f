//! What a program in a container of an engine may do as iostone itself may: otherwise more than the place differs.

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// The words of `docker run` and `podman run` that give a container the limits on open files and on locked memory that this
/// process has, and the capability to lock more. The buffers of io_uring are counted as locked memory unless somebody has
/// that capability (`io_account_mem`, `io_uring/rsrc.c`); the engines' own sets do not hold it.
pub(super) fn words() -> Vec<String> {
    let may_lock = capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::IPC_LOCK));
    words_of(limit(Resource::Nofile), limit(Resource::Memlock), may_lock)
}

/// The limit now and the most that it may be raised to.
type Limit = (Option<u64>, Option<u64>);

fn limit(resource: Resource) -> Limit {
    let limit = getrlimit(resource);
    (limit.current, limit.maximum)
}

fn words_of(files: Limit, locked_bytes: Limit, may_lock: bool) -> Vec<String> {
    let number = |value: Option<u64>| value.map_or("-1".to_owned(), |value| value.to_string());
    let of = |name: &str, (now, most): Limit| format!("{name}={}:{}", number(now), number(most));
    let mut words = vec!["--ulimit".to_owned(), of("nofile", files)];
    words.extend(["--ulimit".to_owned(), of("memlock", locked_bytes)]);
    if may_lock {
        words.extend(["--cap-add".to_owned(), "IPC_LOCK".to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_may_lock_as_much_memory_as_this_process() {
        let words = words_of((Some(1024), Some(4096)), (Some(8 << 20), None), true).join(" ");
        assert_eq!(words, "--ulimit nofile=1024:4096 --ulimit memlock=8388608:-1 --cap-add IPC_LOCK");
        let without = words_of((None, None), (Some(65536), Some(65536)), false).join(" ");
        assert_eq!(without, "--ulimit nofile=-1:-1 --ulimit memlock=65536:65536");
    }
}
