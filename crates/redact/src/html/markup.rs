//! HTML that cannot be broken by a name: markup is text of this program, and everything else is escaped.

use crate::visible::visible;

/// Names of attributes, and their values.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

/// HTML as it is written.
#[derive(Debug, Default)]
pub struct Markup(String);

impl Markup {
    /// Markup that was written here: no name that others chose lives as long.
    pub fn fixed(&mut self, html: &'static str) {
        self.0.push_str(html);
    }

    /// Text that others may have chosen.
    pub fn text(&mut self, text: &str) {
        for character in visible(text).chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }

    /// An element and what is inside it.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        self.fixed("<");
        self.fixed(name);
        for &(attribute, value) in attributes {
            self.fixed(" ");
            self.fixed(attribute);
            self.fixed("=\"");
            self.text(value);
            self.fixed("\"");
        }
        self.fixed(">");
        inside(self);
        self.fixed("</");
        self.fixed(name);
        self.fixed(">");
    }

    /// An element with text alone.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |inside| inside.text(text));
    }

    /// What was written.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}
