//! Code images: what can be told of them. Pure.

use std::sync::Arc;

use whyoom_lab_ptx::Module;

/// A loaded image of device code.
#[derive(Clone, Debug)]
pub enum Image {
    /// PTX text: its kernels and variables are known by name.
    Ptx {
        /// Names of kernels.
        kernels: Vec<String>,
        /// Names and sizes of variables.
        variables: Vec<(String, u64)>,
        /// The code of the kernels, where it can be followed.
        code: Arc<Module>,
    },
    /// A device binary: names can be looked for in its string tables.
    Binary(Vec<u8>),
    /// A bundle whose format is not documented: any name may be in it.
    Bundle,
}

impl Image {
    /// PTX text, or nothing where the text is none.
    #[must_use]
    pub fn from_ptx(text: &str) -> Option<Self> {
        if !text.lines().any(|line| line.trim_start().starts_with(".version")) {
            return None;
        }
        let words: Vec<&str> = text.split([' ', '\t', '\n', '\r', '(', ';', '{']).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let kernels = words.windows(2).filter(|pair| pair[0] == ".entry");
        let kernels = kernels.map(|pair| pair[1].to_owned()).collect();
        let variables = text.lines().filter_map(variable).collect();
        // Where it cannot be followed, kernels do nothing.
        let code = Arc::new(Module::parse(text).unwrap_or_default());
        Some(Self::Ptx { kernels, variables, code })
    }

    /// Whether a kernel of that name can be in it.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        match self {
            Self::Ptx { kernels, .. } => kernels.iter().any(|kernel| kernel == name),
            Self::Binary(bytes) => {
                let entry = [b"\0", name.as_bytes(), b"\0"].concat();
                bytes.windows(entry.len()).any(|window| window == entry)
            }
            Self::Bundle => true,
        }
    }

    /// The size of a variable, where it can be told.
    #[must_use]
    pub fn variable_size(&self, name: &str) -> Option<u64> {
        let Self::Ptx { variables, .. } = self else { return None };
        variables.iter().find(|(known, _)| known == name).map(|(_, size)| *size)
    }

    /// The code of its kernels, where it can be run.
    #[must_use]
    pub fn code(&self) -> Option<&Arc<Module>> {
        if let Self::Ptx { code, .. } = self { Some(code) } else { None }
    }

    /// Kernels, where they can be told.
    #[must_use]
    pub fn kernels(&self) -> Option<&[String]> {
        if let Self::Ptx { kernels, .. } = self { Some(kernels) } else { None }
    }
}

/// `.visible .global .align 4 .b8 name[400];` and `.global .u32 name = 7;`.
fn variable(line: &str) -> Option<(String, u64)> {
    let (_, declaration) = line.split_once(".global ").or_else(|| line.split_once(".const "))?;
    let mut words = declaration.split([' ', ';', '=']).filter(|word| !word.is_empty());
    let mut width = 0;
    let name = loop {
        let word = words.next()?;
        match word.strip_prefix('.') {
            Some("align") => _ = words.next(),
            Some(kind) => {
                let bits = kind.trim_start_matches(|letter: char| !letter.is_ascii_digit());
                width = bits.parse::<u64>().unwrap_or(0) / 8;
            }
            None => break word,
        }
    };
    match name.split_once('[') {
        Some((name, length)) => {
            let length: u64 = length.trim_end_matches(']').parse().ok()?;
            Some((name.to_owned(), length.checked_mul(width)?))
        }
        None => Some((name.to_owned(), width)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .visible .global .align 4 .b8 table[400];\n.global .u32 counter = 7;\n\
        .visible .entry scale(.param .u64 x)\n{\n ret;\n}\n.entry other(){ret;}\n";

    #[test]
    fn ptx_tells_its_kernels_and_variables() {
        let image = Image::from_ptx(PTX).expect("it is PTX");
        assert_eq!(image.kernels(), Some(&["scale".to_owned(), "other".to_owned()][..]));
        assert!(!image.has_kernel("scal"));
        assert_eq!(image.variable_size("table"), Some(400));
        assert_eq!(image.variable_size("counter"), Some(4));
        assert_eq!(image.variable_size("missing"), None);
    }

    #[test]
    fn other_text_is_no_image() {
        assert!(Image::from_ptx("int main() { return 0; }").is_none());
        for broken in [".global .b8 x[", ".global . x", ".global .é x", ".const .align"] {
            assert!(Image::from_ptx(&format!(".version 8.0\n{broken}")).is_some(), "{broken}");
        }
    }
}
