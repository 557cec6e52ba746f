//! Why a host has no result, in words, and what to do next.

/// A reason and the next command.
pub(crate) struct Missing {
    pub(crate) reason: String,
    pub(crate) next: String,
}

/// What a message of Ansible's, of SSH's or of the host's own amounts to. `inventory` is the file that says how the host is reached,
/// `resume` the command that completes the fleet.
pub(crate) fn explain(host: &str, message: &str, inventory: &str, resume: &str) -> Missing {
    let lower = message.to_lowercase();
    let has = |word: &str| lower.contains(word);
    let inventory = iostone_stack::quote(inventory.as_ref());
    // Not `ssh HOST`: the inventory may have another address, user and port. Not `-m ping`: hosts need no Python.
    let check = format!("ansible -i {inventory} {host} -m raw -a true; {resume}");
    let (reason, next) = if has("host key verification failed")
        || has("remote host identification has changed")
    {
        (
            "its host key is not the one in known_hosts, or none is there".to_owned(),
            format!(
                "compare `ssh-keyscan ADDRESS` with a key that you trust and add it to ~/.ssh/known_hosts, with the address that \
                 `ansible-inventory -i {inventory} --host {host}` shows as `ansible_host`, else {host}; {resume}"
            ),
        )
    } else if has("connection refused") {
        ("refuses connections".to_owned(), check)
    } else if has("permission denied") && has("publickey") {
        ("does not accept this user's key".to_owned(), check)
    } else if has("could not resolve hostname") {
        ("its name cannot be resolved".to_owned(), check)
    } else if has("no route to host") || has("network is unreachable") {
        ("cannot be reached: no route".to_owned(), check)
    } else if has("no space left") || lower.starts_with("full:") || has("disk quota exceeded") {
        (
            format!("no space left ({})", first_line(message)),
            format!("make room on {host}, or set `iostone_base` to a larger filesystem; {resume}"),
        )
    } else if has("timed out") || has("timer expired") || has("timeout") {
        ("hangs at login".to_owned(), check)
    } else if has("another version") {
        (
            first_line(message),
            format!("update iostone on {host}, or drop `iostone_program` from the inventory; {resume}"),
        )
    } else {
        (first_line(message), resume.to_owned())
    };
    Missing { reason, next }
}

/// The line of a message that says most, bounded: the last that is not empty.
fn first_line(message: &str) -> String {
    let line = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    line.trim().chars().filter(|character| !character.is_control()).take(240).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_reasons_with_a_next_command() {
        let resume = "iostone fleet run --resume runs/x";
        for (message, reason, next) in [
            (
                "ssh: connect to host 127.1.9.1 port 22: Connection refused",
                "refuses connections",
                "ansible -i hosts.yml db1 -m raw -a true; iostone",
            ),
            ("Host key verification failed.", "its host key is not", "compare `ssh-keyscan ADDRESS`"),
            ("Timed out after 60 second(s).", "hangs at login", "ansible -i hosts.yml db1 -m raw"),
            (
                "full: 900 KiB free in /var, 16384 KiB needed",
                "no space left (full: 900 KiB",
                "make room on db1",
            ),
            (
                "another version: iostone 0.0.9, not 0.1.0",
                "another version: iostone 0.0.9",
                "update iostone on db1",
            ),
            (
                "root@db1: Permission denied (publickey).",
                "does not accept this user's key",
                "ansible -i hosts.yml db1 -m raw",
            ),
            ("noise\n\u{1b}[31mits disk is on fire\n\n", "[31mits disk is on fire", resume),
        ] {
            let found = explain("db1", message, "hosts.yml", resume);
            assert!(found.reason.starts_with(reason), "{message}: {}", found.reason);
            assert!(
                found.next.starts_with(next) && found.next.ends_with(resume),
                "{message}: {}",
                found.next
            );
        }
        assert!(explain("db1", &"x".repeat(1 << 20), "hosts.yml", resume).reason.len() < 300);
    }
}
