//! The agent's process in a container as this host sees it: which one it is, and whether it works, stands still or is gone.

use std::fs;

use iostone_stack::{AGENT_VARIABLE, is_frozen};
use rustix::process::{Pid, Signal, kill_process};

use crate::conversation::Sight;

/// A process told from a later one of its number by when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AgentProcess {
    pid: u32,
    /// In clock ticks since boot.
    started: u64,
}

impl AgentProcess {
    /// The process of that number; none if it has ended.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: stat_of(pid)?.started })
    }

    /// The one process of this host that carries a container's mark. To be looked for before it starts anything: a daemon
    /// that outlives its parent cannot be told from it afterwards.
    ///
    /// # Errors
    /// How many there are, if not one.
    pub(super) fn find(mark: &str) -> Result<Self, usize> {
        let marked = processes_with(AGENT_VARIABLE, mark);
        // What the agent has started carries its mark as well.
        let is_first = |pid: &&u32| parent_of(**pid).is_none_or(|parent| !marked.contains(&parent));
        let first: Vec<u32> = marked.iter().filter(is_first).copied().collect();
        match first.as_slice() {
            [pid] => Self::of(*pid).ok_or(0),
            several => Err(several.len()),
        }
    }

    /// Its number on this host; none once it has ended.
    pub(super) fn pid(self) -> Option<u32> {
        (stat_of(self.pid)?.started == self.started).then_some(self.pid)
    }

    pub(super) fn sight(self) -> Sight {
        match stat_of(self.pid).filter(|stat| stat.started == self.started) {
            None => Sight::Gone,
            Some(stat) if stat.is_stopped || is_frozen(self.pid) => Sight::StandsStill,
            Some(_) => Sight::Works,
        }
    }

    pub(super) fn kill(self) {
        if let Some(pid) = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Of `proc_pid_stat(5)`, fields 3 and 22.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// By a signal.
    is_stopped: bool,
    started: u64,
}

/// None of a process that is gone, and of one that only waits to be reaped.
fn stat_of(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command in parentheses may itself hold blanks and parentheses.
fn parse_stat(stat: &str) -> Option<Stat> {
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    Some(Stat { is_stopped: state == "T", started: fields.nth(18)?.parse().ok()? })
}

/// The processes that this one sees whose environment has that variable (`proc_pid_environ(5)`).
fn processes_with(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
        })
        .collect()
}

/// `proc_pid_status(5)`, `PPid`.
fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::process::kill_process_group;

    use super::*;

    /// A process with a mark and those that it starts; the number of the first that it started.
    fn marked(mark: &str, script: &str) -> (Group, u32) {
        let child = Command::new("sh")
            .args(["-c", script])
            .env(AGENT_VARIABLE, mark)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut group = Group(child);
        let mut line = String::new();
        BufReader::new(group.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (group, line.trim().parse().unwrap())
    }

    fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_first_of_the_marked_processes_is_the_agent() {
        let mark = format!("first-{}", std::process::id());
        let (group, started) = marked(&mark, "sleep 100 & echo $!; wait");
        let mut both = vec![group.0.id(), started];
        both.sort_unstable();
        // In the midst of execve(2) a process has no environment: it gets its name before it.
        wait_until("both carry the mark", || {
            let mut marked = processes_with(AGENT_VARIABLE, &mark);
            marked.sort_unstable();
            marked == both
        });
        assert_eq!(parent_of(started), Some(group.0.id()));
        assert_eq!(AgentProcess::find(&mark).unwrap().pid(), Some(group.0.id()));
        assert_eq!(AgentProcess::find("first"), Err(0));
    }

    #[test]
    fn what_was_found_stays_the_agent_when_an_orphan_carries_its_mark() {
        let mark = format!("orphan-{}", std::process::id());
        // The line is awaited by the shell itself, which is the agent here.
        let (mut group, agent) = marked(&mark, "echo $$; read line; (sleep 100 &); read line");
        let found = AgentProcess::find(&mark).unwrap();
        group.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        wait_until("two carry the mark", || AgentProcess::find(&mark) == Err(2));
        assert_eq!(found.pid(), Some(agent));
    }

    #[test]
    fn a_process_is_told_from_a_later_one_and_a_dead_one_is_gone() {
        let own = AgentProcess::of(std::process::id()).unwrap();
        assert_eq!((own.pid(), own.sight()), (Some(std::process::id()), Sight::Works));
        let later = AgentProcess { started: own.started + 1, ..own };
        assert_eq!((later.pid(), later.sight()), (None, Sight::Gone));
        let (group, _) = marked("dies", "echo $$; exec sleep 100");
        let mortal = AgentProcess::of(group.0.id()).unwrap();
        assert!(mortal.started >= own.started);
        mortal.kill();
        // It is not reaped yet.
        wait_until("it is gone", || mortal.sight() == Sight::Gone);
    }

    #[test]
    fn a_stopped_process_stands_still() {
        let (group, _) = marked("stops", "echo $$; exec sleep 100");
        let process = AgentProcess::of(group.0.id()).unwrap();
        let pid = Pid::from_child(&group.0);
        kill_process(pid, Signal::STOP).unwrap();
        wait_until("it stands still", || process.sight() == Sight::StandsStill);
        kill_process(pid, Signal::CONT).unwrap();
        wait_until("it goes on", || process.sight() == Sight::Works);
    }

    #[test]
    fn a_command_may_hold_what_divides_the_fields() {
        let after = "1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        let parsed = |state: &str| parse_stat(&format!("7 (a) b (c) {state} {after}"));
        assert_eq!(parsed("S"), Some(Stat { is_stopped: false, started: 4711 }));
        assert_eq!(parsed("T"), Some(Stat { is_stopped: true, started: 4711 }));
        assert_eq!((parsed("Z"), parsed("X"), parse_stat("7")), (None, None, None));
    }

    struct Group(Child);

    impl Drop for Group {
        fn drop(&mut self) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}
