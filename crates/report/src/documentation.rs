//! Where the book explains a cause.

/// The page of the causes, and in it the heading of this one.
pub(crate) fn documentation(cause: &str) -> String {
    format!("{}causes.html#{cause}", env!("CARGO_PKG_HOMEPAGE"))
}
