//! A headless Chromium, spoken to through its own pipes: no server, no port, nothing beside the standard library.
//!
//! The DevTools protocol goes over the file descriptors 3 and 4 (`--remote-debugging-pipe`): objects of JSON, each ended by
//! a zero byte. A shell puts standard input and output there. Everything is bounded in time, and the browser ends with the
//! value that started it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// No answer takes longer, on the slowest machine that builds this.
const PATIENCE: Duration = Duration::from_secs(90);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    next: u64,
    /// What the page did that nobody asked for: see [`Browser::complaints`].
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The whole group: the shell has become the browser, which has children of its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command that starts Chromium; `None` when there is none.
fn command() -> Option<String> {
    let named = std::env::var("EPITOME_CHROMIUM").ok();
    let usual = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"].map(str::to_owned);
    named.into_iter().chain(usual).find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()))
}

impl Browser {
    /// Starts one. `None`, and a line that says so, when this machine has none.
    pub(crate) fn start() -> Option<Browser> {
        let Some(command) = command() else {
            // Past the capture of tests, so that a run shows what it did not test.
            static SAID: std::sync::Once = std::sync::Once::new();
            SAID.call_once(|| drop(writeln!(std::io::stdout(), "\nskipped: pages in a browser (no chromium)")));
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut shell = format!("exec '{command}' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run");
        for flag in ["--disable-extensions", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars"] {
            let _ = write!(shell, " {flag}");
        }
        let _ = write!(
            shell,
            " --user-data-dir='{}' --remote-debugging-pipe about:blank 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null",
            profile.path().display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &shell])
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { break };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser { child, input, messages, session: String::new(), next: 0, events: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        let watch =
            "window.violations=[];addEventListener('securitypolicyviolation',e=>violations.push(e.violatedDirective+' '+e.blockedURI))";
        browser.ask("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        browser.ask("Page.addScriptToEvaluateOnNewDocument", json!({"source": watch}));
        browser.size(1280, 900);
        Some(browser)
    }

    /// Sends a command and waits for its answer, which may be an error.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut command = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            command["sessionId"] = self.session.clone().into();
        }
        self.input.write_all(format!("{command}\0").as_bytes()).unwrap();
        let id = self.next;
        self.wait(method, |message| message["id"] == id)
    }

    /// Sends a command that must succeed.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    /// The next message of a kind; all others are kept.
    fn wait(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|_| panic!("the browser does not answer: {what}"));
            if is(&message) {
                return message;
            }
            self.events.push(message);
        }
    }

    /// The size of the window in CSS pixels.
    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// The medium, and the scheme that a person prefers.
    pub(crate) fn media(&mut self, medium: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.ask("Emulation.setEmulatedMedia", json!({"media": medium, "features": features}));
    }

    /// Opens a file, with an anchor or without, and waits until it is loaded. Forgets what happened before.
    pub(crate) fn open(&mut self, file: &Path, anchor: &str) {
        self.media("screen", "light");
        self.go("about:blank");
        self.events.clear();
        self.go(&format!("file://{}{anchor}", file.display()));
        self.settle();
    }

    /// Goes to an address and waits until it is loaded.
    pub(crate) fn go(&mut self, url: &str) {
        self.ask("Page.navigate", json!({"url": url}));
        self.until(&format!("location.href === {} && document.readyState === 'complete'", json!(url)));
    }

    /// Waits until a script says true.
    pub(crate) fn until(&mut self, script: &str) {
        let end = Instant::now() + PATIENCE;
        // While a page is left for another one there is nobody to answer.
        while self.call("Runtime.evaluate", json!({"expression": script}))["result"]["result"]["value"] != true {
            assert!(Instant::now() < end, "never true: {script}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for two frames to be drawn.
    pub(crate) fn settle(&mut self) {
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))");
    }

    /// What a script says; a promise is waited for.
    pub(crate) fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let answer = self.ask("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{script}\n{answer:#}");
        answer["result"]["value"].clone()
    }

    /// A key that is pressed and let go.
    pub(crate) fn key(&mut self, key: &str) {
        let (name, code, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "Escape" => ("Escape", 27, ""),
            other => (other, 0, other),
        };
        let mut down = json!({"type": "keyDown", "key": name, "code": name, "windowsVirtualKeyCode": code});
        if !text.is_empty() {
            down["text"] = text.into();
        }
        self.ask("Input.dispatchKeyEvent", down);
        self.ask("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": name, "code": name, "windowsVirtualKeyCode": code}));
    }

    /// Writes as from a keyboard.
    pub(crate) fn write(&mut self, text: &str) {
        self.ask("Input.insertText", json!({"text": text}));
    }

    /// What was asked for since the page was opened and was not refused by its policy.
    pub(crate) fn loaded(&mut self) -> Vec<String> {
        self.settle();
        let of = |event: &Value, method: &str| (event["method"] == method).then(|| event["params"]["requestId"].clone());
        let refused = self.events.iter().filter(|event| event["params"]["blockedReason"] == "csp");
        let refused: Vec<Value> = refused.filter_map(|event| of(event, "Network.loadingFailed")).collect();
        let sent = self.events.iter().filter(|event| of(event, "Network.requestWillBeSent").is_some_and(|id| !refused.contains(&id)));
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Everything that a page should not have done since it was opened: what it logged, threw, asked for, or tried against
    /// its policy; `but` is what was asked for.
    pub(crate) fn complaints(&mut self, but: &Path) -> Vec<String> {
        self.settle();
        let own = format!("file://{}", but.display());
        let mut said: Vec<String> = self.eval("violations").as_array().unwrap().iter().map(|v| format!("policy: {v}")).collect();
        said.extend(self.events.iter().filter_map(|event| {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.consoleAPICalled" => Some(format!("console: {}", params["args"])),
                "Runtime.exceptionThrown" => Some(format!("exception: {}", params["exceptionDetails"])),
                "Log.entryAdded" => Some(format!("log: {}", params["entry"]["text"])),
                "Page.javascriptDialogOpening" => Some(format!("dialog: {}", params["message"])),
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap_or_default();
                    let known = url.split('#').next() == Some(&own) || url.starts_with("data:image/");
                    (!known).then(|| format!("request: {url}"))
                }
                _ => None,
            }
        }));
        said
    }
}
