//! Masking: what looks like a secret is replaced before it is written down.

use std::borrow::Cow;

use crate::{addresses, assignments, programs, shapes};

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// A text without its secrets.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut secrets = assignments::values(text);
    secrets.extend(addresses::users(text));
    secrets.extend(shapes::shaped(text));
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    secrets.sort_by_key(|secret| (secret.start, secret.end));
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    for secret in secrets {
        if secret.start >= at {
            masked.push_str(&text[at..secret.start]);
            masked.push_str(MASK);
        }
        at = at.max(secret.end);
    }
    masked.push_str(&text[at..]);
    Cow::Owned(masked)
}

/// The words of a command without their secrets.
#[must_use]
pub fn mask_words<W: AsRef<str>>(words: &[W]) -> Vec<String> {
    let mut masked = Vec::with_capacity(words.len());
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let mut before = "";
    for (place, word) in words.iter().enumerate() {
        masked.push(match programs::password(&words, place) {
            Some(start) => format!("{}{MASK}", &word[..start]),
            None => mask_word(word, before).into_owned(),
        });
        before = word;
    }
    masked
}

/// The words of a command as the kernel tells them, each with a zero byte behind it.
#[must_use]
pub fn mask_arguments(raw: &[u8]) -> Vec<u8> {
    let words: Vec<Cow<'_, str>> =
        raw.split(|one| *one == 0).map(String::from_utf8_lossy).collect();
    let masked = mask_words(&words);
    let same = words.iter().zip(&masked).all(|(word, masked)| word == masked);
    if same { raw.to_vec() } else { masked.join("\0").into_bytes() }
}

fn mask_word<'a>(word: &'a str, before: &str) -> Cow<'a, str> {
    if assignments::announces(before, word) {
        return Cow::Borrowed(MASK);
    }
    match assignments::value_in_word(word) {
        // The whole rest is the secret, whatever it is made of.
        Some(value) => Cow::Owned(format!("{}{MASK}", &word[..value])),
        None => mask(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_variables_are_masked() {
        let words =
            ["python", "t.py", "--token", "abc", "--api-key=x y,z", "--lr", "1", "HF_TOKEN=q"];
        let masked =
            ["python", "t.py", "--token", "***", "--api-key=***", "--lr", "1", "HF_TOKEN=***"];
        assert_eq!(mask_words(&words), masked);
        assert_eq!(
            mask_words(&["curl", "--auth=ann:pw", "--auth", "ann:p:w"])[1..],
            ["--auth=***", "--auth", "***",]
        );
        assert_eq!(mask_arguments(b"a\0--password\0hunter2\0"), b"a\0--password\0***\0");
        assert_eq!(mask_arguments(b"a\xff\0b\0"), b"a\xff\0b\0");
    }

    #[test]
    fn secrets_in_text_are_masked() {
        let pairs = [
            ("sh -c 'run --hf-token abc --batch 8'", "sh -c 'run --hf-token *** --batch 8'"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            (r#"{"password": "a b", "x": 1}"#, r#"{"password": "***", "x": 1}"#),
            (r#"login(token="hf_x")"#, r#"login(token="***")"#),
            ("https://me:pw@host/x?sig=1", "https://***@host/x?sig=1"),
            ("https://h/x?access_token=a1&b=2", "https://h/x?access_token=***&b=2"),
            ("key AKIAIOSFODNN7EXAMPLE used", "key *** used"),
            ("x=hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123", "x=***"),
            ("sk-proj-abcdefghij0123456789", "***"),
            ("xoxb-1234567890-abcdefghij", "***"),
            ("clone glpat-XXXXXXXXXXXXXXXXXXXX x", "clone *** x"),
            ("glpat-aB3_dE6-gH9_jK2-mN5_", "***"),
            (
                "https://b/k?X-Amz-Date=1&X-Amz-Signature=ab12&v=2",
                "https://b/k?X-Amz-Date=1&X-Amz-Signature=***&v=2",
            ),
            ("run --auth=ann:hunter2 --x", "run --auth=*** --x"),
            ("-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA", "***-----END RSA"),
        ];
        for (text, masked) in pairs {
            assert_eq!(mask(text), masked);
        }
        let jwt = format!("eyJ{}.eyJ{}.{}", "hbGciOi1", "zdWIiOiIxMjM0", "SflKxwRJSMeKKF2QT4");
        assert_eq!(mask(&jwt), MASK);
        assert_eq!(mask(&format!("--key {}", "0a".repeat(16))), "--key ***");
    }

    #[test]
    fn what_verdicts_need_stays() {
        for text in [
            "vllm serve meta-llama/Llama-3.1-8B --gpu-memory-utilization 0.95 --max-num-batched-tokens 8192",
            "python train.py --tokenizer gpt2 --pad-token <pad> --max-token 512 --key layer.0.weight",
            "expandable_segments:True,max_split_size_mb:128",
            "/models/0123456789abcdef0123456789abcdef01234567/snapshot hf_hub_download_with_retries",
            "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.64 GiB",
            "invalid token: unexpected end of file",
            "std::secret::Token::parse(key: u32)",
            "git+ssh://git@host/repo.git GPU-6c2f3f1e-0123-4567-89ab-0123456789ab",
            "sk-learn-like-model-name-of-some-length",
            "serve --auth=localhost:8080 --auth basic --login=docker.io/me:latest --auth=http://h:1/x",
            "the signature: def f(x) auth: user:read glpat-token-of-a-project",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn nothing_takes_long_or_panics() {
        for text in [
            "--token ",
            "=",
            "token=",
            "://@",
            "🔑--token\t🔑",
            "token:\\",
            "-----BEGIN ",
            "eyJ-",
            "token:\"",
            "sk-a.",
        ] {
            let _ = mask(text);
            let long = text.repeat(5_000);
            let started = std::time::Instant::now();
            let _ = mask(&long);
            assert!(started.elapsed().as_secs() < 2, "{text}");
        }
    }
}
