//! Secrets that others could use, and secrets that the process which reads other people's texts must not have.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
    process::Output,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, empty_folder, is_root, text};

use super::{
    super::{place::Node, servers::certificate},
    Attacked, Bystander,
};

/// Variables with secrets, as they are in the environment of services.
const PLANTED: [&str; 8] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "HF_TOKEN",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "SLURM_JWT",
    "SSL_CERT_FILE",
    "WANDB_API_KEY",
];
const PLANTED_VALUE: &str = "planted4711";
/// Another user's UID.
const OTHER: u32 = 12345;

/// The process that judges gets none of the secrets, and still judges.
pub(super) fn environment(bystander: &Bystander) -> Result<String> {
    let folder = empty_folder("fleet-environment-whyoom")?;
    let (judge, seen) = (folder.join("whyoom"), folder.join("seen"));
    let whyoom = text(&Build::ready()?.whyoom());
    fs::write(&judge, format!("#!/bin/sh\nenv >> '{}'\nexec '{whyoom}' \"$@\"\n", text(&seen)))?;
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755))?;
    let attacked = Attacked::new("fleet-environment", &judge, "")?;
    fs::write(attacked.log("job.log"), bystander.blame())?;
    let planted = PLANTED.map(|name| (name, PLANTED_VALUE.to_owned()));
    let agent = attacked.start_with(&planted)?;
    attacked.archived(1, 40)?;
    drop(agent);
    let seen = fs::read_to_string(seen)?;
    ensure!(!seen.contains(PLANTED_VALUE), "the process that judges has a secret: {seen}");
    ensure!(seen.lines().any(|line| line.starts_with("PATH=")), "no PATH: {seen}");
    let cause = attacked.rows()?.first().context("no incident")?.cause.clone();
    Ok(format!(
        "{} secrets in the agent's environment, none in that of the process that judges; {cause}",
        PLANTED.len()
    ))
}

/// A token and a key that others can read or write are refused, with the command that helps.
pub(super) fn permissions() -> Result<Held> {
    let folder = empty_folder("fleet-permissions")?;
    certificate(&folder)?;
    let secrets = ["token", "key.pem"].map(|name| folder.join(name));
    let [token, key] = &secrets;
    fs::write(token, "0123456789abcdef-0123456789abcdef")?;
    let settings = format!(
        "archive = '{0}/archive'\nlisten = '0.0.0.0:0'\ntls-certificate = '{0}/cert.pem'\ntls-key = \
         '{0}/key.pem'\ntoken-file = '{0}/token'\n",
        text(&folder)
    );
    let node = Node::new("fleet-permissions-node", &settings)?;
    let mut tried = 0;
    for wrong in [token, key] {
        for mode in [0o666, 0o644, 0o606, 0o602, 0o620, 0o660] {
            for secret in &secrets {
                set_mode(secret, 0o600)?;
            }
            set_mode(wrong, mode)?;
            let said = refused(&node.check()?)?;
            let advice = format!("chmod 600 {}", wrong.display());
            ensure!(said.contains(&advice), "mode {mode:o} of {}: {said}", wrong.display());
            tried += 1;
        }
        set_mode(wrong, 0o600)?;
        if is_root() {
            chown(wrong, Some(OTHER), None)?;
            let said = refused(&node.check()?)?;
            ensure!(said.contains("belongs to another user"), "{said}");
            chown(wrong, Some(0), None)?;
            tried += 1;
        }
    }
    for mode in [0o600, 0o400] {
        for secret in &secrets {
            set_mode(secret, mode)?;
        }
        let ended = node.check()?;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "mode {mode:o}: {said}");
    }
    Ok(Held::new(format!(
        "{tried} tokens and keys that others can use are refused, 0600 and 0400 are not"
    )))
}

fn refused(ended: &Output) -> Result<String> {
    ensure!(!ended.status.success(), "it was accepted");
    Ok(String::from_utf8_lossy(&ended.stderr).into_owned())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}
