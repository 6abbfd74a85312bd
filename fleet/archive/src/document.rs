//! Documents beside the incidents, written once as these are.

use crate::{
    archive::Archive,
    error::{ArchiveError, Put},
};

impl Archive {
    /// Writes a document, once. When it returns, it was read back.
    ///
    /// # Errors
    /// Where the store cannot be reached, or there is another document under this name.
    pub fn put_document(&self, path: &str, bytes: &[u8]) -> Result<Put, ArchiveError> {
        self.wait(async {
            let put = self.store.create(path, bytes.to_vec().into()).await?;
            let mut there = self.bytes_at(path).await?;
            if there.len() < bytes.len() && bytes.starts_with(&there) {
                // Half of what was cut off on its way.
                self.store.replace(path, bytes.to_vec().into()).await?;
                there = self.bytes_at(path).await?;
            }
            match there == bytes {
                true => Ok(put),
                false => Err(ArchiveError::Foreign { path: path.to_owned() }),
            }
        })
    }

    /// A document, if there is one.
    ///
    /// # Errors
    /// Where the store cannot be reached.
    pub fn document(&self, path: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        match self.bytes(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(folder.path().to_str().unwrap()).unwrap();
        assert_eq!(archive.document("replays/a.json").unwrap(), None);
        let put = |text: &str| archive.put_document("replays/a.json", text.as_bytes());
        assert_eq!(put("one").unwrap(), Put::Written);
        assert_eq!(put("one").unwrap(), Put::WasThere);
        assert!(matches!(put("two"), Err(ArchiveError::Foreign { .. })));
        assert_eq!(archive.document("replays/a.json").unwrap(), Some(b"one".to_vec()));
        std::fs::write(folder.path().join("replays/a.json"), "on").unwrap();
        assert_eq!(put("one").unwrap(), Put::WasThere, "half of it is mended");
        assert_eq!(archive.document("replays/a.json").unwrap(), Some(b"one".to_vec()));
    }
}
