//! However a session ends, the server ends, and what it had started.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, empty_folder, text};
use serde_json::{Value, json};

/// The server has so long to end what it started, and then itself.
const SOON: Duration = Duration::from_secs(20);

/// A server, spoken to by hand.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    place: PathBuf,
}

impl Server {
    fn start(name: &str) -> Result<Self> {
        let place = empty_folder(name)?;
        // It runs in a session of its own and does not use the GPU: nobody but the server knows of it.
        fs::write(place.join("long.sh"), "echo $$ > pid.new; mv pid.new pid; sleep 600 & wait\n")?;
        let mut child = Command::new(Build::ready()?.whyoom())
            .args(["mcp", "--folder", &text(&place), "--allow-run", "sh long.sh"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let mut server = Self { child, input, output, place };
        let client = json!({"name": "check", "version": "1"});
        let asked =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server
            .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}))?;
        ensure!(server.receive()?["result"]["serverInfo"]["name"] == "whyoom");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("its input is closed")?;
        Ok(input.write_all(format!("{message}\n").as_bytes())?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.as_mut().context("its output is closed")?.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Starts a program that does not end; its number.
    fn start_program(&mut self) -> Result<u32> {
        let asked =
            json!({"name": "fit", "arguments": {"command": ["sh", "long.sh"], "gpu": ["t4"]}});
        self.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}))?;
        let file = self.place.join("pid");
        within("the program starts", || Ok(file.exists()))?;
        let pid = fs::read_to_string(file)?.trim().parse()?;
        ensure!(is_running(pid), "the program has ended by itself");
        Ok(pid)
    }

    fn ends(&mut self) -> Result<Option<i32>> {
        let mut status = None;
        within("the server ends", || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        })?;
        Ok(status.and_then(|status| status.code()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that was killed stays in the list until its parent, or the system in its place, has asked how it ended.
fn is_running(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat"));
    let state = status.ok().and_then(|status| Some(status.rsplit_once(") ")?.1.chars().next()));
    !matches!(state.flatten(), None | Some('Z' | 'X'))
}

fn within(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let until = Instant::now() + SOON;
    while !holds()? {
        ensure!(Instant::now() < until, "not within {} s: {what}", SOON.as_secs());
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

pub(super) fn end_of_input() -> Result<Held> {
    let mut server = Server::start("mcp-input")?;
    let pid = server.start_program()?;
    server.input = None;
    let code = server.ends()?;
    ensure!(code == Some(0), "it ended with {code:?}");
    within("the program ends", || Ok(!is_running(pid)))?;
    Ok(Held::new("the program of a call under way ended too, status 0"))
}

pub(super) fn signal() -> Result<Held> {
    let mut server = Server::start("mcp-signal")?;
    let pid = server.start_program()?;
    let id = server.child.id().to_string();
    harness::must_succeed(Command::new("kill").args(["-TERM", &id]))?;
    let code = server.ends()?;
    ensure!(code == Some(143), "it ended with {code:?}");
    within("the program ends", || Ok(!is_running(pid)))?;
    Ok(Held::new("SIGTERM: the program of a call under way ended too, status 143"))
}

pub(super) fn cancelled() -> Result<Held> {
    let mut server = Server::start("mcp-cancelled")?;
    let pid = server.start_program()?;
    let which = json!({"requestId": 2});
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": which}))?;
    within("the program ends", || Ok(!is_running(pid)))?;
    server.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}))?;
    let answer = server.receive()?;
    ensure!(answer["id"] == 3 && answer["result"]["tools"].is_array(), "{answer}");
    Ok(Held::new("a call that is cancelled ends its program, and the server answers on"))
}

pub(super) fn broken_pipe() -> Result<Held> {
    let mut server = Server::start("mcp-pipe")?;
    server.output = None;
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))?;
    let code = server.ends()?;
    ensure!(code == Some(0), "it ended with {code:?}");
    Ok(Held::new("nobody reads: it ended while its input was open"))
}

pub(super) fn endless_line() -> Result<Held> {
    let mut server = Server::start("mcp-line")?;
    let mut input = server.input.take().context("no input")?;
    // It ends before all is written.
    let written = (0..64).take_while(|_| input.write_all(&[b'x'; 1 << 20]).is_ok()).count();
    let code = server.ends()?;
    let mut said = String::new();
    server.child.stderr.take().context("no output")?.read_to_string(&mut said)?;
    ensure!(code == Some(1) && said.contains("longer than 32 MiB"), "{code:?}: {said}");
    Ok(Held::new(format!("ended after {written} MiB of one line")))
}
