//! Who may scrape from elsewhere: over TLS, with a token.

use std::{io, path::Path, sync::Arc};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};
use whyoom_files::{private, untrusted};

/// Longer files are no keys.
const LONGEST: u64 = 1 << 20;
/// A shorter token could be guessed.
const SHORTEST_TOKEN: usize = 16;

/// What a scraper from elsewhere must have.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) tls: TlsAcceptor,
    token: String,
}

impl Guard {
    /// Reads the certificate, its key and the token. The key and the token are refused if other users can use them.
    pub(crate) fn read(certificate: &Path, key: &Path, token: &Path) -> io::Result<Self> {
        let wrong = |path: &Path, error: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
        };
        let chain =
            untrusted::read(certificate, LONGEST).map_err(|error| wrong(certificate, &error))?;
        let secret = private::read_secret(key, LONGEST).map_err(|error| wrong(key, &error))?;
        let text = private::read_secret(token, LONGEST).map_err(|error| wrong(token, &error))?;
        let chain = CertificateDer::pem_slice_iter(&chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong(certificate, &error))?;
        let secret = PrivateKeyDer::from_pem_slice(&secret).map_err(|error| wrong(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|error| wrong(certificate, &error))?;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if text.len() < SHORTEST_TOKEN {
            return Err(wrong(token, &format!("a token has at least {SHORTEST_TOKEN} characters")));
        }
        Ok(Self { tls: TlsAcceptor::from(Arc::new(config)), token: text })
    }

    /// Whether the header `Authorization` has the token. It takes as long whatever is wrong with it.
    pub(crate) fn admits(&self, authorization: Option<&[u8]>) -> bool {
        let given = authorization.and_then(|value| value.strip_prefix(b"Bearer "));
        let given = given.unwrap_or_default();
        let differs = |(one, other): (&u8, &u8)| one ^ other;
        let differences = given.iter().zip(self.token.as_bytes()).map(differs);
        let difference = differences.fold(0, |all, one| all | one);
        given.len() == self.token.len() && std::hint::black_box(difference) == 0
    }
}
