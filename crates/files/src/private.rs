//! What nobody else may read or change: folders of mode 0700 and files of mode 0600, whatever the umask.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

#[cfg(target_os = "linux")]
pub use crate::linux::{adopt_folder, check_way, check_way_of_output, read_secret};
use crate::system::{self, Follow};

/// Makes a new folder.
///
/// # Errors
/// Where it exists, or cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    system::create_private_folder(path)
}

/// Makes a new file for writing.
///
/// # Errors
/// Where anything of that name exists, a link too.
pub fn create_file(path: &Path) -> io::Result<File> {
    system::private(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Opens a file for adding to its end, and makes it where there is none. A link is not followed.
///
/// # Errors
/// Where it cannot be opened, or is anything but a regular file.
pub fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    system::private(options.append(true).create(true));
    let file = system::without_waiting(&mut options, Follow::Nothing).open(path)?;
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

pub(crate) fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        fs::Permissions,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    };

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
    fn a_secret_that_others_can_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let link = folder.path().join("link");
        fs::write(&path, "secret").unwrap();
        symlink(&path, &link).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        for (mode, is_accepted) in [
            (0o400, true),
            (0o600, true),
            // Kubernetes' `defaultMode: 0440`; here the owner is root only if root runs this.
            (0o440, is_root),
            (0o640, is_root),
            (0o660, false),
            (0o604, false),
            (0o602, false),
            (0o644, false),
            (0o666, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            for name in [&path, &link] {
                let read = read_secret(name, 10);
                assert_eq!(read.is_ok(), is_accepted, "{mode:o}: {read:?}");
                if let Err(error) = read {
                    assert!(error.to_string().contains("chmod 600"), "{error}");
                }
            }
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_secret(&path, 5).unwrap_err().kind(), std::io::ErrorKind::FileTooLarge);
        if is_root {
            std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
            let error = read_secret(&path, 10).unwrap_err();
            assert!(error.to_string().contains("chown 0"), "{error}");
        }
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

    #[test]
    fn output_may_lie_in_a_folder_of_a_group_unless_root_writes_it() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        create_folder(&inner).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        for (mode, is_accepted) in
            [(0o755, true), (0o1777, true), (0o775, !is_root), (0o2770, !is_root), (0o777, false)]
        {
            fs::set_permissions(outer.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_way_of_output(&inner).is_ok(), is_accepted, "{mode:o}");
        }
        if is_root {
            fs::set_permissions(outer.path(), Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(outer.path(), Some(12345), None).unwrap();
            let error = check_way_of_output(&inner).unwrap_err();
            assert!(error.to_string().contains("other users"), "{error}");
        }
    }
}
