//! Where other processes reach the ranks of this one: a socket in the lab's folder.
//!
//! Each rank is a link there, named by its communicator and number, to the socket of its process.
//! The kernel says whether a process still has its socket, however the process ended. The folder
//! goes when the lab ends.

use std::{
    env,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::AsRawFd,
        unix::{
            fs::{OpenOptionsExt, PermissionsExt, symlink},
            net::UnixDatagram,
        },
    },
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicI32, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    frame::{self, Message, Route},
    intake::Intake,
    mailbox::{Member, UnderWay},
    status::Failure,
};

/// The variable that names a file in the lab's folder.
const LAB: &str = "WHYOOM_LAB";

/// After this long, a sender looks whether it is still to wait for a receiver that takes nothing.
const SEND_TIMEOUT: Duration = Duration::from_millis(100);

/// A process's socket and what arrived there.
pub(crate) struct Endpoint {
    /// Who made it.
    process: u32,
    folder: File,
    name: String,
    pub intake: Intake,
}

/// What is known of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// It has not made its communicator.
    Absent,
    Alive,
    Exited,
    /// It runs, but its communicator has ended.
    Left,
}

/// This process's endpoint, and the process: a child has its parent's until it needs its own.
static OWN: Mutex<Option<(u32, Arc<Endpoint>)>> = Mutex::new(None);

/// The socket that a forked child must not keep: its parent would seem alive.
static SOCKET: AtomicI32 = AtomicI32::new(-1);

impl Endpoint {
    /// The endpoint of this process.
    pub(crate) fn own() -> io::Result<Arc<Self>> {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((process, endpoint)) = &*own
            && *process == process::id()
        {
            return Ok(Arc::clone(endpoint));
        }
        let lab = env::var_os(LAB).map(PathBuf::from).ok_or(ErrorKind::NotFound)?;
        let endpoint = Arc::new(Self::open(lab.parent().ok_or(ErrorKind::NotFound)?)?);
        endpoint.start()?;
        // The parent's socket is closed in this process already, and is not to be closed again.
        if let Some(parents) = own.replace((process::id(), Arc::clone(&endpoint))) {
            std::mem::forget(parents);
        }
        SOCKET.store(endpoint.intake.socket.as_raw_fd(), Ordering::Relaxed);
        close_in_children();
        Ok(endpoint)
    }

    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let only_folders = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = OpenOptions::new().read(true).custom_flags(only_folders).open(folder)?;
        let name = format!("nccl-process-{}-{:016x}", process::id(), random()?);
        let path = in_folder(&folder, &name);
        let socket = UnixDatagram::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Self { process: process::id(), folder, name, intake: Intake::new(socket) })
    }

    /// Starts the thread that reads while nobody waits.
    fn start(self: &Arc<Self>) -> io::Result<()> {
        let endpoint = Arc::clone(self);
        let thread = thread::Builder::new().name("whyoom-nccl".to_owned());
        thread.spawn(move || endpoint.intake.run())?;
        Ok(())
    }

    /// Makes a rank of this process known.
    pub(crate) fn announce(&self, member: Member) -> io::Result<()> {
        if !self.intake.mailbox.join(member) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        symlink(&self.name, self.path(member)).inspect_err(|_| self.intake.mailbox.leave(member))
    }

    /// Begins an operation of a rank.
    pub(crate) fn enter(&self, member: Member) -> Result<UnderWay<'_>, Failure> {
        if !self.is_own() {
            return Err(Failure::InvalidUsage);
        }
        self.intake.mailbox.enter(member)
    }

    /// Ends a rank when none of its operations is under way, and lets the others know.
    pub(crate) fn leave(&self, member: Member) {
        if self.is_own() {
            self.intake.mailbox.leave(member);
            // Whoever leaves twice has no link any longer.
            drop(fs::rename(self.path(member), self.path_left(member)));
        }
    }

    /// Whether another rank of a communicator is in this process.
    pub(crate) fn has_another(&self, member: Member) -> bool {
        self.is_own() && self.intake.mailbox.has_another(member)
    }

    /// Whether this is the process that made the endpoint. In a forked child nobody reads the socket,
    /// and locks may be held by threads that are not there.
    fn is_own(&self) -> bool {
        self.process == process::id()
    }

    fn path(&self, (communicator, rank): Member) -> PathBuf {
        in_folder(&self.folder, &format!("nccl-{communicator:016x}-{rank}"))
    }

    /// Where the link of a rank is that has left.
    fn path_left(&self, (communicator, rank): Member) -> PathBuf {
        in_folder(&self.folder, &format!("nccl-{communicator:016x}-{rank}-left"))
    }

    /// What sending to a rank led to.
    fn sent(&self, member: Member, result: io::Result<usize>) -> io::Result<Sent> {
        match peer(result)? {
            Sent::No(Peer::Absent) if self.path_left(member).is_symlink() => {
                Ok(Sent::No(Peer::Left))
            }
            other => Ok(other),
        }
    }

    /// Sends what is left of a message. Where the receiver does not take all of it, says why: to go
    /// on, send again.
    pub(crate) fn send(&self, outgoing: &mut Outgoing) -> io::Result<Sent> {
        let Outgoing { route, message, next } = outgoing;
        if self.intake.mailbox.deliver(*route, message) {
            if self.intake.has_waiters() {
                // A rank of this process may be waiting at the socket.
                self.look_for((route.communicator, route.to));
            }
            return Ok(Sent::Yes);
        }
        let receiver = (route.communicator, route.to);
        let path = self.path(receiver);
        for datagram in frame::datagrams(*route, message).skip(*next) {
            match self.sent(receiver, self.intake.socket.send_to(&datagram, &path))? {
                Sent::Yes => *next += 1,
                other => return Ok(other),
            }
        }
        Ok(Sent::Yes)
    }

    /// Looks for the process of a rank.
    pub(crate) fn look_for(&self, member: Member) -> Peer {
        // Too short to be a part of a message, so that the receiver drops it.
        match self.sent(member, self.intake.socket.send_to(&[], self.path(member))) {
            Ok(Sent::No(peer)) => peer,
            _ => Peer::Alive,
        }
    }
}

/// A message on its way.
pub(crate) struct Outgoing {
    route: Route,
    message: Message,
    /// The first part that is not sent.
    next: usize,
}

impl Outgoing {
    pub(crate) fn new(route: Route, message: Message) -> Self {
        Self { route, message, next: 0 }
    }
}

/// What sending led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    /// The receiver's queue is full.
    Later,
    No(Peer),
}

fn peer(sent: io::Result<usize>) -> io::Result<Sent> {
    let Err(error) = sent else { return Ok(Sent::Yes) };
    match error.kind() {
        ErrorKind::NotFound => Ok(Sent::No(Peer::Absent)),
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Ok(Sent::No(Peer::Exited)),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(Sent::Later),
        _ => Err(error),
    }
}

/// A name in the folder. By the open folder: the address of a socket has room for 108 bytes, and a
/// folder for temporary files can have a longer name.
fn in_folder(folder: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

/// A number that nobody else has.
pub(crate) fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    // The function of this name is new in glibc 2.25.
    // SAFETY: eight bytes of room for eight bytes.
    let filled = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), 8_usize, 0) };
    if filled == 8 { Ok(u64::from_ne_bytes(bytes)) } else { Err(io::Error::last_os_error()) }
}

fn close_in_children() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the function lives as long as the library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(close_socket)) };
    });
}

/// Runs in a forked child, where only simple system calls are allowed.
unsafe extern "C" fn close_socket() {
    let socket = SOCKET.swap(-1, Ordering::Relaxed);
    if socket >= 0 {
        // SAFETY: the child's copy of the descriptor, which nothing in the child uses: an endpoint
        // is only used by the process that made it.
        unsafe { libc::close(socket) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER: Member = (3, 0);

    #[test]
    fn a_rank_is_absent_then_alive_then_has_left() {
        let folder = tempfile::tempdir().expect("a new folder");
        let [one, other] = [(); 2].map(|()| Endpoint::open(folder.path()).expect("a socket"));
        assert_eq!(other.look_for(MEMBER), Peer::Absent);
        one.announce(MEMBER).expect("a link");
        assert!(one.announce(MEMBER).is_err() && other.announce(MEMBER).is_err());
        assert!(other.enter(MEMBER).is_err(), "undone");
        assert_eq!(other.look_for(MEMBER), Peer::Alive);
        one.leave(MEMBER);
        one.leave(MEMBER);
        assert_eq!(other.look_for(MEMBER), Peer::Left);
        one.announce(MEMBER).expect("a link again");
        drop(one);
        assert_eq!(other.look_for(MEMBER), Peer::Exited);
    }

    #[test]
    fn a_child_waits_for_no_thread_of_its_parent() {
        let folder = tempfile::tempdir().expect("a new folder");
        let mut endpoint = Endpoint::open(folder.path()).expect("a socket");
        endpoint.announce(MEMBER).expect("a link");
        std::mem::forget(endpoint.enter(MEMBER).expect("a member"));
        endpoint.process = 0;
        endpoint.leave(MEMBER);
        assert!(endpoint.enter(MEMBER).is_err());
    }
}
