//! Modules that are followed, refused or no modules.

use proptest::prelude::*;

use crate::{Module, Refused};

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80, debug\n.address_size 64\n.global .b8 table[4] = {{1, 2, 3, 4}};\n\
         .visible .entry first(.param .u32 a, .param .align 8 .b8 b[24], .param .u64 .ptr .global .align 1 c)\n\
         .reqntid 128\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{body}\nret;\n}}\n.entry second() {{ ret; }}\n"
    );
    Module::parse(&text).expect("a module")
}

fn refused(body: &str) -> String {
    let module = module(body);
    let Some(Err(Refused(what))) = module.kernel("first") else { return String::new() };
    // The others of a module can be run all the same.
    assert!(module.kernel("second").expect("it is there").is_ok());
    what.clone()
}

#[test]
fn parameters_are_aligned() {
    let module = module("");
    assert_eq!(module.names().collect::<Vec<_>>(), ["first", "second"]);
    let kernel = module.kernel("first").expect("it is there").expect("it is known");
    assert_eq!(kernel.parameters, [(0, 4), (8, 24), (32, 8)]);
    let values = [&[1_u8; 4][..], &[2; 24], &[3; 8]];
    let packed = kernel.packed(values).expect("they match");
    assert_eq!((packed.len(), packed[3], packed[4], packed[8], packed[32]), (40, 1, 0, 2, 3));
}

#[test]
fn what_is_unknown_is_named() {
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    let fragments = "{%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4}";
    assert_eq!(refused(&format!("{mma} {fragments};")), mma);
    assert_eq!(refused("frobnicate.b32 %r1, %r2;"), "frobnicate.b32");
    assert_eq!(refused("add.sat.s32 %r1, %r2, %r3;"), "add.sat.s32");
    assert_eq!(refused("add.s32 %r1, %r2;"), "add.s32");
    assert_eq!(refused("call.uni vprintf, (%r1);"), "call.uni");
    assert_eq!(refused("bra NOWHERE;"), "NOWHERE");
    assert_eq!(refused("mov.u64 %rd1, table;"), "mov.u64");
    assert_eq!(refused("activemask.b32 %r1;"), "activemask.b32");
    assert_eq!(refused(".reg .b128 %q<2>;"), ".reg .b128");
}

#[test]
fn inner_blocks_have_registers_of_their_own() {
    assert_eq!(
        refused("{ .reg .b32 t; mov.u32 t, 1; { .reg .b32 t; mov.u32 t, 2; } mov.u32 %r1, t; }"),
        ""
    );
    assert_ne!(refused("{ .reg .b32 t; }\nmov.u32 t, 1;"), "");
}

#[test]
fn a_label_in_two_blocks_is_refused() {
    assert_eq!(refused("{ bra L; L: } mov.u32 %r1, 1;"), "");
    assert_eq!(refused("{ bra L; L: } { bra L; L: } mov.u32 %r1, 1;"), "the label L twice");
}

#[test]
fn an_array_after_one_of_unknown_length_is_refused() {
    let kernel = |before: &str, inside: &str| {
        let text = format!(".version 8.0\n{before}\n.entry k() {{ {inside} ret; }}");
        let module = Module::parse(&text).expect("a module");
        let known = module.kernel("k").expect("it is there");
        known.map(|kernel| kernel.shared).map_err(|Refused(what)| what.clone())
    };
    let open = ".extern .shared .align 16 .b8 smem[];";
    assert_eq!(kernel(open, ""), Ok(0));
    assert_eq!(kernel(".shared .b8 own[64];", ".shared .b32 more[4];"), Ok(80));
    assert_eq!(
        kernel(open, ".shared .b8 own[64];"),
        Err(".shared after .extern .shared".to_owned())
    );
    // Beside the module's own arrays, only what uses the later one is refused.
    let both = format!("{open}\n.shared .b8 own[64];");
    let using = |name: &str| format!(".reg .b32 %r1; mov.u32 %r1, {name};");
    assert_eq!(kernel(&both, &using("smem")), Ok(0));
    assert_eq!(kernel(&both, &using("own")), Err("mov.u32".to_owned()));
    assert_eq!(kernel(&format!(".shared .b8 own[64];\n{open}"), &using("smem")), Ok(64));
}

#[test]
fn the_last_operands_of_a_copy_are_told_apart() {
    let copy = |hint: &str, last: &str| {
        let name = format!("cp.async.ca.shared.global{hint}");
        let what = refused(&format!(".reg .pred %p1;\n{name} [%r1], [%rd1], 16{last};"));
        assert!(what.is_empty() || what == name, "{what}");
        what.is_empty()
    };
    assert!(copy("", "") && copy("", ", 8") && copy("", ", %r2"));
    assert!(copy(".L2::128B", ", %r2"));
    assert!(copy(".L2::cache_hint", ", %rd2") && copy(".L2::cache_hint", ", %r2, %rd2"));
    // Instead of a size, a predicate that the source is ignored; and what is neither.
    assert!(!copy("", ", %p1") && !copy("", ", !%p1"));
    assert!(!copy(".L2::cache_hint", ", %p1, %rd2") && !copy(".L2::cache_hint", ""));
    assert!(!copy("", ", %r2, %rd2"));
}

#[test]
fn other_text_is_no_module() {
    assert!(Module::parse("int main() { return 0; }").is_err());
    assert!(Module::parse(".version 8.0\n.entry k() {").is_err());
    assert!(Module::parse(".version 8.0\n.entry").is_err());
    let deep = format!(".version 8.0\n.entry k() {{{}{}}}", "{".repeat(9999), "}".repeat(9999));
    assert!(Module::parse(&deep).expect("a module").kernel("k").expect("it is there").is_err());
}

proptest! {
    /// Whatever the text, the parser comes back.
    #[test]
    fn any_text_is_survived(text in "(\\.version|\\.entry|k|\\{|\\}|\\[|\\]|;|,|\\.reg|\\.b32|%r|<9>|mov\\.b32|ld\\.global\\.v2\\.f32|[ -~\\n]){0,60}") {
        let _ = Module::parse(&format!(".version 8.0\n{text}"));
    }
}
