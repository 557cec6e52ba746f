//! Tells by its words whether a command line downloads: the first word of each part, quoting aside.

/// Programs that have no use without a network.
const DOWNLOADERS: &[&str] =
    &["wget", "curl", "aria2c", "scp", "sftp", "ftp", "cpan", "cpanm", "perlbrew", "youtube-dl"];

/// Programs that download with certain first arguments, and these.
const WITH: &[(&str, &[&str])] = &[
    ("pip", &["install", "download", "wheel"]),
    ("pip3", &["install", "download", "wheel"]),
    ("pipx", &["install", "run"]),
    ("uv", &["sync", "pip", "add"]),
    ("poetry", &["install", "add", "update"]),
    ("npm", &["install", "i", "ci", "update"]),
    ("pnpm", &["install", "i", "add", "update"]),
    ("yarn", &["install", "add", ""]),
    ("gem", &["install", "update"]),
    ("bundle", &["install", "update"]),
    ("composer", &["install", "update", "require"]),
    ("apt", &["install", "update", "upgrade", "full-upgrade", "dist-upgrade"]),
    ("apt-get", &["install", "update", "upgrade", "dist-upgrade", "source", "build-dep"]),
    ("yum", &["install", "update", "upgrade", "groupinstall"]),
    ("dnf", &["install", "update", "upgrade"]),
    ("zypper", &["install", "in", "update", "up", "refresh"]),
    ("apk", &["add", "update", "upgrade"]),
    ("brew", &["install", "update", "upgrade"]),
    ("pacman", &["-S", "-Sy", "-Syu"]),
    ("git", &["clone", "fetch", "pull", "ls-remote", "push"]),
    ("svn", &["checkout", "co", "update", "up"]),
    ("hg", &["clone", "pull"]),
    ("cargo", &["install", "fetch", "update"]),
    ("go", &["get", "install", "mod"]),
    ("docker", &["pull", "push"]),
    ("podman", &["pull", "push"]),
    ("rustup", &["install", "update", "toolchain"]),
    ("aws", &["s3"]),
    ("gsutil", &["cp", "rsync"]),
    ("conda", &["install", "create", "update"]),
    ("mamba", &["install", "create", "update"]),
    ("nvm", &["install"]),
    ("pyenv", &["install"]),
    ("rbenv", &["install"]),
];

/// Of the programs above, those that do something local with these first arguments.
const LOCAL: &[(&str, &[&str])] = &[("perlbrew", &["list", "use", "switch", "off", "exec", "info", "env"])];

/// Programs that run another, with the options that take a word of their own.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("time", &["-f", "-o", "--format", "--output"]),
    ("sudo", &["-u", "-g"]),
    ("doas", &["-u"]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("nohup", &[]),
    ("env", &["-u", "-C"]),
    ("exec", &[]),
    ("command", &[]),
    ("taskset", &["-c"]),
    ("chrt", &[]),
    ("timeout", &["-s", "-k"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("strace", &["-e", "-o"]),
    ("cgexec", &["-g"]),
    ("systemd-run", &["-p", "--unit", "--property"]),
    ("xargs", &["-n", "-P", "-I"]),
];

/// Shells, whose `-c` takes a command line.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];

/// How deep shells within shells are followed.
const DEPTH: usize = 4;

/// The words that show that a command line downloads: `perlbrew install`.
pub(super) fn downloads(line: &str) -> Option<String> {
    search(line, DEPTH)
}

fn search(line: &str, depth: usize) -> Option<String> {
    parts(line).iter().find_map(|words| judge(words, depth))
}

/// One simple command.
fn judge(words: &[String], depth: usize) -> Option<String> {
    let words = unwrapped(words);
    let (first, rest) = words.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    if SHELLS.contains(&program) {
        let script = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
        let script = script.and_then(|at| rest.get(at + 1))?;
        return depth.checked_sub(1).and_then(|depth| search(script, depth));
    }
    let argument = rest.iter().find(|word| !is_option(word)).map_or("", String::as_str);
    let named = || format!("{program} {argument}").trim_end().to_owned();
    let among = |table: &[(&str, &[&str])]| {
        table.iter().any(|(name, arguments)| *name == program && arguments.contains(&argument))
    };
    if program == "rsync" {
        return rest.iter().any(|word| is_remote(word)).then(|| "rsync".to_owned());
    }
    if DOWNLOADERS.contains(&program) {
        return (!among(LOCAL) && !is_local(rest)).then(|| match program {
            "perlbrew" => named(),
            _ => program.to_owned(),
        });
    }
    let flag = rest.first().filter(|word| is_option(word)).map_or("", String::as_str);
    if WITH.iter().any(|(name, flags)| *name == program && !flag.is_empty() && flags.contains(&flag)) {
        return Some(format!("{program} {flag}"));
    }
    among(WITH).then(named)
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

/// Whether all that a download is from is on this machine.
fn is_local(arguments: &[String]) -> bool {
    let mut places = arguments.iter().filter(|word| word.contains("://")).peekable();
    let here = |word: &String| {
        ["://localhost", "://127.0.0.1", "://[::1]", "file://"].iter().any(|host| word.contains(host))
    };
    places.peek().is_some() && places.all(here)
}

/// `host:path`, `user@host:path`, `rsync://...`; not a path with a colon in it.
fn is_remote(word: &str) -> bool {
    match word.split_once(':') {
        Some((host, _)) => {
            !is_option(word) && !host.is_empty() && !host.contains('/') && !host.starts_with('.')
        }
        None => false,
    }
}

/// A command without what only starts it: `time`, `sudo -u x`, `VARIABLE=value`.
fn unwrapped(words: &[String]) -> &[String] {
    let mut left = words;
    while let Some((first, rest)) = left.split_first() {
        let program = first.rsplit('/').next().unwrap_or(first);
        if is_assignment(first) {
            left = rest;
            continue;
        }
        let Some((_, takes)) = WRAPPERS.iter().find(|(name, _)| *name == program) else { break };
        left = rest;
        while let Some((option, rest)) = left.split_first() {
            if takes.contains(&option.as_str()) {
                left = rest.get(1..).unwrap_or_default();
            } else if is_option(option) || is_assignment(option) || is_amount(option, program) {
                left = rest;
            } else {
                break;
            }
        }
    }
    left
}

/// The time of `timeout`, the mask of `taskset`, the priority of `chrt`.
fn is_amount(word: &str, program: &str) -> bool {
    matches!(program, "timeout" | "taskset" | "chrt") && word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with('-')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The words of each simple command of a line, by the shell's quoting; nothing is expanded.
fn parts(line: &str) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, ';' | '|' | '&' | '\n' | '(' | ')') => {
                parts.last_mut().into_iter().for_each(|part| part.extend(word.take()));
                parts.push(Vec::new());
            }
            (None, _) if letter.is_whitespace() => {
                parts.last_mut().into_iter().for_each(|part| part.extend(word.take()));
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    parts.last_mut().into_iter().for_each(|part| part.extend(word.take()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn downloads_are_known_by_the_first_words_of_each_part() {
        for (line, found) in [
            ("perlbrew install perl-5.18.2", "perlbrew install"),
            ("time perlbrew install perl-5.18.2", "perlbrew install"),
            ("cgexec -g cpu:limittest perlbrew install x", "perlbrew install"),
            ("sudo -u root apt-get -y install fio", "apt-get install"),
            ("sh -c 'cd /tmp && curl -O https://example.org/x'", "curl"),
            ("cd src; git clone --depth 1 https://example.org/x", "git clone"),
            ("LANG=C nice -n 5 pip3 install numpy", "pip3 install"),
            ("rsync -a lab@10.0.0.1:/data .", "rsync"),
            ("timeout 60 docker pull debian", "docker pull"),
            ("pacman -Syu fio", "pacman -Syu"),
            ("/usr/bin/wget -q x.org", "wget"),
        ] {
            assert_eq!(downloads(line).as_deref(), Some(found), "{line}");
        }
    }

    #[test]
    fn local_work_is_none() {
        for line in [
            "make -j4 all",
            "git status",
            "cargo build --release --offline",
            "echo 'curl is a program'",
            "grep -r curl src",
            "rsync -a /data/ /backup/12:30",
            "dd if=/dev/urandom of=/mnt/test bs=1M",
            "perlbrew list",
            "curl http://localhost:8080/x",
            "tar xf wget-1.2.tar",
            "docker run debian true",
            "",
        ] {
            assert_eq!(downloads(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,60}") {
            let _ = downloads(&line);
        }
    }
}
