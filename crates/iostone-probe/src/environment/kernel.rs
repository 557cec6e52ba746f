//! Kernel, operating system and the host's name.

use iostone_model::environment::Kernel;

use crate::root::Root;

/// Reads `/proc/sys/kernel` (the fields of uname(2)) and `/proc/cmdline`.
pub(super) fn read_kernel(root: &Root) -> Kernel {
    let live = root.is_live().then(rustix::system::uname);
    let release = root
        .word("/proc/sys/kernel/osrelease")
        .or_else(|| live.as_ref().map(|name| name.release().to_string_lossy().into_owned()));
    let version = root
        .word("/proc/sys/kernel/version")
        .or_else(|| live.as_ref().map(|name| name.version().to_string_lossy().into_owned()));
    Kernel {
        release: release.unwrap_or_default(),
        version: version.unwrap_or_default(),
        command_line: root.word("/proc/cmdline"),
        io_uring_disabled: root.number("/proc/sys/kernel/io_uring_disabled"),
    }
}

/// The host's name.
pub(super) fn read_host_name(root: &Root) -> String {
    let live = || root.is_live().then(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    root.word("/proc/sys/kernel/hostname").or_else(live).unwrap_or_default()
}

/// The name in os-release(5): `PRETTY_NAME`, or `NAME` and `VERSION_ID`; the first line of `/etc/system-release` on
/// systems older than that.
pub(super) fn read_os(root: &Root) -> Option<String> {
    let text = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"));
    let named = text.and_then(|text| {
        let pretty = find_assignment(&text, "PRETTY_NAME");
        pretty.or_else(|| {
            let name = find_assignment(&text, "NAME")?;
            Some(match find_assignment(&text, "VERSION_ID") {
                Some(version) => format!("{name} {version}"),
                None => name,
            })
        })
    });
    let older = || {
        let files = ["/etc/system-release", "/etc/redhat-release", "/etc/lsb-release"];
        files.iter().find_map(|file| root.word(file)?.lines().next().map(str::to_owned))
    };
    named.or_else(older)
}

/// The value of a shell-like assignment, its quotes and escapes taken off; `None` when it is empty.
fn find_assignment(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?.trim();
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value);
    let mut plain = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        plain.push(if letter == '\\' { letters.next().unwrap_or('\\') } else { letter });
    }
    (!plain.is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::plant;

    #[test]
    fn an_operating_system_is_named_whatever_its_age() {
        for (file, text, name) in [
            (
                "etc/os-release",
                "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
                "Debian GNU/Linux 12 (bookworm)",
            ),
            ("usr/lib/os-release", "NAME=Alpine\nVERSION_ID='3.20'\n", "Alpine 3.20"),
            ("etc/os-release", "PRETTY_NAME=\"A \\\"quoted\\\" \\$OS\"\n", "A \"quoted\" $OS"),
            ("etc/system-release", "CentOS release 5.4 (Final)\n", "CentOS release 5.4 (Final)"),
        ] {
            let (_folder, root) = plant(&[(file, text)]);
            assert_eq!(read_os(&root).as_deref(), Some(name));
        }
        assert_eq!(read_os(&Root::at("/nonexistent")), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = find_assignment(&format!("NAME={text}"), "NAME");
        }
    }
}
