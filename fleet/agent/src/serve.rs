//! Answers Prometheus.

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::{Instant, timeout, timeout_at},
};

use crate::{guard::Guard, metrics::Metrics};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Longest time from a connection to the end of its request's head, TLS included. Chosen, not measured: TLS 1.3 and a
/// request take two to three round trips.
const ASK_LIMIT: Duration = Duration::from_secs(1);
/// Longest time from the end of [`ASK_LIMIT`] to the end of the answer. A client that asks at once has both limits for
/// it. Chosen, not measured.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Connections that are open at a time. Chosen, not measured.
const MAX_CONNECTIONS: usize = 128;
/// Connections of one client network that are open at a time: a scraper has one, or a few. Chosen, not measured.
const MAX_CONNECTIONS_PER_NETWORK: usize = 16;

/// Starts a thread that answers. Returns the bound address, with the real port if 0 was asked for.
///
/// # Errors
/// Returns an error if the address cannot be bound.
pub(crate) fn start(
    address: SocketAddr,
    guard: Option<Guard>,
    metrics: Arc<Metrics>,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("metrics".into()).spawn(move || {
        // It ends with the process.
        let _ = runtime.block_on(accept(listener, guard, metrics));
    })?;
    Ok(bound)
}

async fn accept(
    listener: TcpListener,
    guard: Option<Guard>,
    metrics: Arc<Metrics>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = Connections::default();
    loop {
        let Ok((connection, peer)) = listener.accept().await else {
            // Out of descriptors, perhaps: others end meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        connections.make_room(ClientNetwork::of(peer.ip()));
        let (guard, metrics) = (guard.clone(), metrics.clone());
        let task = tokio::spawn(async move {
            let until = Instant::now() + ASK_LIMIT;
            let served = handshake_and_serve(connection, guard, &metrics, until);
            // Clients that are too slow get no answer.
            let _ = timeout(ASK_LIMIT + ANSWER_LIMIT, served).await;
        });
        connections.add(ClientNetwork::of(peer.ip()), task.abort_handle());
    }
}

/// Network of a client: an IPv4 address or an IPv6 /64, because one machine can use a whole /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ClientNetwork(IpAddr);

impl ClientNetwork {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let [first, second, third, fourth, ..] = address.segments();
                Self(Ipv6Addr::new(first, second, third, fourth, 0, 0, 0, 0).into())
            }
        }
    }
}

/// An open connection.
#[derive(Debug)]
struct Connection {
    network: ClientNetwork,
    task: AbortHandle,
}

/// The open connections, the oldest first. A new connection never waits for others: where there are too many, the
/// oldest one of the network with the most is closed. So slow clients of one network crowd out each other.
#[derive(Debug, Default)]
struct Connections(Vec<Connection>);

impl Connections {
    /// Closes a connection if there is no room for another one from this network.
    fn make_room(&mut self, network: ClientNetwork) {
        self.0.retain(|one| !one.task.is_finished());
        let own = self.0.iter().filter(|one| one.network == network).count();
        if own >= MAX_CONNECTIONS_PER_NETWORK {
            self.close_oldest(network);
        } else if self.0.len() >= MAX_CONNECTIONS
            && let Some(busiest) = self.busiest()
        {
            self.close_oldest(busiest);
        }
    }

    fn add(&mut self, network: ClientNetwork, task: AbortHandle) {
        self.0.push(Connection { network, task });
    }

    fn close_oldest(&mut self, network: ClientNetwork) {
        if let Some(at) = self.0.iter().position(|one| one.network == network) {
            self.0.remove(at).task.abort();
        }
    }

    /// Returns the network with the most connections; of several, that of the oldest connection.
    fn busiest(&self) -> Option<ClientNetwork> {
        let mut counts: HashMap<ClientNetwork, usize> = HashMap::new();
        for one in &self.0 {
            *counts.entry(one.network).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        self.0.iter().map(|one| one.network).find(|network| counts.get(network) == Some(&most))
    }
}

/// Does the TLS handshake, if there is a guard, and answers a connection that must have asked by `until`.
async fn handshake_and_serve(
    connection: TcpStream,
    guard: Option<Guard>,
    metrics: &Metrics,
    until: Instant,
) {
    match &guard {
        None => serve(connection, None, metrics, until).await,
        Some(known) => {
            if let Ok(Ok(secured)) = timeout_at(until, known.tls.accept(connection)).await {
                serve(secured, Some(known), metrics, until).await;
            }
        }
    }
}

async fn serve(
    connection: impl AsyncRead + AsyncWrite + Unpin,
    guard: Option<&Guard>,
    metrics: &Metrics,
    until: Instant,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let token = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let response = match guard.is_none_or(|guard| guard.admits(token)) {
            true => answer(&request, metrics),
            false => respond(StatusCode::UNAUTHORIZED, "text/plain", "no token\n".to_owned()),
        };
        async move { Ok::<_, Infallible>(response) }
    });
    let mut server = http1::Builder::new();
    let left = until.saturating_duration_since(Instant::now());
    server.timer(TokioTimer::new()).header_read_timeout(left).keep_alive(false);
    // Whoever asked may be gone.
    let _ = server.serve_connection(TokioIo::new(connection), service).await;
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let (status, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, OPENMETRICS, metrics.text()),
        (&Method::GET, "/healthz") => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "see /metrics\n".to_owned()),
    };
    respond(status, kind, text)
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{Ipv4Addr, TcpStream as Client},
        time::Instant as Clock,
    };

    use super::*;

    /// Connections of each kind of slow client.
    const SLOW: usize = 64;

    fn started() -> SocketAddr {
        start((Ipv4Addr::LOCALHOST, 0).into(), None, Arc::new(Metrics::new())).unwrap()
    }

    /// Asks from an address of the loopback, and returns how long that took.
    fn scrape(server: SocketAddr, from: [u8; 4]) -> Duration {
        let started = Clock::now();
        let mut client = connect(server, from);
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        started.elapsed()
    }

    fn connect(server: SocketAddr, from: [u8; 4]) -> Client {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
            socket.connect(server).await.unwrap().into_std().unwrap()
        });
        client.set_nonblocking(false).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client
    }

    #[test]
    fn slow_connections_delay_no_scrape() {
        let server = started();
        let mut slow = Vec::new();
        for _ in 0..SLOW {
            slow.push(connect(server, [127, 0, 0, 1]));
            let mut half = connect(server, [127, 0, 0, 1]);
            half.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").unwrap();
            slow.push(half);
        }
        for from in [[127, 0, 0, 2], [127, 0, 0, 1]] {
            let took = scrape(server, from);
            assert!(took < ASK_LIMIT, "from {from:?}: {took:?}");
        }
    }

    #[test]
    fn slow_clients_are_disconnected() {
        let server = started();
        let mut silent = connect(server, [127, 0, 0, 1]);
        // One byte now and then is no request either.
        let mut drip = connect(server, [127, 0, 0, 1]);
        let started = Clock::now();
        let dripping = std::thread::spawn(move || {
            while started.elapsed() < Duration::from_secs(20) {
                if drip.write_all(b"G").is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            started.elapsed()
        });
        let mut rest = Vec::new();
        silent.read_to_end(&mut rest).unwrap();
        for took in [started.elapsed(), dripping.join().unwrap()] {
            assert!(took < 2 * ASK_LIMIT, "{took:?}");
        }
    }

    #[test]
    fn the_busiest_network_loses_its_oldest_connection() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _inside = runtime.enter();
        let task = || tokio::spawn(std::future::pending::<()>()).abort_handle();
        let network = |last: u8| ClientNetwork::of(Ipv4Addr::new(10, 0, 0, last).into());
        let mut connections = Connections::default();
        connections.add(network(1), task());
        for number in 0..2 * MAX_CONNECTIONS {
            let from = network(2 + (number % 10) as u8);
            connections.make_room(from);
            connections.add(from, task());
        }
        assert!(connections.0.len() <= MAX_CONNECTIONS, "{}", connections.0.len());
        assert_eq!(connections.0[0].network, network(1), "the quiet one is still there");
        let own = connections.0.iter().filter(|one| one.network == network(2)).count();
        assert!(own <= MAX_CONNECTIONS_PER_NETWORK, "{own}");
        let v6 = |text: &str| ClientNetwork::of(text.parse().unwrap());
        assert_eq!(v6("2001:db8:0:1::1"), v6("2001:db8:0:1:ffff::2"));
        assert_ne!(v6("2001:db8:0:1::1"), v6("2001:db8:0:2::1"));
        assert_eq!(v6("::ffff:10.0.0.1"), network(1));
    }
}
