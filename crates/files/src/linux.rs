//! What is asked on Linux alone: paths below a folder, owners of files.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use crate::{
    private::refused,
    untrusted::{not_regular, open, whole},
};

const FOLDER_MODE: u32 = 0o700;
/// Writable by the group or by all.
const OTHERS_WRITE: u32 = GROUP_WRITE | ALL_WRITE;
const GROUP_WRITE: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;
/// Permissions that a secret may not have: others can use it, or its group can write it. If the group is not trusted
/// either, it cannot read it.
const SECRET_REFUSED: u32 = 0o027;
const SECRET_REFUSED_WITH_GROUP: u32 = 0o077;
/// In such a folder nobody can rename or remove what is another's.
const STICKY: u32 = 0o1000;

/// Opens a regular file below a folder, by its path from there. No part of that path may be a link: whoever
/// made a folder on the way could lead elsewhere. Linux 5.6 is needed.
///
/// # Errors
/// Where it cannot be opened, a part of the path is a link, or it is anything but a regular file. It never waits.
pub fn open_below(folder: &File, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Looked at first: opening a device may do something by itself.
    let look = open_at(folder, path, OFlags::PATH | OFlags::CLOEXEC)?;
    if !look.metadata()?.is_file() {
        return Err(not_regular());
    }
    let file = open_at(folder, path, flags)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Opens a folder below a folder, by its path from there, as [`open_below`] does a file.
///
/// # Errors
/// Where it cannot be opened, a part of the path is a link, or it is no folder.
pub fn open_folder_below(folder: &File, path: &Path) -> io::Result<File> {
    open_at(folder, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)
}

fn open_at(folder: &File, path: &Path, flags: OFlags) -> io::Result<File> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(File::from(openat2(folder, path, flags, Mode::empty(), resolve)?))
}

/// Whether an open file belongs to a user, as what a process says about itself must.
#[must_use]
pub fn belongs_to(file: &File, user: u32) -> bool {
    file.metadata().is_ok_and(|found| found.uid() == user)
}

/// Takes a folder that exists for our own: it must be ours, and becomes private. A folder that another
/// user made is refused, because what is in it is that user's choice.
///
/// # Errors
/// Where it is a link, not a folder, or another user's; the error says what to do.
pub fn adopt_folder(path: &Path) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags.bits().cast_signed();
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = folder.metadata()?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(format!(
            "{} belongs to another user (UID {}): name a folder of your own",
            path.display(),
            found.uid()
        )));
    }
    if found.mode() & 0o077 != 0 {
        folder.set_permissions(Permissions::from_mode(FOLDER_MODE))?;
    }
    Ok(())
}

/// Refuses a place where somebody else could put another file under a name of ours: each folder on the way
/// must be ours or root's, and writable by nobody else unless it is sticky, as `/tmp` is. Root is whoever owns
/// `/`, too: in a namespace of users the machine's root may have no number of its own.
///
/// # Errors
/// Names the folder that others can change.
pub fn check_way(path: &Path) -> io::Result<()> {
    check_folders(path, GroupWrite::Refused)
}

/// Refuses a place for files that are written and removed by path, if another user could lead these paths elsewhere.
/// The rule is that of [`check_way`] with one exception: a user other than root may share a folder with a group, as
/// projects do. A group that this user is in may write to the folder, and a member of it may own the folder. Root
/// accepts no group, because root can change files that the group cannot.
///
/// # Errors
/// Names the folder that others can change.
pub fn check_way_of_output(path: &Path) -> io::Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    check_folders(path, if is_root { GroupWrite::Refused } else { GroupWrite::Accepted })
}

/// The judgement of a folder that its group may write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupWrite {
    Refused,
    Accepted,
}

fn check_folders(path: &Path, group_write: GroupWrite) -> io::Result<()> {
    let trusted = [rustix::process::geteuid().as_raw(), 0, fs::metadata("/")?.uid()];
    let refused_bits = match group_write {
        GroupWrite::Refused => OTHERS_WRITE,
        GroupWrite::Accepted => ALL_WRITE,
    };
    for folder in path.canonicalize()?.ancestors() {
        let found = fs::metadata(folder)?;
        let is_of_colleague = group_write == GroupWrite::Accepted
            && found.mode() & GROUP_WRITE != 0
            && is_own_group(found.gid())?;
        let owner_is_right = trusted.contains(&found.uid()) || is_of_colleague;
        let others_write = found.mode() & refused_bits != 0 && found.mode() & STICKY == 0;
        if !owner_is_right || others_write {
            let folder = folder.display();
            return Err(refused(format!("other users can change what is in {folder}")));
        }
    }
    Ok(())
}

fn is_own_group(group: u32) -> io::Result<bool> {
    let groups = rustix::process::getgroups()?;
    Ok(rustix::process::getegid().as_raw() == group
        || groups.iter().any(|own| own.as_raw() == group))
}

/// Reads a file that holds a secret, such as a key: at most `most` bytes. A file of our own user must be of mode 0600
/// or less. A file of root may also be readable by its group (0640 or less), so that root can hand out a secret to a
/// service. This is PostgreSQL's rule for its server key. Links are followed, because Kubernetes' secrets are links;
/// the permissions are those of the file that is read.
///
/// # Errors
/// Returns an error that names the command to run if other users can read or change the file.
pub fn read_secret(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let found = file.metadata()?;
    let own = rustix::process::geteuid().as_raw();
    // In a namespace of users the machine's root may have no number of its own; then it owns `/`.
    let root = [0, fs::metadata("/")?.uid()];
    let is_roots = root.contains(&found.uid());
    if found.uid() != own && !is_roots {
        return Err(refused(format!(
            "it belongs to another user (UID {}), who can change it; run: chown {own} {}",
            found.uid(),
            path.display()
        )));
    }
    let mask = if is_roots { SECRET_REFUSED } else { SECRET_REFUSED_WITH_GROUP };
    let mode = found.mode() & 0o777;
    if mode & mask != 0 {
        return Err(refused(format!(
            "other users can use it (mode {mode:04o}); run: chmod 600 {}",
            path.display()
        )));
    }
    whole(&file, most)
}
