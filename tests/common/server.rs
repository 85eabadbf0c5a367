//! A small server on loopback that answers as it is told and keeps what it was sent.
#![allow(dead_code, unreachable_pub, reason = "included by several test crates; none uses all of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Status, further header lines, type, body.
    Whole(u16, Vec<String>, &'static str, String),
    /// A good beginning of an answer, then a byte every 100 ms, for a minute.
    Slow,
    /// Nothing, for a minute.
    Never,
    /// The connection is closed without an answer.
    Drop,
    /// The beginning of an answer that said how long it would be; then the connection is closed.
    Half,
    /// These bytes of a stream; then the connection is closed.
    Cut(String),
    /// These bytes of a stream; then nothing, for a minute.
    Stall(String),
}

/// A JSON answer.
pub fn json(value: &Value) -> Answer {
    Answer::Whole(200, Vec::new(), "application/json", value.to_string())
}

/// An answer with a status and a JSON body.
pub fn status(code: u16, body: &str) -> Answer {
    Answer::Whole(code, Vec::new(), "application/json", body.to_owned())
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Got {
    pub path: String,
    pub headers: Vec<String>,
    pub body: Value,
    pub raw: String,
}

impl Got {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }
}

pub struct Server {
    pub address: String,
    got: Arc<Mutex<Vec<Got>>>,
    most: Arc<Mutex<(usize, usize)>>,
}

impl Server {
    /// Answers the requests in order; the last answer is given again and again.
    pub fn new(answers: Vec<Answer>) -> Self {
        Self::with(move |at, _| answers[at.min(answers.len() - 1)].clone())
    }

    /// Answers each request, by its number from 0 and what it holds.
    pub fn with(answer: impl Fn(usize, &Got) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (got, most) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new((0, 0))));
        let (kept, counted, answer) = (Arc::clone(&got), Arc::clone(&most), Arc::new(answer));
        // The thread lives as long as the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, counted, answer) = (Arc::clone(&kept), Arc::clone(&counted), Arc::clone(&answer));
                thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let at = {
                        let mut kept = kept.lock().unwrap();
                        kept.push(request.clone());
                        kept.len() - 1
                    };
                    {
                        let mut counted = counted.lock().unwrap();
                        counted.0 += 1;
                        counted.1 = counted.1.max(counted.0);
                    }
                    let answer = answer(at, &request);
                    // Before it is given: the client's next request may come before this thread goes on.
                    counted.lock().unwrap().0 -= 1;
                    let _ = give(stream, &answer);
                });
            }
        });
        Self { address, got, most }
    }

    /// What it was sent so far.
    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// The most requests that were under way at the same time.
    pub fn side_by_side(&self) -> usize {
        self.most.lock().unwrap().1
    }
}

fn read(stream: &TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<String> = lines
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(": ").map(|(name, value)| format!("{}: {value}", name.to_lowercase())))
        .collect();
    let length = headers.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let raw = String::from_utf8(body).unwrap();
    Some(Got { path, headers, body: serde_json::from_str(&raw).unwrap_or_default(), raw })
}

fn give(mut stream: TcpStream, answer: &Answer) -> std::io::Result<()> {
    let stream_head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    match answer {
        Answer::Whole(code, headers, kind, body) => {
            let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {code} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n{body}"
            )?;
        }
        Answer::Slow => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{{")?;
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(60) {
                stream.write_all(b" ")?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(100));
            }
        }
        Answer::Never => hold(&mut stream),
        Answer::Drop => {}
        Answer::Half => write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{{")?,
        Answer::Cut(bytes) => write!(stream, "{stream_head}{bytes}")?,
        Answer::Stall(bytes) => {
            write!(stream, "{stream_head}{bytes}")?;
            stream.flush()?;
            hold(&mut stream);
        }
    }
    stream.flush()
}

/// Waits until the other side gives up, a minute at most.
fn hold(stream: &mut TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let _ = stream.read(&mut [0]);
}
