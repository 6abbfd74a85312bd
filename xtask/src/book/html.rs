//! What a built page links to, and what can be linked to in it.

use std::collections::BTreeSet;

/// The values of an attribute in all tags of a page.
pub(super) fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let opens = format!(" {attribute}=\"");
    let tags = page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    let found = tags.filter_map(|tag| {
        let (_, rest) = tag.split_once(opens.as_str())?;
        Some(rest.split_once('"')?.0)
    });
    found.collect()
}

/// The places in a page that a link can lead to.
pub(super) fn anchors(page: &str) -> BTreeSet<&str> {
    values(page, "id").into_iter().collect()
}

/// What a page links to or shows, as it stands there.
pub(super) fn links(page: &str) -> Vec<&str> {
    [values(page, "href"), values(page, "src")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_found() {
        let page = r##"<h1 id="top">T</h1><a class="x" href="a.html#b">a</a><img src="p.svg">"##;
        assert_eq!(links(page), ["a.html#b", "p.svg"]);
        assert!(anchors(page).contains("top"));
    }
}
