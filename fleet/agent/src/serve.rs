//! Answers Prometheus.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
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
    sync::Semaphore,
};

use crate::{guard::Guard, metrics::Metrics};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Whoever connects has so long to ask.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time.
const MOST: usize = 16;

/// Answers in a thread of its own from now on. Returns the address, whose port may have been 0.
///
/// # Errors
/// Where the address is taken.
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
    let seats = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else { return Ok(()) };
        let Ok((connection, _)) = listener.accept().await else {
            // Out of descriptors, perhaps: others end meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (guard, metrics) = (guard.clone(), metrics.clone());
        tokio::spawn(async move {
            // Who does not greet, ask or read the answer in time gets none.
            let _ = tokio::time::timeout(2 * PATIENCE, greet(connection, guard, &metrics)).await;
            drop(seat);
        });
    }
}

async fn greet(connection: TcpStream, guard: Option<Guard>, metrics: &Metrics) {
    match &guard {
        None => serve(connection, None, metrics).await,
        Some(known) => {
            if let Ok(secured) = known.tls.accept(connection).await {
                serve(secured, Some(known), metrics).await;
            }
        }
    }
}

async fn serve(
    connection: impl AsyncRead + AsyncWrite + Unpin,
    guard: Option<&Guard>,
    metrics: &Metrics,
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
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
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
