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
