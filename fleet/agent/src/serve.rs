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
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

use crate::metrics::Metrics;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Whoever connects has so long to ask.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time.
const MOST: usize = 16;

/// Answers in a thread of its own from now on. Returns the address, whose port may have been 0.
///
/// # Errors
/// Where the address is taken.
pub(crate) fn start(address: SocketAddr, metrics: Arc<Metrics>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("metrics".into()).spawn(move || {
        // It ends with the process.
        let _ = runtime.block_on(accept(listener, metrics));
    })?;
    Ok(bound)
}

async fn accept(listener: TcpListener, metrics: Arc<Metrics>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let seats = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else { return Ok(()) };
        let Ok((connection, _)) = listener.accept().await else {
            // Out of descriptors, perhaps: others end meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let metrics = metrics.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let response = answer(&request, &metrics);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
            let served = server.serve_connection(TokioIo::new(connection), service);
            // Who does not read the answer in time gets none.
            let _ = tokio::time::timeout(2 * PATIENCE, served).await;
            drop(seat);
        });
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let (status, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, OPENMETRICS, metrics.text()),
        (&Method::GET, "/healthz") => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "see /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static(kind);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    response
}
