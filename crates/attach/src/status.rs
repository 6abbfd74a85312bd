//! `/proc/PID/status`.

/// The value of a line.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
}

/// The second number of `Uid` or `Gid`: whose rights it has.
pub(crate) fn effective(status: &str, name: &str) -> Option<u32> {
    field(status, name)?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_status() {
        let status = "Name:\tx\nUid:\t1\t2\t3\t4\nTracerPid:\t0\n";
        assert_eq!((effective(status, "Uid"), effective(status, "Gid")), (Some(2), None));
        assert_eq!(field(status, "TracerPid"), Some("0"));
        assert_eq!(field(status, "State"), None);
    }
}
