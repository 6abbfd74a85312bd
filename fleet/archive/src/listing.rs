//! The objects that an archive lists.

/// An object that was listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    /// Path below the archive.
    pub(crate) path: String,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

/// The objects of incidents, and the entries that are not read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Objects that whyoom-fleet named, in no order.
    pub(crate) objects: Vec<Object>,
    /// Paths of entries that are not read: links, other things that are no regular files, and Parquet files that
    /// whyoom-fleet did not name.
    pub(crate) passed_over: Vec<String>,
}

/// Splits objects into groups of neighbours that have at most `max_bytes` together. A longer object is a group of its
/// own.
pub(crate) fn groups(objects: Vec<Object>, max_bytes: u64) -> Vec<Vec<Object>> {
    let mut groups: Vec<Vec<Object>> = Vec::new();
    let mut group_bytes = 0_u64;
    for object in objects {
        group_bytes = group_bytes.saturating_add(object.bytes);
        match groups.last_mut() {
            Some(group) if group_bytes <= max_bytes => group.push(object),
            _ => {
                group_bytes = object.bytes;
                groups.push(vec![object]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_neighbours_and_bounded() {
        let grouped = |sizes: &[u64]| {
            let objects = sizes.iter().map(|bytes| Object { path: String::new(), bytes: *bytes });
            let groups = groups(objects.collect(), 10);
            let sizes = |group: Vec<Object>| group.iter().map(|object| object.bytes).collect();
            groups.into_iter().map(sizes).collect::<Vec<Vec<u64>>>()
        };
        assert_eq!(grouped(&[4, 5, 6, 3]), [[4, 5], [6, 3]]);
        assert_eq!(grouped(&[9, 9, 1]), [vec![9], vec![9, 1]]);
        assert_eq!(grouped(&[20, u64::MAX, 8]), [[20], [u64::MAX], [8]]);
        assert!(grouped(&[]).is_empty());
    }
}
