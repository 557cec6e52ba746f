//! `serve`: its pages, who is let in, and that it leaves everything as it is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::runs::PROGRAM;
use crate::support::Bench;

/// A server on a port of its own, which ends with the test.
struct Server {
    child: Child,
    address: SocketAddr,
    /// What it printed.
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Got {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Server {
    fn on(bench: &Bench, listen: &str) -> Self {
        let mut child = bench
            .command(&["serve", "--listen", listen])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim_end().to_owned();
        let named = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
        let port = named.rsplit(':').next().unwrap().parse().unwrap();
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), url }
    }

    /// Sends what is given, and reads until the server closes.
    fn send(&self, request: &str) -> Got {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server that refuses may close before all is sent.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or("0").parse().unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Got { status, headers, body: body.to_owned() }
    }

    fn ask(&self, method: &str, target: &str, host: &str, more: &str) -> Got {
        self.send(&format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"))
    }

    fn get(&self, target: &str) -> Got {
        self.ask("GET", target, &self.address.to_string(), "")
    }
}

/// Text that is markup where it is not escaped.
const MARKUP: &str = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'";

/// Two runs, an import, and a directory that cannot be read.
fn bench() -> Bench {
    let bench = Bench::new();
    let level = format!("\"{}\"", MARKUP.replace('"', "\\\""));
    let text = PROGRAM
        .replace("Is <a> different", &format!("{} Is <a>", MARKUP.replace('"', "\\\"")))
        .replace("{ a = {", &format!("{{ {level} = {{"))
        .replace("baseline = \"a\"", &format!("baseline = {level}"));
    bench.write("experiment.toml", text);
    bench.iostone(&["run", "experiment.toml", "--tag", "nightly"]).ended_with(0);
    bench.iostone(&["run", "experiment.toml", "--set", "trials.seed=7"]).ended_with(0);
    bench.write("figures.csv", format!("load,iops\na,1\n\"{}\",2\n", MARKUP.replace('"', "\"\"")));
    bench.iostone(&["import", "figures.csv", "--name", "table"]).ended_with(0);
    let bad = bench.runs().join("<b>bad");
    fs::create_dir(&bad).unwrap();
    fs::write(bad.join("plan.json"), "{").unwrap();
    bench
}

/// Every file below a directory with its time and size.
fn tree(directory: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let found = entry.metadata().unwrap();
        files.insert(entry.path(), (found.len(), found.modified().unwrap()));
        if found.is_dir() {
            files.extend(tree(&entry.path()));
        }
    }
    files
}

#[test]
fn every_page_shows_what_there_is_and_changes_nothing() {
    let bench = bench();
    let before = tree(&bench.path(""));
    let server = Server::on(&bench, "127.0.0.1:0");
    assert_eq!(server.url, format!("http://{}/", server.address));
    let names: Vec<String> = bench
        .run_directories()
        .iter()
        .map(|run| run.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name.contains("program"))
        .collect();
    let diff = format!("/diff?run={}&run={}", names[0], names[1]);
    let report = format!("/run/{}/", names[0]);
    let imported = bench.run_directories().into_iter().find(|run| run.join("import.json").exists()).unwrap();
    let imported = format!("/run/{}/", imported.file_name().unwrap().to_str().unwrap());
    for (target, status, holds) in [
        ("/", 200, "3 runs, the newest first"),
        ("/", 200, "&#60;b&#62;bad"),
        ("/?q=nightly", 200, "1 of 3 runs fit"),
        ("/?experiment=PROG*&host=&verdict=", 200, "2 of 3 runs fit"),
        ("/?since=yesterday", 200, "invalid value &#39;yesterday&#39;"),
        ("/?page=99", 200, "1 to 3 of 3"),
        ("/experiments", 200, "2 experiments, each on one host"),
        ("/history?experiment=program", 200, "History of program"),
        ("/history?experiment=none", 404, "no such experiment"),
        (diff.as_str(), 200, "2 runs side by side"),
        ("/diff?run=none", 404, "no such run"),
        ("/diff", 400, "Choose 2 to 12 runs"),
        (report.as_str(), 200, "No verdict between"),
        (imported.as_str(), 200, "Made by iostone"),
        ("/run/none/", 404, "no such run"),
        ("/run/..%2f..%2fetc/", 404, "no such run"),
        ("/catalog?q=c4.large", 200, "1 of 1 that fit"),
        ("/catalog?q=nothingsuch", 200, "No type fits"),
        ("/catalog/gp2", 200, "throughput"),
        ("/catalog/none", 404, "no such type"),
        ("/predict", 200, "How long will it take?"),
        (
            "/predict?instance=c4.large&volume=gp2:220GiB&write=220GiB",
            200,
            "iostone predict --instance=c4.large",
        ),
        ("/predict?instance=c4.large&volume=%3Cb%3E&write=1GiB", 400, "&#60;b&#62;"),
        ("/casebook", 200, "Published figures, judged again"),
        ("/elsewhere", 404, "no such page"),
    ] {
        let got = server.get(target);
        assert_eq!(got.status, status, "{target}: {}", got.body);
        assert!(got.body.contains(holds), "{target} lacks {holds:?}:\n{}", got.body);
        assert!(!got.body.contains("<script>alert") && !got.body.contains("<img src=x"), "{target}");
        assert!(!got.body.contains("<b>bad"), "{target}");
        let policy = &got.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(got.headers[name], value, "{target}");
        }
        let head = server.ask("HEAD", target, &server.address.to_string(), "");
        assert_eq!((head.status, head.body.as_str()), (status, ""), "{target}");
    }
    drop(server);
    assert_eq!(tree(&bench.path("")), before);
}

#[test]
fn a_host_that_is_not_its_own_is_refused() {
    let bench = Bench::new();
    let server = Server::on(&bench, "127.0.0.1:0");
    let port = server.address.port();
    assert_eq!(server.ask("GET", "/", &format!("localhost:{port}"), "").status, 200);
    for host in [
        "attacker.example",
        "127.0.0.1",
        "127.0.0.2:PORT",
        "localhost.attacker.example:PORT",
        "attacker.example:PORT",
    ] {
        let host = host.replace("PORT", &port.to_string());
        // What `Origin` says changes nothing.
        let got = server.ask("GET", "/", &host, &format!("Origin: http://127.0.0.1:{port}\r\n"));
        assert_eq!(got.status, 421, "{host}");
        assert!(!got.body.contains("<html"), "{host}");
    }
    let own = server.address.to_string();
    assert_eq!(server.ask("GET", &format!("http://attacker.example:{port}/"), &own, "").status, 421);
    assert_eq!(server.ask("GET", "/", &own, &format!("Host: {own}\r\n")).status, 400);
    assert_eq!(server.send("GET / HTTP/1.0\r\n\r\n").status, 400);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"] {
        let got = server.ask(method, "/", &own, "Content-Length: 0\r\n");
        assert_eq!((got.status, got.headers["allow"].as_str()), (405, "GET, HEAD"), "{method}");
    }
    // A request is bounded, and what it costs to refuse it too.
    let long = format!("/?q={}", "x".repeat(1 << 20));
    assert!(![200, 500].contains(&server.get(&long).status));
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    let bench = Bench::new();
    let server = Server::on(&bench, "0.0.0.0:0");
    let own = server.address.to_string();
    let (_, token) = server.url.split_once("/?token=").expect("an address with a token");
    assert_eq!(token.len(), 32);
    let wrong = token.chars().rev().collect::<String>();
    for target in
        ["/".to_owned(), "/?token=".to_owned(), format!("/?token={wrong}"), format!("/?token={token}0")]
    {
        assert_eq!(server.ask("GET", &target, &own, "").status, 403, "{target}");
    }
    let got = server.ask("GET", &format!("/experiments?a=1&token={token}&b=2"), &own, "");
    assert_eq!((got.status, got.headers["location"].as_str()), (303, "/experiments?a=1&b=2"));
    let cookie = got.headers["set-cookie"].clone();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(server.ask("GET", "/", &own, &format!("Cookie: a=b; {cookie}\r\n")).status, 200);
    assert_eq!(
        server.ask("GET", "/", &own, &format!("Cookie: {}\r\n", cookie.replace(token, &wrong))).status,
        403
    );
    // With the token too, a name of somebody else's is refused.
    assert_eq!(server.ask("GET", "/", "attacker.example", &format!("Cookie: {cookie}\r\n")).status, 421);
    // No address of another host comes out of a path with two slashes.
    let got = server.ask("GET", &format!("//attacker.example/?token={token}"), &own, "");
    assert_eq!(got.headers["location"], "/attacker.example/");
}

#[test]
fn a_run_in_progress_is_followed_by_events() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM.replace("echo $WHICH", "sleep 0.4; echo $WHICH"));
    let mut run = bench
        .command(&["run", "experiment.toml", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server::on(&bench, "127.0.0.1:0");
    let began = Instant::now();
    let directory = loop {
        let found =
            bench.run_directories().into_iter().find(|run| run.join("trials/000002/trial.json").exists());
        if let Some(found) = found {
            break found.file_name().unwrap().to_str().unwrap().to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(server.get("/").body.contains("running now"));
    let page = server.get(&format!("/run/{directory}/"));
    assert!(page.body.contains("In progress") && page.body.contains("of at most 6 blocks"), "{}", page.body);
    assert!(page.headers["content-security-policy"].contains("connect-src 'self'"));
    // The stream ends with the run, and the last event says so.
    let events = server.get(&format!("/run/{directory}/events"));
    assert_eq!(events.headers["content-type"], "text/event-stream");
    let events: Vec<Value> = events
        .body
        .split("data: ")
        .skip(1)
        .map(|event| serde_json::from_str(event.split("\n\n").next().unwrap()).unwrap())
        .collect();
    assert!(events.len() >= 2, "{events:?}");
    let last = events.last().unwrap();
    assert_eq!((&events[0]["over"], &last["over"]), (&false.into(), &true.into()));
    assert_eq!((&last["blocks"], &last["trials"]), (&"6 of at most 6 blocks".into(), &"12 trials".into()));
    assert_eq!(last["recent"].as_array().unwrap().len(), 12);
    assert!(run.wait().unwrap().success());
    let report = server.get(&format!("/run/{directory}/"));
    assert!(!report.body.contains("In progress") && report.body.contains("verdicts.json"), "{}", report.body);
}

#[test]
fn an_interrupt_ends_it_at_once() {
    let bench = Bench::new();
    let mut server = Server::on(&bench, "127.0.0.1:0");
    // With a connection that says nothing.
    let _silent = TcpStream::connect(server.address).unwrap();
    let began = Instant::now();
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    server.child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(2));
    bench.iostone(&["serve", "--listen", "nowhere"]).ended_with(2);
    bench
        .iostone(&["serve", "--listen", "192.0.2.1:7070"])
        .ended_with(2)
        .complains_of("listening on 192.0.2.1:7070");
}
