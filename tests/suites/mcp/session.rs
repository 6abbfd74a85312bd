//! A session of the SDK's client with the server.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, Trial, empty_folder, environment, root, text};
use serde::Deserialize;
use serde_json::Value;

/// No answer is longer, as JSON and as text.
const LONGEST_ANSWER: usize = 4096;

/// What the client saw.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub(super) begun: Value,
    pub(super) tools: Vec<Value>,
    pub(super) answers: Vec<Answer>,
}

/// What came back of a call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    content: Vec<Content>,
    structured_content: Option<Value>,
    is_error: bool,
}

#[derive(Debug, Deserialize)]
struct Content {
    text: String,
}

impl Answer {
    /// Its text.
    pub(super) fn text(&self) -> &str {
        self.content.first().map_or("", |content| &content.text)
    }

    /// What a tool answered; it is short.
    pub(super) fn given(&self) -> Result<&Value> {
        let answer = self.structured_content.as_ref().filter(|_| !self.is_error);
        let answer = answer.with_context(|| format!("no answer: {}", self.text()))?;
        let (json, text) = (answer.to_string().len(), self.text().len());
        ensure!(json <= LONGEST_ANSWER && text <= LONGEST_ANSWER, "{json} and {text} bytes");
        ensure!(!self.text().is_empty(), "no text beside the answer");
        Ok(answer)
    }

    /// Why there is none.
    pub(super) fn refusal(&self) -> Result<&str> {
        ensure!(self.is_error, "it answered: {}", self.text());
        ensure!(self.structured_content.is_none() && self.text().len() <= 2048, "{}", self.text());
        Ok(self.text())
    }

    /// The bytes of its JSON and of its text.
    pub(super) fn size(&self) -> (usize, usize) {
        let json = self.structured_content.as_ref().map_or(0, |answer| answer.to_string().len());
        (json, self.text().len())
    }
}

/// What the client prints of these calls to a server with these options.
pub(super) fn session(name: &str, options: &[String], calls: &Value) -> Result<Session> {
    let command = client(name, options, calls)?;
    let output = Command::new("timeout").arg("300").args(&command).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The same on a simulated GPU.
pub(super) fn session_in_lab(name: &str, options: &[String], calls: &Value) -> Result<Session> {
    let ran = Trial::new("8GiB", &client(name, options, calls)?).plain()?;
    Ok(serde_json::from_str(&ran.succeeded()?.stdout)?)
}

fn client(name: &str, options: &[String], calls: &Value) -> Result<Vec<String>> {
    let file = empty_folder(&format!("mcp-calls-{name}"))?.join("calls.json");
    fs::write(&file, calls.to_string())?;
    let python = environment("mcp")?.join("bin/python");
    let client = root().join("tests/suites/mcp/client.py");
    let words = [&python, &client, &file, &Build::ready()?.whyoom()].map(|path| text(path));
    Ok([words.to_vec(), vec!["mcp".to_owned()], options.to_vec()].concat())
}

/// Options that allow a folder.
pub(super) fn folder(folder: &Path) -> Vec<String> {
    vec!["--folder".to_owned(), text(folder)]
}
