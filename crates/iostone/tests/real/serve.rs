//! `serve` in headless Chromium: every page without a word on the console, whatever runs are called. Skipped by name without
//! `chromium`.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, UNGATED};

/// What runs where markup, an attribute, a script or an address is not escaped.
const PAYLOADS: [&str; 20] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "\"><script>alert(1)</script>",
    "'><img src=x onerror=alert(1)>",
    "\" autofocus onfocus=alert(1) x=\"",
    "' onmouseover='alert(1)",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</pre></textarea><iframe src=javascript:alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<base href=//attacker.example/>",
    "<meta http-equiv=refresh content=0;url=//attacker.example>",
    "<link rel=stylesheet href=//attacker.example/x.css>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;img src=x&#62;",
    "`<b>`\u{202e}\u{0}\u{1b}[2J<b>`",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}",
];

/// What they stand in.
const FRAMES: [&str; 10] =
    ["%", "a % b", "%%", "%.csv", "x=\"%\"", "[%](%)", "\n%", "%\u{feff}", "ü日%", "%/../%"];

/// An experiment whose levels and question are hostile too.
const EXPERIMENT: &str = r#"name = "hostile"
question = "QUESTION"
[stack]
volume = { kind = "directory" }
[[factor]]
name = "which"
levels = { "ONE" = { workload.env = { W = "1" } }, "TWO" = { workload.env = { W = "2" } } }
[workload]
kind = "command"
argv = ["sh", "-c", "PACE"]
[decide]
metric = "wall_time"
baseline = "ONE"
blocks = { min = 6, max = 6 }
"#;

/// Chromium, asked by the `DevTools` protocol over its standard input and output.
struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    asked: u64,
    session: Option<String>,
    /// Every error, message, dialogue and request since the last page.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    fn start() -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let line = format!(
            "command -v chromium >/dev/null || exit 1; exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
             --remote-debugging-pipe --user-data-dir='{}' about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.path().display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (requests, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        std::thread::sleep(Duration::from_millis(200));
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        let mut browser =
            Self { child, requests, answers, asked: 0, session: None, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).unwrap();
        message.pop();
        serde_json::from_slice(&message).expect("Chromium ended")
    }

    #[expect(clippy::needless_pass_by_value, reason = "parameters are written where they are passed")]
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut request = json!({ "id": self.asked, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let message = self.read();
            if message["id"] == self.asked {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// The value of an expression on the page.
    fn value(&mut self, expression: &str) -> Value {
        self.call("Runtime.evaluate", json!({ "expression": expression }))["result"]["value"].clone()
    }

    /// Opens a page, and fails if it says anything, asks anything of another host, or is wider than the window.
    fn open(&mut self, url: &str, width: u32, origin: &str) {
        self.events.clear();
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
        );
        self.call("Page.navigate", json!({ "url": url }));
        let began = Instant::now();
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            assert!(began.elapsed() < Duration::from_secs(60), "{url} does not load");
            self.value("1");
        }
        // Every handler of the page has run by then.
        std::thread::sleep(Duration::from_millis(100));
        self.value("1");
        let spoke = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
            "Network.loadingFailed",
        ];
        for event in &self.events {
            let method = event["method"].as_str().unwrap_or_default();
            assert!(!spoke.contains(&method), "{url}: {event}");
            if method == "Network.requestWillBeSent" {
                let asked = event["params"]["request"]["url"].as_str().unwrap_or_default();
                assert!(asked.starts_with(origin), "{url} asks for {asked}");
            }
        }
        let over = self.value("document.documentElement.scrollWidth - innerWidth").as_i64().unwrap();
        assert!(over <= 0, "{url} is {over} pixels wider than {width}");
    }
}

/// Puts a hostile name in the place of every text that is no word of the format.
fn spoil(value: &mut Value, name: &str) {
    const KEPT: [&str; 16] = [
        "schema",
        "state",
        "started_at",
        "ended_at",
        "unit",
        "better",
        "verdict",
        "outcome",
        "metric",
        "provider",
        "experiment_digest",
        "role",
        "created_at",
        "at",
        "layer",
        "taken_at",
    ];
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut().filter(|(key, _)| !KEPT.contains(&key.as_str())) {
                match field {
                    // The metric's own name is a key elsewhere.
                    Value::String(text) if key != "name" || text != "wall_time" => name.clone_into(text),
                    other => spoil(other, name),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                if let Value::String(text) = value {
                    name.clone_into(text);
                }
                spoil(value, name);
            }
        }
        _ => {}
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut document);
    fs::write(path, serde_json::to_vec(&document).unwrap()).unwrap();
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = write!(encoded, "%{byte:02X}");
        encoded
    })
}

#[test]
#[expect(clippy::too_many_lines, reason = "one server and one browser, page after page")]
fn no_page_speaks_or_runs_anything_whatever_runs_are_called() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: needs `chromium`");
        return;
    };
    let lab = Lab::new();
    let text = format!("{EXPERIMENT}{UNGATED}")
        .replace("QUESTION", PAYLOADS[0])
        .replace("ONE", &PAYLOADS[3].replace('"', "\\\""))
        .replace("TWO", "b' onmouseover='alert(1)");
    lab.write("experiment.toml", &text.replace("PACE", "true"));
    let said = lab.iostone(&["run", "experiment.toml"]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let runs = lab.runs();
    let first = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let names: Vec<String> =
        FRAMES.iter().flat_map(|frame| PAYLOADS.map(|one| frame.replace('%', one))).collect();
    assert_eq!(names.len(), 200);
    let mut directories = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let directory = format!("{number:03}{}", name.replace(['/', '\0'], "|"));
        let path = runs.join(&directory);
        fs::create_dir(&path).unwrap();
        for file in [
            "plan.json",
            "journal.jsonl",
            "summary.json",
            "verdicts.json",
            "environment.json",
            "experiment.toml",
        ] {
            fs::copy(first.join(file), path.join(file)).unwrap();
        }
        for trial in fs::read_dir(first.join("trials")).unwrap().map(Result::unwrap) {
            let copy = path.join("trials").join(trial.file_name());
            fs::create_dir_all(&copy).unwrap();
            fs::copy(trial.path().join("trial.json"), copy.join("trial.json")).unwrap();
            edit(&copy.join("trial.json"), |record| {
                for part in ["checks", "notes"] {
                    spoil(&mut record[part], name);
                }
                spoil(&mut record["workload"]["facts"], name);
                record["workload"]["stderr_tail"] = name.as_str().into();
            });
        }
        edit(&path.join("summary.json"), |summary| spoil(summary, name));
        edit(&path.join("environment.json"), |environment| spoil(environment, name));
        edit(&path.join("verdicts.json"), |verdicts| verdicts["headline"] = name.as_str().into());
        directories.push(directory);
    }
    let mut server = lab
        .iostone(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let origin = url.trim_end().to_owned();
    let mut pages: Vec<String> =
        ["", "?page=2", "?page=3", "experiments", "catalog", "catalog/c4.large", "catalog/gp2"]
            .map(str::to_owned)
            .to_vec();
    pages.extend(
        ["predict", "casebook", "predict?instance=c4.large&volume=gp2:220GiB&write=220GiB"]
            .map(str::to_owned),
    );
    // Every run's own pages, and what is typed into forms.
    for (directory, name) in directories.iter().zip(&names) {
        pages.push(format!("run/{}/", encoded(directory)));
        pages.push(format!("?q={0}&experiment={0}", encoded(name)));
    }
    for (pair, name) in directories.chunks(2).zip(names.iter().step_by(2)).step_by(5) {
        pages.push(format!("diff?run={}&run={}", encoded(&pair[0]), encoded(&pair[1])));
        pages.push(format!("history?experiment={}", encoded(name)));
    }
    for (at, page) in pages.iter().enumerate() {
        browser.open(&format!("{origin}{page}"), if at % 2 == 0 { 1280 } else { 390 }, &origin);
    }
    for page in ["", "experiments", "predict"] {
        browser.open(&format!("{origin}{page}"), 390, &origin);
    }
    // A run in progress, whose events the page takes in.
    lab.write("slow.toml", &text.replace("PACE", "sleep 0.5"));
    let mut run =
        lab.iostone(&["run", "slow.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let slow = loop {
        // The others are called otherwise.
        let is_slow = |path: &PathBuf| *path != first && path.to_string_lossy().contains("-hostile-");
        let all = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path());
        let slow = all.filter(is_slow).find(|path| path.join("trials/000001/trial.json").exists());
        if let Some(slow) = slow {
            break slow.file_name().unwrap().to_str().unwrap().to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(50));
    };
    browser.open(&format!("{origin}run/{slow}/"), 390, &origin);
    assert!(run.wait().unwrap().success());
    let state = "document.getElementById('state').textContent";
    while !browser.value(state).as_str().unwrap().starts_with("ended") {
        assert!(began.elapsed() < Duration::from_secs(120), "no event says that the run ended");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(browser.value("document.getElementById('recent').rows.length"), 12);
    server.kill().unwrap();
    server.wait().unwrap();
    // What stands on its standard output is its address alone.
    let mut rest = String::new();
    if let Some(mut output) = server.stdout.take() {
        output.read_to_string(&mut rest).unwrap();
    }
    assert_eq!(rest, "");
}
