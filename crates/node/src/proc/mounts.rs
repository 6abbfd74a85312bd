//! `/proc/PID/mounts`: file systems that hang when something outside the kernel does not answer, and
//! whether /proc hides processes.

use crate::capture::Mount;

/// Kinds of file systems whose requests leave the kernel.
const REMOTE: &[&str] = &["nfs", "cifs", "smb", "ceph", "lustre", "gpfs", "beegfs", "9p", "fuse"];

/// The mounts that may hang.
#[must_use]
pub fn remote(text: &str) -> Vec<Mount> {
    fields(text)
        .filter(|(_, kind, _)| REMOTE.iter().any(|remote| kind.starts_with(remote)))
        // A control file system, not one with files.
        .filter(|(_, kind, _)| *kind != "fusectl" && !kind.starts_with("nfsd"))
        .map(|(point, kind, _)| Mount { point: unescape(point), kind: kind.to_owned() })
        .collect()
}

/// Whether /proc shows other users' processes to root only (`hidepid=2`).
#[must_use]
pub fn processes_hidden(text: &str) -> bool {
    fields(text).filter(|(point, kind, _)| *point == "/proc" && *kind == "proc").any(
        |(_, _, options)| {
            options
                .split(',')
                .filter_map(|option| option.strip_prefix("hidepid="))
                .any(|value| matches!(value, "2" | "4" | "invisible" | "ptraceable"))
        },
    )
}

/// Point, kind and options of each line.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?, fields.next()?))
    })
}

/// The kernel writes a space as `\040`.
fn unescape(point: &str) -> String {
    point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "proc /proc proc rw,nosuid,hidepid=2 0 0\n\
                        server:/data /mnt/my\\040data nfs4 rw,hard 0 0\n\
                        sshfs /home/a/far fuse.sshfs rw 0 0\n\
                        fusectl /sys/fs/fuse/connections fusectl rw 0 0\n\
                        /dev/sda1 / ext4 rw 0 0\nbroken\n";

    #[test]
    fn mounts_that_may_hang() {
        let mount = |point: &str, kind: &str| Mount { point: point.into(), kind: kind.into() };
        let expected = [mount("/mnt/my data", "nfs4"), mount("/home/a/far", "fuse.sshfs")];
        assert_eq!(remote(TEXT), expected);
    }

    #[test]
    fn hidden_processes() {
        assert!(processes_hidden(TEXT));
        assert!(processes_hidden("proc /proc proc rw,hidepid=invisible 0 0"));
        assert!(!processes_hidden("proc /proc proc rw,relatime 0 0"));
        assert!(!processes_hidden("proc /mnt/proc proc rw,hidepid=2 0 0"));
    }
}
