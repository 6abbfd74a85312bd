//! Names of functions as people say them.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// A name longer than this is not taken apart.
const LONGEST: usize = 64 << 10;
/// Nor one that is nested deeper.
const DEEPEST: u32 = 192;
/// What a name may demangle to before its mangled name is kept instead: a part of a name can stand for all
/// before it, so that each doubles what there is.
const LONGEST_DEMANGLED: usize = 64 << 10;
/// How many parts it may have on the way: some write nothing.
const MOST_PARTS: usize = 256 << 10;
/// What is kept of any name.
const LONGEST_KEPT: usize = 1024;
const ANONYMOUS: &str = "(anonymous namespace)";

/// The name of a function, demangled and without what only the compiler needs: arguments of
/// templates and functions, return types, and the namespaces before a class. So
/// `torch::autograd::generated::MmBackward0::apply(std::vector<…>&&)` is `MmBackward0::apply`, and
/// `at::_ops::mm::call` stays what it is.
#[must_use]
pub fn short(name: &str) -> String {
    if name.len() > LONGEST {
        return name.chars().take(80).collect();
    }
    let mut name = short_of(name);
    name.truncate(name.floor_char_boundary(LONGEST_KEPT));
    name
}

fn short_of(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut out = Bounded::default();
        return match write!(out, "{rust:#}") {
            Ok(()) => out.text,
            Err(_) => name.to_owned(),
        };
    }
    // What compilers append to copies of a function: `.isra.0`, `.part.3`, `.cold`.
    let mangled = name.split('.').next().filter(|name| name.starts_with("_Z")).unwrap_or(name);
    let demangled = demangle(mangled).unwrap_or_else(|| name.to_owned());
    from_first_class(&plain(&demangled))
}

fn demangle(name: &str) -> Option<String> {
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(DEEPEST);
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut out = Bounded::default();
    let symbol = Symbol::new_with_options(name, &parse).ok()?;
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(out.text)
}

/// A name as it becomes longer; an error where it has become too long.
#[derive(Default)]
struct Bounded {
    text: String,
    parts: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.parts += 1;
        if self.parts > MOST_PARTS || self.text.len() + text.len() > LONGEST_DEMANGLED {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// The name without arguments, return type and qualifiers.
fn plain(name: &str) -> String {
    let name = without_qualifiers(name);
    let mut out = String::new();
    let mut rest = name.as_str();
    while let Some(next) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(ANONYMOUS) {
            rest = behind.strip_prefix("::").unwrap_or(behind);
        } else if let Some(operator) = operator_at(&out, rest) {
            out.push_str(operator);
            rest = &rest[operator.len()..];
            // `operator<< <char>`: this space ends no return type.
            rest = rest.strip_prefix(' ').filter(|behind| behind.starts_with('<')).unwrap_or(rest);
        } else if matches!(next, '<' | '(' | '[') {
            rest = &rest[group(rest)..];
        } else {
            // A space outside of all brackets ends a return type.
            match next {
                ' ' => out.clear(),
                _ => out.push(next),
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    let lambda = out.strip_suffix("::operator()").filter(|name| name.ends_with('}'));
    lambda.map(str::to_owned).unwrap_or(out)
}

/// Drops what follows a list of arguments: `const`, `&&`, `[clone .cold]`.
fn without_qualifiers(name: &str) -> String {
    let name = name.replace(" const::", "::").replace("[abi:cxx11]", "");
    let mut kept = name.split(" [clone").next().unwrap_or_default();
    while let Some(shorter) = [" const", " volatile", " &&", " &", " noexcept"]
        .iter()
        .find_map(|tail| kept.strip_suffix(tail))
    {
        kept = shorter;
    }
    kept.to_owned()
}

/// The operator that starts here, whose signs are no brackets: `operator()`, `operator<<`.
fn operator_at<'a>(before: &str, rest: &'a str) -> Option<&'a str> {
    const SIGNS: [&str; 16] = [
        "()",
        "[]",
        "<=>",
        "<<=",
        ">>=",
        "->*",
        "<<",
        ">>",
        "<=",
        ">=",
        "->",
        "<",
        ">",
        " new[]",
        " delete[]",
        " new",
    ];
    let behind = rest.strip_prefix("operator")?;
    if !before.is_empty() && !before.ends_with(':') {
        return None;
    }
    let sign = SIGNS.iter().find(|sign| behind.starts_with(**sign));
    let sign = sign.map_or_else(|| conversion(behind), |sign| sign.len());
    Some(&rest[..("operator".len() + sign)])
}

/// The length of ` bool` in `operator bool()`, and of ` delete`; 0 for signs without a space.
fn conversion(behind: &str) -> usize {
    if behind.starts_with(' ') { behind.find(['(', '<']).unwrap_or(behind.len()) } else { 0 }
}

/// How many bytes the bracketed group that starts here has, with its brackets.
fn group(text: &str) -> usize {
    let (mut depth, mut before) = (0usize, ' ');
    for (index, sign) in text.char_indices() {
        match sign {
            '<' | '(' | '[' => depth += 1,
            // `->` inside of a decltype is no bracket.
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + sign.len_utf8();
        }
        before = sign;
    }
    text.len()
}

/// From the first component with a capital letter on, if one has it: classes do, namespaces do not.
fn from_first_class(name: &str) -> String {
    let mut start = 0;
    for component in name.split("::") {
        if component.starts_with(|first: char| first.is_ascii_uppercase()) {
            return name[start..].to_owned();
        }
        start += component.len() + 2;
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mangled and demangled names out of libtorch 2.15.
    #[test]
    fn names_of_libtorch_read_well() {
        for (name, wanted) in [
            (
                "_ZN5torch8autograd9generated11MmBackward05applyEOSt6vectorIN2at6TensorESaIS5_EE",
                "MmBackward0::apply",
            ),
            (
                "torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor, \
                 std::allocator<at::Tensor> >&&)",
                "AddmmBackward0::apply",
            ),
            ("_ZN2at4_ops2mm4callERKNS_6TensorES4_", "at::_ops::mm::call"),
            (
                "_ZNR5torch7Library4implIPKcN3c1026CompileTimeFunctionPointerIFN2at6TensorENS4_14\
                 DispatchKeySetERKS7_EXadL_ZNS_9TraceType12_GLOBAL__N_14ceilES8_SA_EEEEEERS0_T_OT0_\
                 NS_17_RegisterOrVerifyE.constprop.0.isra.0",
                "Library::impl",
            ),
            (
                "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::\
                 GraphTask>&, torch::autograd::Node*, torch::autograd::InputBuffer&, \
                 std::shared_ptr<torch::autograd::ReadyQueue> const&)",
                "Engine::evaluate_function",
            ),
            (
                "at::native::cross_entropy_loss_symint(at::Tensor const&, at::Tensor const&, \
                 std::optional<at::Tensor> const&, long, c10::SymInt, double)",
                "at::native::cross_entropy_loss_symint",
            ),
        ] {
            assert_eq!(short(name), wanted, "{name}");
        }
    }

    #[test]
    fn brackets_of_all_kinds_go() {
        for (name, wanted) in [
            ("void at::native::(anonymous namespace)::f<int, (A)3>(int) const", "at::native::f"),
            (
                "std::vector<at::Tensor, std::allocator<at::Tensor> >::push_back(at::Tensor&&)",
                "std::vector::push_back",
            ),
            ("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"),
            ("c10::operator<(A const&, B const&)", "c10::operator<"),
            ("A::operator bool() const", "A::operator bool"),
            (
                "at::native::f(int)::{lambda(int)#1}::operator()(int) const",
                "at::native::f::{lambda#1}",
            ),
            (
                "at::f(long) const::{lambda()#2}::operator()() const::{lambda()#1}::operator()() const",
                "at::f::{lambda#2}::operator()::{lambda#1}",
            ),
            ("decltype(auto) c10::guarded<f(int)->int>(int)", "c10::guarded"),
            ("f[abi:cxx11](int) [clone .cold]", "f"),
            ("operator new(unsigned long)", "operator new"),
            ("main", "main"),
            ("", ""),
        ] {
            assert_eq!(short(name), wanted, "{name}");
        }
    }

    #[test]
    fn copies_of_a_function_have_its_name() {
        assert_eq!(short("_ZN2at6native3addEv.isra.0"), "at::native::add");
        assert_eq!(short("helper.cold"), "helper.cold");
    }

    #[test]
    fn rust_names_lose_their_hash() {
        assert_eq!(short("_ZN5alloc3vec4push17h0123456789abcdefE"), "alloc::vec::push");
    }

    /// Each argument is eight times the one before.
    fn growing(times: u32) -> String {
        let digit = |number| char::from_digit(number, 36).unwrap().to_ascii_uppercase();
        let mut name = "_Z1fI1aIiiE".to_owned();
        for before in (1..=times).map(digit) {
            name.push_str(&format!("S0_I{}E", format!("S{before}_").repeat(8)));
        }
        name + "Evv"
    }

    #[test]
    fn a_name_that_grows_is_not_written_out() {
        assert_eq!(short(&growing(3)), "f");
        let name = growing(11);
        assert!(name.len() <= 356 && demangle(&name).is_none(), "a name of a terabyte");
        assert_eq!(demangle(&growing(2)).map(|name| name.len()), Some(991), "it grows");
        assert_eq!(short(&name), name);
        // Rust's: a type that is a pair of the one before.
        let rust = "_RINvC1a1f".to_owned() + &"T".repeat(200) + &"B2_E".repeat(200);
        let _ = short(&rust);
    }

    #[test]
    fn nonsense_is_left_alone() {
        for name in ["_Z", "_ZZZZ", "((((", "a>b", "operator", "<>", "::", "](", "_ZN\u{e9}"] {
            let _ = short(name);
        }
        assert_eq!(short(&"x".repeat(LONGEST + 1)).len(), 80);
    }
}
