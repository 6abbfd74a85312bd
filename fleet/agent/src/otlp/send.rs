//! One request to a receiver, tried twice at most.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    error::Error as _,
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
        let client = client.build().map_err(io::Error::other)?;
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
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            let again = is_passing(status).then(|| pause(response.headers()));
            return Err(Refusal { why: format!("it answers {status}"), again });
        }
        let answer = bounded(response).await.map_err(unreachable)?;
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

fn unreachable(error: reqwest::Error) -> Refusal {
    // What takes too long once would again.
    let again = (!error.is_timeout()).then(by_chance);
    let error = error.without_url();
    // The first says that a request failed, the last why.
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        why = error.to_string();
        source = error.source();
    }
    Refusal { why, again }
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
