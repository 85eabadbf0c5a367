//! The one place that makes requests over the network.
//!
//! One request, two clocks: the whole of it may take so long, and an answer that has begun may pause so long. The reading is
//! done on a thread of its own, so that neither depends on what the other side sends.

use std::time::Duration;

/// Bytes of an answer that are read at most.
pub(super) const MOST_ANSWER: usize = 32 * 1024 * 1024;

/// A request.
pub(super) struct Call {
    pub(super) url: String,
    /// Names and values of headers; values may be secret.
    pub(super) headers: Vec<(&'static str, String)>,
    /// JSON.
    pub(super) body: String,
}

/// A good answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) content_type: String,
    pub(super) body: String,
}

/// Why there is no good answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server said no.
    Status { code: u16, reason: String, retry_after: Option<String>, body: String },
    /// There is nobody at this address.
    Connect(String),
    /// The connection broke.
    Dropped(String),
    /// It took too long in all.
    Timeout(Duration),
    /// The answer stopped coming.
    Idle(Duration),
    /// The answer is too large.
    TooLarge,
    /// This build makes no requests.
    #[cfg_attr(feature = "online", allow(dead_code, reason = "only for builds without it"))]
    NotBuilt,
}

#[cfg(not(feature = "online"))]
pub(super) struct Client;

#[cfg(not(feature = "online"))]
impl Client {
    pub(super) fn new() -> Result<Client, String> {
        Ok(Client)
    }

    pub(super) fn post(&self, _call: &Call, _total: Duration, _idle: Duration) -> Result<Reply, Failure> {
        Err(Failure::NotBuilt)
    }
}

#[cfg(feature = "online")]
pub(super) use with_reqwest::Client;

#[cfg(feature = "online")]
mod with_reqwest {
    use std::error::Error;
    use std::io::Read;
    use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
    use std::time::{Duration, Instant};

    use reqwest::blocking;

    use super::{Call, Failure, MOST_ANSWER, Reply};

    /// Makes requests; redirections are not followed, because what is sent is meant for one place.
    pub(in super::super) struct Client(blocking::Client);

    enum Event {
        Head { code: u16, reason: String, retry_after: Option<String>, content_type: String },
        Bytes(Vec<u8>),
        End,
        Failed(Failure),
    }

    impl Client {
        pub(in super::super) fn new() -> Result<Client, String> {
            let agent = concat!("epitome/", env!("CARGO_PKG_VERSION"));
            let builder = blocking::Client::builder().user_agent(agent).redirect(reqwest::redirect::Policy::none()).timeout(None);
            builder.build().map(Client).map_err(|error| cause(&error))
        }

        pub(in super::super) fn post(&self, call: &Call, total: Duration, idle: Duration) -> Result<Reply, Failure> {
            let begun = Instant::now();
            // The thread ends by itself a little later than we stop listening to it.
            let mut request = self.0.post(&call.url).timeout(total + Duration::from_secs(1)).header("content-type", "application/json");
            for (name, value) in &call.headers {
                match reqwest::header::HeaderValue::from_str(value) {
                    Ok(mut value) => {
                        value.set_sensitive(true);
                        request = request.header(*name, value);
                    }
                    Err(_) => return Err(Failure::Connect(format!("the header {name} cannot be sent"))),
                }
            }
            let request = request.body(call.body.clone());
            let (send, events) = channel();
            std::thread::spawn(move || read(request, &send));
            let (mut head, mut body) = (None, Vec::new());
            loop {
                let left = total.checked_sub(begun.elapsed()).ok_or(Failure::Timeout(total))?;
                let wait = if head.is_some() { left.min(idle) } else { left };
                match events.recv_timeout(wait) {
                    Ok(Event::Head { code, reason, retry_after, content_type }) => head = Some((code, reason, retry_after, content_type)),
                    Ok(Event::Bytes(bytes)) => body.extend(bytes),
                    Ok(Event::Failed(Failure::Timeout(_))) => return Err(Failure::Timeout(total)),
                    Ok(Event::Failed(failure)) => match head {
                        // What a server says of an error is worth less than that it is one.
                        Some((code, reason, retry_after, _)) if !(200..300).contains(&code) => {
                            return Err(status(code, reason, retry_after, &body));
                        }
                        _ => return Err(failure),
                    },
                    Ok(Event::End) => break,
                    Err(RecvTimeoutError::Timeout) if head.is_some() && begun.elapsed() < total => return Err(Failure::Idle(idle)),
                    Err(RecvTimeoutError::Timeout) => return Err(Failure::Timeout(total)),
                    Err(RecvTimeoutError::Disconnected) => return Err(Failure::Dropped("the reading stopped".to_owned())),
                }
                if body.len() > MOST_ANSWER {
                    return Err(Failure::TooLarge);
                }
            }
            match head {
                Some((200..300, _, _, content_type)) => Ok(Reply { content_type, body: String::from_utf8_lossy(&body).into_owned() }),
                Some((code, reason, retry_after, _)) => Err(status(code, reason, retry_after, &body)),
                None => Err(Failure::Dropped("there was no answer".to_owned())),
            }
        }
    }

    fn status(code: u16, reason: String, retry_after: Option<String>, body: &[u8]) -> Failure {
        Failure::Status { code, reason, retry_after, body: String::from_utf8_lossy(body).into_owned() }
    }

    fn read(request: blocking::RequestBuilder, to: &Sender<Event>) {
        let mut response = match request.send() {
            Ok(response) => response,
            Err(error) => {
                let _ = to.send(Event::Failed(failure(&error)));
                return;
            }
        };
        let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let head = Event::Head {
            code: response.status().as_u16(),
            reason: response.status().canonical_reason().unwrap_or_default().to_owned(),
            retry_after: text("retry-after"),
            content_type: text("content-type").unwrap_or_default(),
        };
        if to.send(head).is_err() {
            return;
        }
        let mut chunk = vec![0; 16 * 1024];
        loop {
            let event = match response.read(&mut chunk) {
                Ok(0) => Event::End,
                Ok(read) => Event::Bytes(chunk.get(..read).unwrap_or_default().to_vec()),
                Err(error) => {
                    let why = error.get_ref().map_or_else(|| error.to_string(), |inner| cause(inner));
                    Event::Failed(Failure::Dropped(why))
                }
            };
            let goes_on = matches!(event, Event::Bytes(_));
            if to.send(event).is_err() || !goes_on {
                return;
            }
        }
    }

    fn failure(error: &reqwest::Error) -> Failure {
        if error.is_timeout() {
            return Failure::Timeout(Duration::ZERO);
        }
        if error.is_builder() || error.is_connect() { Failure::Connect(cause(error)) } else { Failure::Dropped(cause(error)) }
    }

    /// The innermost cause: the outer ones name the address, which may hold a password.
    fn cause(error: &(dyn Error + 'static)) -> String {
        let mut error = error;
        while let Some(inner) = error.source() {
            error = inner;
        }
        error.to_string()
    }
}

/// How long a server asks to wait: seconds, or a date. `now` is the present.
pub(super) fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(Duration::from_secs(u64::try_from(date.as_second() - now.as_second()).unwrap_or(0)))
}

/// The host and port of an address, without what stands before the `@`.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn waiting_is_asked_for_in_seconds_or_by_date() {
        let now: jiff::Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let rows = [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Sat, 31 Jan 2026 12:00:05 GMT", Some(5)),
            ("Sat, 31 Jan 2026 11:00:00 GMT", Some(0)),
            ("soon", None),
            ("-3", None),
            ("1.5", None),
        ];
        for (value, want) in rows {
            assert_eq!(retry_after(value, now).map(|t| t.as_secs()), want, "{value}");
        }
    }

    #[test]
    fn a_host_is_named_without_its_password() {
        for url in ["http://user:hunter2@localhost:80/v1?key=x", "http://localhost:80#x", "http://a@b@localhost:80"] {
            assert_eq!(host(url), "localhost:80");
        }
    }
}
