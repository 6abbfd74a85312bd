//! One request to a receiver, tried twice at most.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    error::Error,
    fmt,
    hash::BuildHasher as _,
    io,
    time::Duration,
};

use prost::Message as _;
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use serde::Deserialize;
use tokio::runtime::{Builder, Runtime};

use super::proto::Answer;

/// A request and its answer take no longer.
const LIMIT: Duration = Duration::from_secs(10);
/// Before a second attempt. Up to as much again is added by chance: agents that were refused together come apart.
const PAUSE: Duration = Duration::from_secs(1);
/// A receiver that wants more time gets the next figures instead.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// More of an answer is not read.
const LONGEST_ANSWER: usize = 64 << 10;

/// Headers that the site wants with each request. They may hold a token: their values are not shown.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Headers(BTreeMap<String, String>);

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Headers {
    fn map(&self) -> Result<HeaderMap, String> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.0 {
            let wrong = || format!("otlp-headers: {name} is no header");
            let key = HeaderName::try_from(name).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// Where a receiver listens, and what it wants to be told with.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    pub(super) logs: Url,
    pub(super) metrics: Url,
    headers: HeaderMap,
}

impl Receiver {
    /// # Errors
    /// What is wrong with the address or the headers.
    pub(crate) fn new(base: &str, headers: &Headers) -> Result<Self, String> {
        let wrong = |why: &str| format!("otlp: use http://HOST:4318 or https://…: {why}");
        let url = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
            return Err(wrong("neither, or with a query"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("a password belongs into otlp-headers"));
        }
        let below = |path: &str| {
            let whole = format!("{}{path}", base.trim_end_matches('/'));
            Url::parse(&whole).map_err(|error| wrong(&error.to_string()))
        };
        Ok(Self {
            logs: below("/v1/logs")?,
            metrics: below("/v1/metrics")?,
            headers: headers.map()?,
        })
    }
}

/// What sends, on the thread that calls it.
#[derive(Debug)]
pub(super) struct Sender {
    client: Client,
    runtime: Runtime,
}

impl Sender {
    pub(super) fn new(receiver: &Receiver) -> io::Result<Self> {
        let agent = concat!("whyoom-fleet/", env!("CARGO_PKG_VERSION"));
        let mut client = Client::builder()
            .timeout(LIMIT)
            .user_agent(agent)
            .default_headers(receiver.headers.clone())
            // A token is for the receiver alone.
            .redirect(redirect::Policy::none());
        if receiver.logs.scheme() == "http" {
            // Nobody is identified, so that a node without authorities is no reason to fail.
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(|error| io::Error::other(reason(&error)))?;
        Ok(Self { client, runtime: Builder::new_current_thread().enable_all().build()? })
    }

    /// Sends a message. Returns how many of its records or points were refused.
    ///
    /// # Errors
    /// Why it was not taken.
    pub(super) fn send(&self, to: &Url, body: Vec<u8>) -> Result<u64, String> {
        self.runtime.block_on(async {
            match self.attempt(to, body.clone()).await {
                Err(Refusal { again: Some(pause), .. }) if pause <= LONGEST_PAUSE => {
                    tokio::time::sleep(pause).await;
                    self.attempt(to, body).await
                }
                first => first,
            }
            .map_err(|refusal| refusal.why)
        })
    }

    async fn attempt(&self, to: &Url, body: Vec<u8>) -> Result<u64, Refusal> {
        let request = self.client.post(to.clone()).body(body);
        let request = request.header(header::CONTENT_TYPE, "application/x-protobuf");
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        if !status.is_success() {
            let again = is_passing(status).then(|| pause(response.headers()));
            return Err(Refusal { why: format!("it answers {status}"), again });
        }
        let answer = bounded(response).await.map_err(|error| unreachable(&error))?;
        // An answer that is none is no refusal.
        let partial = Answer::decode(answer.as_slice()).unwrap_or_default().partial_success;
        Ok(partial.map_or(0, |partial| partial.rejected.max(0) as u64))
    }
}

/// Why a message was not taken, and after which time it may be tried again.
struct Refusal {
    why: String,
    again: Option<Duration>,
}

fn unreachable(error: &reqwest::Error) -> Refusal {
    // What takes too long once would again.
    let again = (!error.is_timeout()).then(by_chance);
    Refusal { why: reason(error), again }
}

/// The first error says that a request failed, the last why.
fn reason(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(deeper) = reason.source() {
        reason = deeper;
    }
    reason.to_string()
}

/// As the specification says: these pass, and no others.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// What the receiver asks for, in seconds.
fn pause(headers: &HeaderMap) -> Duration {
    let asked =
        headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    asked.map_or_else(by_chance, Duration::from_secs)
}

fn by_chance() -> Duration {
    let chance = RandomState::new().hash_one(0) % PAUSE.as_millis() as u64;
    PAUSE + Duration::from_millis(chance)
}

async fn bounded(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut read = Vec::new();
    while let Some(piece) = response.chunk().await? {
        read.extend_from_slice(&piece);
        if read.len() > LONGEST_ANSWER {
            break;
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use super::*;

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

    /// Answers so, one request after the other; the last answer is given again. Returns what was asked.
    fn answered(answers: Vec<Vec<u8>>) -> (Result<u64, String>, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (asked, count) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                let mut connection = connection.unwrap();
                asked.send(()).unwrap();
                let _ = connection.read(&mut [0; 4096]).unwrap();
                // Whoever asked may have heard enough.
                let _ = connection.write_all(&answers[number.min(answers.len() - 1)]);
            }
        });
        let receiver = Receiver::new(&address, &Headers::default()).unwrap();
        let sent = Sender::new(&receiver).unwrap().send(&receiver.logs, vec![1, 2, 3]);
        (sent, count.try_iter().count())
    }

    fn refusal(status: &str) -> Vec<u8> {
        let more = "Retry-After: 0\r\nContent-Length: 0\r\nConnection: close";
        format!("HTTP/1.1 {status}\r\n{more}\r\n\r\n").into_bytes()
    }

    #[test]
    fn what_passes_is_tried_again_once() {
        for status in ["429 Slowly", "502 Bad", "503 Busy", "504 Late"] {
            assert_eq!(answered(vec![refusal(status), OK.into()]), (Ok(0), 2), "{status}");
        }
        let (sent, asked) = answered(vec![refusal("503 Busy")]);
        assert!(sent.is_err_and(|why| why.contains("503")));
        assert_eq!(asked, 2);
        // Who hangs up may be back.
        assert_eq!(answered(vec![Vec::new(), OK.into()]), (Ok(0), 2));
    }

    #[test]
    fn what_does_not_pass_is_not() {
        for status in ["400 Bad", "401 Who", "413 Long", "500 Broken", "307 There\r\nLocation: /x"]
        {
            let (sent, asked) = answered(vec![refusal(status), OK.into()]);
            assert!(sent.is_err() && asked == 1, "{status}");
        }
        let later = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(answered(vec![later.to_vec()]).1, 1, "an hour is too long");
    }

    #[test]
    fn what_is_refused_is_counted_and_an_answer_has_an_end() {
        let partial = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x0a\x02\x08\x03";
        assert_eq!(answered(vec![partial.to_vec()]), (Ok(3), 1));
        let mut endless = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n".to_vec();
        endless.resize(1 << 20, b'x');
        assert_eq!(answered(vec![endless]), (Ok(0), 1));
    }
}
