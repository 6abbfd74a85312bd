//! How users enter a lab that is not theirs: its process hands the state over, through a socket that
//! stands where else the state file is.
//!
//! A file that all may write all may shorten, too, which crashes whoever has it mapped. A memory file can
//! be sealed against that, but has no name by which another user may open it.

use std::{
    fs::{self, Permissions},
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            fs::PermissionsExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::Path,
    thread,
    time::Duration,
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use super::spec_words::{SPEC_WORDS, SpecWords};

/// As device files are: every user of the machine may use the devices.
const MODE: u32 = 0o666;
/// The lab answers at once; where it was stopped, nobody waits for it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two attempts, where the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(10);

/// The layout's version, and what the machine is made of: nobody but the lab itself can change it.
const WORDS: usize = 1 + SPEC_WORDS;

/// Answers whoever comes, as long as this process lives.
pub(super) fn answer(path: &Path, state: OwnedFd, magic: u64, spec: SpecWords) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(MODE))?;
    let bytes: Vec<u8> = [magic].iter().chain(&spec).flat_map(|word| word.to_ne_bytes()).collect();
    let serve = move || {
        for guest in listener.incoming() {
            match guest {
                // Whoever has gone again gets nothing.
                Ok(guest) => drop(hand_over(&guest, &state, &bytes)),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    };
    thread::Builder::new().name("lab-door".into()).spawn(serve).map(drop)
}

fn hand_over(guest: &UnixStream, state: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut room);
    let files = [state.as_fd()];
    beside.push(SendAncillaryMessage::ScmRights(&files));
    // The first message of a connection has room: nobody can make this wait.
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(guest, &[IoSlice::new(bytes)], &mut beside, flags)?;
    Ok(())
}

/// The state of a shared lab and what its machine is made of.
pub(super) fn enter(path: &Path, magic: u64) -> io::Result<(OwnedFd, SpecWords)> {
    let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
    let lab = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_timeout(&lab, sockopt::Timeout::Send, Some(PATIENCE))?;
    sockopt::set_socket_timeout(&lab, sockopt::Timeout::Recv, Some(PATIENCE))?;
    rustix::net::connect(&lab, &SocketAddrUnix::new(path)?)?;
    let (mut bytes, mut state) = ([0; WORDS * 8], None);
    let mut read = 0;
    while read < bytes.len() {
        match receive(&lab, &mut bytes[read..], &mut state)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => read += count,
        }
    }
    let mut words = [0; WORDS];
    for (word, eight) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*eight);
    }
    let (first, spec) = words.split_first().map_or((0, [0; SPEC_WORDS]), |(first, rest)| {
        (*first, rest.try_into().unwrap_or([0; SPEC_WORDS]))
    });
    match state {
        Some(state) if first == magic => Ok((state, spec)),
        _ => Err(io::Error::other("not a lab, or one of another version")),
    }
}

fn receive(lab: &OwnedFd, bytes: &mut [u8], state: &mut Option<OwnedFd>) -> io::Result<usize> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut room);
    let mut places = [IoSliceMut::new(bytes)];
    let got = rustix::net::recvmsg(lab, &mut places, &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            *state = files.last();
        }
    }
    Ok(got.bytes)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Machine, layout::MAGIC},
        *,
    };

    /// What a process that is no lab of ours could hand over.
    fn entered(name: &str, magic: u64) -> String {
        let path = std::env::temp_dir().join(format!("whyoom-door-{name}-{}", std::process::id()));
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create("short", flags).expect("memory files work");
        answer(&path, file, magic, [0; SPEC_WORDS]).expect("it listens");
        let error = Machine::open(&path).err().expect("it is refused");
        fs::remove_file(path).expect("it is there");
        error.to_string()
    }

    #[test]
    fn a_state_that_could_be_shortened_is_refused() {
        assert!(entered("unsealed", MAGIC).contains("shortened"));
        assert!(entered("other", MAGIC + 1).contains("another version"));
    }

    #[test]
    fn a_lab_that_does_not_answer_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("whyoom-door-mute-{}", std::process::id()));
        let _mute = UnixListener::bind(&path).expect("it listens");
        let began = std::time::Instant::now();
        assert!(Machine::open(&path).is_err());
        assert!(began.elapsed() < 2 * PATIENCE);
        fs::remove_file(path).expect("it is there");
    }
}
