//! Real servers, on ports of the loopback that nobody else has.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use anyhow::{Context, Result};
use harness::{environment, must_succeed, text};

use super::place::{Running, wait_for};

/// The key that the store knows.
const KEY: (&str, &str) = ("fleet-key", "fleet-secret");
const BUCKET: &str = "incidents";

/// SeaweedFS as S3.
pub(super) struct Store {
    weed: PathBuf,
    folder: PathBuf,
    port: u16,
    ports: Vec<u16>,
    running: Option<Running>,
}

impl Store {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let weed = environment("servers")?.join("bin/weed");
        fs::create_dir_all(folder.join("data"))?;
        let actions = ["Admin", "Read", "Write", "List", "Tagging"];
        let identities = serde_json::json!({"identities": [{
            "name": "fleet",
            "credentials": [{"accessKey": KEY.0, "secretKey": KEY.1}],
            "actions": actions,
        }]});
        fs::write(folder.join("s3.json"), identities.to_string())?;
        let ports = free_ports(8)?;
        let mut store =
            Self { weed, folder: folder.to_owned(), port: ports[0], ports, running: None };
        store.run()?;
        // Making the bucket is an empty PUT, signed; the command line of the server does it without S3.
        let made = store.shell(&format!("s3.bucket.create -name {BUCKET}"))?;
        anyhow::ensure!(made, "the bucket could not be made");
        Ok(store)
    }

    /// Starts it, also again after [`Store::kill`].
    pub(super) fn run(&mut self) -> Result<()> {
        let port = |at: usize| self.ports[at].to_string();
        let log = File::create(self.folder.join("weed.log"))?;
        let mut server = Command::new(&self.weed);
        server.arg("server").arg(format!("-dir={}", text(&self.folder.join("data"))));
        server.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]);
        server.args(["-master.volumeSizeLimitMB=256", "-volume.max=20"]);
        for (flag, at) in [
            ("s3.port", 0),
            ("master.port", 1),
            ("volume.port", 2),
            ("filer.port", 3),
            ("master.port.grpc", 4),
            ("volume.port.grpc", 5),
            ("filer.port.grpc", 6),
            ("s3.port.grpc", 7),
        ] {
            server.arg(format!("-{flag}={}", port(at)));
        }
        server.arg(format!("-s3.config={}", text(&self.folder.join("s3.json"))));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.running = Some(Running(server.spawn()?));
        wait_for("the store answers", 60, || Ok(is_ready(self.port)))
    }

    fn shell(&self, command: &str) -> Result<bool> {
        let mut shell = Command::new(&self.weed);
        shell.arg("shell").arg(format!("-master=127.0.0.1:{}.{}", self.ports[1], self.ports[4]));
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = shell.spawn()?;
        let mut input = shell.stdin.take().context("no input")?;
        writeln!(input, "{command}\nexit")?;
        drop(input);
        Ok(shell.wait()?.success())
    }

    pub(super) fn kill(&mut self) {
        self.running = None;
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The address of the archive.
    pub(super) fn archive() -> String {
        format!("s3://{BUCKET}/fleet")
    }

    /// The variables of a client, which may reach it by another port.
    pub(super) fn variables(port: u16) -> [(&'static str, String); 4] {
        [
            ("AWS_ACCESS_KEY_ID", KEY.0.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", KEY.1.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ]
    }
}

fn is_ready(port: u16) -> bool {
    http_get(port, "/healthz").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// An answer as it comes: head and body.
pub(super) fn http_get(port: u16, path: &str) -> Result<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(std::time::Duration::from_secs(10)))?;
    write!(connection, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A certificate of the loopback with its key, `cert.pem` and `key.pem`.
pub(super) fn certificate(folder: &Path) -> Result<()> {
    let file = |name: &str| text(&folder.join(name));
    let mut openssl = Command::new("openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]);
    openssl.args(["-days", "2", "-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.args(["-keyout", &file("key.pem"), "-out", &file("cert.pem")]);
    must_succeed(openssl.stderr(Stdio::null()))
}

/// Ports that are free now.
pub(super) fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    Ok(listeners
        .iter()
        .map(|one| one.local_addr().map(|address| address.port()))
        .collect::<Result<_, _>>()?)
}

/// A way to a server on which connections break: in the middle of what is sent, or of what is answered.
pub(super) struct Cutter {
    pub(super) port: u16,
    pub(super) cuts: Arc<AtomicU64>,
    is_calm: Arc<AtomicBool>,
}

impl Cutter {
    pub(super) fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (cuts, is_calm) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, calm) = (cuts.clone(), is_calm.clone());
        thread::spawn(move || {
            for (number, connection) in listener.incoming().flatten().enumerate() {
                // Every third connection is cut, each after another number of bytes.
                let number = number as u64;
                let is_cut = number.is_multiple_of(3) && !calm.load(Ordering::Relaxed);
                let after = if is_cut { number * 977 % 9000 } else { u64::MAX };
                let counted = counted.clone();
                thread::spawn(move || forward(connection, to, after, &counted));
            }
        });
        Ok(Self { port, cuts, is_calm })
    }

    /// From now on nothing breaks.
    pub(super) fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
    }
}

/// Both ways, until so many bytes went by.
fn forward(client: TcpStream, to: u16, after: u64, cuts: &AtomicU64) {
    let budget = Arc::new(AtomicU64::new(after));
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return };
    let (Ok(answers), Ok(asker)) = (server.try_clone(), client.try_clone()) else { return };
    let other = budget.clone();
    let back = thread::spawn(move || pump(answers, asker, &other));
    let was_cut = pump(client, server, &budget);
    let was_cut = back.join().unwrap_or(false) || was_cut;
    cuts.fetch_add(u64::from(was_cut), Ordering::Relaxed);
}

/// Whether it was cut.
fn pump(mut from: TcpStream, mut to: TcpStream, budget: &AtomicU64) -> bool {
    let mut buffer = [0; 1024];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        let left = budget.load(Ordering::Relaxed);
        let is_cut = left < read as u64;
        let count = read.min(left.try_into().unwrap_or(usize::MAX));
        let is_written = to.write_all(&buffer[..count]).is_ok();
        if read == 0 || is_cut || !is_written {
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
            return is_cut;
        }
        if left != u64::MAX {
            budget.fetch_sub(read as u64, Ordering::Relaxed);
        }
    }
}
