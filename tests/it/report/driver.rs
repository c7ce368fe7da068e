//! A browser by remote control: as much of WebDriver as the tests of pages need, over loopback.
//!
//! `chromedriver` starts Chromium and speaks HTTP with JSON. Where either is not installed, [`Browser::start`] says why.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const DRIVERS: [&str; 3] =
    ["/usr/bin/chromedriver", "/usr/lib/chromium/chromedriver", "/usr/local/bin/chromedriver"];
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

fn first<'a>(paths: &[&'a str]) -> Option<&'a str> {
    paths.iter().copied().find(|path| Path::new(path).exists())
}

impl Browser {
    /// A browser with a folder of its own, or why there is none.
    pub fn start(folder: &Path) -> Result<Browser, String> {
        let driver = first(&DRIVERS).ok_or("chromedriver is not installed")?;
        let browser = first(&BROWSERS).ok_or("chromium is not installed")?;
        let mut command = Command::new(driver);
        command
            .arg("--port=0")
            .env_clear()
            .env("HOME", folder)
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", folder);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| format!("chromedriver does not start: {error}"))?;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            line.ok()?.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
        });
        let mut browser_run = Browser {
            driver: child,
            port: port.ok_or("chromedriver names no port")?,
            session: String::new(),
        };
        let profile = folder.join("profile");
        let args = [
            "--headless=new".to_string(),
            "--no-sandbox".to_string(),
            "--disable-gpu".to_string(),
            "--disable-dev-shm-usage".to_string(),
            "--disable-background-networking".to_string(),
            "--disable-component-update".to_string(),
            "--no-first-run".to_string(),
            format!("--user-data-dir={}", profile.display()),
        ];
        let options = json!({"binary": browser, "args": args});
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}});
        let answer = browser_run.post("/session", &json!({"capabilities": {"alwaysMatch": wanted}}));
        let session = answer["value"]["sessionId"]
            .as_str()
            .ok_or_else(|| format!("no browser: {}", answer["value"]["message"]))?;
        browser_run.session = session.to_string();
        Ok(browser_run)
    }

    /// Opens a file at a width, as a phone or a desk has it.
    pub fn open(&self, page: &Path, width: u32) {
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
        self.command("url", &json!({"url": format!("file://{}", page.display())}));
    }

    pub fn devtools(&self, name: &str, params: Value) -> Value {
        self.command("goog/cdp/execute", &json!({"cmd": name, "params": params}))
    }

    /// What an expression is in the page.
    pub fn eval(&self, expression: &str) -> Value {
        self.command("execute/sync", &json!({"script": format!("return {expression}"), "args": []}))
    }

    /// Everything that the console has said since it was last asked.
    pub fn console(&self) -> Vec<String> {
        let entries = self.command("se/log", &json!({"type": "browser"}));
        entries.as_array().unwrap().iter().map(Value::to_string).collect()
    }

    /// Every address that pages have asked for; the browser's own first page is none of ours.
    pub fn requests(&self) -> Vec<String> {
        let entries = self.command("se/log", &json!({"type": "performance"}));
        let messages = entries.as_array().unwrap().iter().filter_map(|entry| entry["message"].as_str());
        let events = messages.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let sent = events.filter(|event| event["message"]["method"] == "Network.requestWillBeSent");
        let params = sent.map(|event| event["message"]["params"].clone());
        let ours =
            params.filter(|params| params["documentURL"].as_str().unwrap_or_default().starts_with("file:"));
        ours.filter_map(|params| Some(params["request"]["url"].as_str()?.to_string())).collect()
    }

    fn end(&mut self) {
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            self.session.clear();
            let _ = self.request("DELETE", &path, "");
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }

    #[track_caller]
    fn command(&self, name: &str, body: &Value) -> Value {
        let answer = self.post(&format!("/session/{}/{name}", self.session), body);
        assert!(answer["value"]["error"].is_null(), "{name}: {}", answer["value"]);
        answer["value"].clone()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.request("POST", path, &body.to_string()).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
    }

    fn request(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.end();
    }
}
