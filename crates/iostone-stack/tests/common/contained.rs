//! What the tests of container engines need: an archive with a shell in the place of the agent, and looks at what is left.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostone_model::experiment::LowerFiles;
use iostone_stack::{Applied, Provision};

use super::machine::{Machine, run};

/// What is looked at belongs to the whole machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An archive with a shell that answers in the place of the agent.
pub(crate) fn provision(machine: &Machine, lower: Option<LowerFiles>) -> Provision {
    let root = machine.path().join("root");
    fs::create_dir_all(root.join("bin")).unwrap();
    for program in ["sh", "cat"] {
        let found = run("sh", &["-c", &format!("command -v {program}")]);
        let program_inside = root.join("bin").join(program);
        fs::copy(found.trim(), &program_inside).unwrap();
        for library in run("ldd", &[found.trim()]).split_whitespace().filter(|word| word.starts_with('/')) {
            let inside = root.join(library.trim_start_matches('/'));
            fs::create_dir_all(inside.parent().unwrap()).unwrap();
            fs::copy(library, inside).unwrap();
        }
    }
    let script = "while read -r word; do case $word in \
                  hello) echo \"hello $IOSTONE_CONTAINED\";; \
                  write) echo x > \"$1/file\"; echo written;; \
                  mounts) cat /proc/self/mountinfo; echo end;; esac; done\n";
    fs::write(root.join("agent.sh"), script.replace("$1", "$PLACE")).unwrap();
    let archive = machine.path().join("root.tar");
    run("tar", &["-C", root.to_str().unwrap(), "-cf", archive.to_str().unwrap(), "."]);
    Provision { archive: Some(archive), program: vec!["/bin/sh".to_owned(), "/agent.sh".to_owned()], lower }
}

/// An agent in a container, or beside it.
pub(crate) struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn start(applied: &Applied) -> Self {
        let standing = applied.container.as_ref().unwrap();
        let (program, arguments) = standing.agent.split_first().unwrap();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout) }
    }

    pub(crate) fn ask(&mut self, word: &str) -> String {
        writeln!(self.stdin, "{word}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes with that in their environment.
pub(crate) fn marked(text: &str) -> Vec<u32> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(text.len()).any(|window| window == text.as_bytes())
        })
        .collect()
}

/// The agent in a container may lock as much memory, and open as many files, as this process: io_uring's buffers count.
pub(crate) fn assert_alike(mark: &str) {
    let agent = marked(&format!("{}={mark}", iostone_stack::AGENT_VARIABLE))[0].to_string();
    let of = |process: &str, file: &str, name: &str| {
        let text = fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    };
    for name in ["Max locked memory", "Max open files"] {
        assert_eq!(of(&agent, "limits", name), of("self", "limits", name), "{name}");
    }
    // CAP_IPC_LOCK, capabilities(7).
    let may_lock =
        |process: &str| u64::from_str_radix(&of(process, "status", "CapEff:"), 16).unwrap() >> 14 & 1;
    assert_eq!(may_lock(&agent), may_lock("self"));
}

pub(crate) fn groups(token: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for hierarchy in fs::read_dir("/sys/fs/cgroup").unwrap().flatten() {
        let mut names = vec![hierarchy.path()];
        names
            .extend(fs::read_dir(hierarchy.path()).into_iter().flatten().flatten().map(|entry| entry.path()));
        found.extend(names.into_iter().filter(|path| path.to_string_lossy().contains(token)));
    }
    found
}

/// Nothing of a session is left.
pub(crate) fn assert_gone(machine: &Machine, token: &str) {
    machine.assert_clean();
    assert_eq!(marked(token), Vec::<u32>::new());
    assert_eq!(groups(token), Vec::<PathBuf>::new());
    // Named by the random bits of the session, which not every caller knows.
    let bits = token.rsplit('-').next().filter(|bits| !bits.is_empty());
    assert!(bits.is_none_or(|bits| !Path::new(&format!("/run/iostone-{bits}")).exists()), "{token}");
}

pub(crate) fn list(directory: &Path, depth: usize, paths: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&entry.path(), depth - 1, paths);
        }
        paths.insert(entry.path());
    }
}

/// By a second process inside, told where by its environment.
pub(crate) fn write_inside(applied: &Applied, directory: &Path) -> bool {
    let standing = applied.container.as_ref().unwrap();
    let mut words = standing.agent.clone();
    let place = words.iter().position(|word| word == "--env").unwrap();
    words.splice(place..place, ["--env".to_owned(), format!("PLACE={}", directory.display())]);
    let mut applied = applied.clone();
    applied.container.as_mut().unwrap().agent = words;
    Agent::start(&applied).ask("write") == "written"
}
