//! whyoom in a browser: the same answers as the command's, from files that somebody dropped on a page. The page's
//! worker calls it (`web/src/browser/engine.ts` has the other side of this interface).
#![forbid(unsafe_code)]

mod comparison;
mod file;
mod inquiry;

use wasm_bindgen::JsValue;

pub use comparison::Comparison;
pub use inquiry::Inquiry;

/// As wide as text is that no terminal limits.
const WIDTH: usize = 100;

/// What the page shows to people.
fn told(error: impl std::fmt::Display) -> JsValue {
    JsValue::from_str(&error.to_string())
}

/// Text that something writes, without colour.
fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<String, JsValue> {
    let bytes = bytes(write)?;
    Ok(anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string())
}

/// A document that something writes.
fn document(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<String, JsValue> {
    String::from_utf8(bytes(write)?).map_err(told)
}

fn bytes(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<Vec<u8>, JsValue> {
    let mut bytes = Vec::new();
    write(&mut bytes).map_err(told)?;
    Ok(bytes)
}
