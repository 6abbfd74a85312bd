//! Names of options, variables and fields behind which a secret stands.

/// How sure a name makes it that a secret stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whatever stands there is one.
    Secret,
    /// It may be a number of tokens, too.
    Token,
    /// A user and a password joined by a colon are one, and what looks like chance.
    Login,
    /// Only what looks like chance is one.
    Perhaps,
}

/// Longer ones are no names.
const LONGEST: usize = 128;

/// What the last word of such a name ends with.
const SECRET: &[&str] = &[
    "accesskey",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
];

/// What makes a secret of a key.
const KEYS: &[&str] = &[
    "access",
    "account",
    "anthropic",
    "api",
    "app",
    "auth",
    "aws",
    "azure",
    "client",
    "encryption",
    "hf",
    "master",
    "ngc",
    "openai",
    "private",
    "secret",
    "service",
    "shared",
    "signing",
    "ssh",
    "subscription",
    "wandb",
];

/// What makes a word of a language model of a token.
const NO_SECRET_TOKENS: &[&str] = &[
    "additional",
    "audio",
    "bos",
    "cls",
    "current",
    "draft",
    "each",
    "end",
    "eos",
    "extra",
    "first",
    "image",
    "last",
    "mask",
    "max",
    "min",
    "new",
    "next",
    "no",
    "num",
    "pad",
    "per",
    "previous",
    "prompt",
    "sep",
    "special",
    "start",
    "stop",
    "unk",
    "video",
];

const LOGINS: &[&str] = &["auth", "login"];

const PERHAPS: &[&str] = &["bearer", "key", "pass", "pat", "sig", "signature"];

/// What makes a secret of a signature: whoever has the address of a file so signed may read it.
const SIGNERS: &[&str] = &["amz", "goog"];

/// What a name says of what stands behind it: nothing for most.
pub(crate) fn kind(name: &str) -> Option<Kind> {
    let name = name.trim_start_matches('-');
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let mut words = name.rsplit(['_', '-', '.']);
    let (last, before) = (words.next()?, words.next());
    let follows = |list: &[&str]| before.is_some_and(|word| list.contains(&word));
    match last {
        "key" if follows(KEYS) => Some(Kind::Secret),
        // PWD alone is a folder.
        "pwd" | "cookie" if before.is_some() => Some(Kind::Secret),
        _ if SECRET.iter().any(|ending| last.ends_with(ending)) => Some(Kind::Secret),
        _ if last.ends_with("token") && !follows(NO_SECRET_TOKENS) => Some(Kind::Token),
        "signature" if follows(SIGNERS) => Some(Kind::Secret),
        _ if LOGINS.contains(&last) => Some(Kind::Login),
        _ if PERHAPS.contains(&last) => Some(Kind::Perhaps),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known() {
        for name in
            ["--password", "PGPASSWORD", "MYSQL_PWD", "--api-key", "OPENAI_API_KEY", "apiKey"]
        {
            assert_eq!(kind(name), Some(Kind::Secret), "{name}");
        }
        for name in ["--token", "--hf-token", "HF_TOKEN", "accessToken", "-token"] {
            assert_eq!(kind(name), Some(Kind::Token), "{name}");
        }
        assert_eq!(kind("--key"), Some(Kind::Perhaps));
    }

    #[test]
    fn names_of_other_things_are_not() {
        for name in [
            "--max-tokens",
            "--tokenizer",
            "--pad-token",
            "bytes_per_token",
            "--token-file",
            "PWD",
            "--gpu-memory-utilization",
            "past_key_values",
            "--secret-name",
            "model",
            "--",
            "",
        ] {
            assert_eq!(kind(name), None, "{name}");
        }
    }
}
