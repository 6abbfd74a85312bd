//! What nobody else may read or change: folders of mode 0700 and files of mode 0600, whatever the umask.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use rustix::fs::OFlags;

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Writable by the group or by all.
const OTHERS_WRITE: u32 = 0o022;
/// In such a folder nobody can rename or remove what is another's.
const STICKY: u32 = 0o1000;

/// Makes a new folder.
///
/// # Errors
/// Where it exists, or cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER_MODE).create(path)
}

/// Makes a new file for writing.
///
/// # Errors
/// Where anything of that name exists, a link too.
pub fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Opens a file for adding to its end, and makes it where there is none. A link is not followed.
///
/// # Errors
/// Where it cannot be opened, or is anything but a regular file.
pub fn append_to(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(FILE_MODE).custom_flags(flags);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(refused("not a regular file".to_owned()))
    }
}

/// Writes a file as a whole, in place of what may be there: a link is replaced and not followed.
///
/// # Errors
/// Where it cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => create_file(path)?.write_all(bytes.as_ref()),
    }
}

/// Writes a file in place of what may be there. Whatever happens meanwhile, the old one or the new one is there
/// as a whole; of two who write the same file at once, one fails.
///
/// # Errors
/// Where it cannot be written. The old one stays.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_file(&new)?;
    file.write_all(bytes.as_ref())?;
    file.sync_data()?;
    fs::rename(&new, path)
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
    let trusted = [rustix::process::geteuid().as_raw(), 0, fs::metadata("/")?.uid()];
    for folder in path.canonicalize()?.ancestors() {
        let found = fs::metadata(folder)?;
        let owner_is_right = trusted.contains(&found.uid());
        let others_write = found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0;
        if !owner_is_right || others_write {
            let folder = folder.display();
            return Err(refused(format!("other users can change what is in {folder}")));
        }
    }
    Ok(())
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        replace(&path, "first").expect("it is written");
        // What an earlier attempt left is no obstacle.
        fs::write(folder.path().join("a.new"), "half").expect("it is written");
        replace(&path, "second").expect("it is written");
        assert_eq!(fs::read(&path).expect("it is read"), b"second");
        assert_eq!(fs::read_dir(folder.path()).expect("it is listed").count(), 1);
    }

    #[test]
    fn what_is_made_is_private_and_follows_no_link() {
        let outer = tempfile::tempdir().unwrap();
        let [folder, file, link, victim] =
            ["folder", "folder/file", "folder/link", "victim"].map(|name| outer.path().join(name));
        create_folder(&folder).unwrap();
        assert!(create_folder(&folder).is_err());
        write(&file, "one").unwrap();
        write(&file, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &link).unwrap();
        assert!(create_file(&link).is_err() && append_to(&link).is_err());
        let log = folder.join("log");
        for line in ["one\n", "two\n"] {
            append_to(&log).unwrap().write_all(line.as_bytes()).unwrap();
        }
        assert_eq!((fs::read_to_string(&log).unwrap().as_str(), mode(&log)), ("one\ntwo\n", 0o600));
        write(&link, "ours").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!((mode(&folder), mode(&file), mode(&link)), (0o700, 0o600, 0o600));
    }

    #[test]
    fn a_folder_of_ours_becomes_private_and_a_link_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let [folder, link] = ["folder", "link"].map(|name| outer.path().join(name));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        symlink(&folder, &link).unwrap();
        assert!(adopt_folder(&link).is_err());
        adopt_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn a_folder_on_the_way_that_others_can_change_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        create_folder(&inner).unwrap();
        check_way(&inner).unwrap();
        fs::set_permissions(outer.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(check_way(&inner).unwrap_err().to_string().contains("other users"));
        fs::set_permissions(outer.path(), Permissions::from_mode(0o1777)).unwrap();
        check_way(&inner).unwrap();
    }
}
