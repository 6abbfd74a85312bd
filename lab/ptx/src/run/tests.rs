//! Kernels in text, run on a small memory.

use std::fmt::Write;

use proptest::prelude::*;

use super::{FLOAT_WORK_LIMIT, Launch, Memory, WORK_LIMIT, Wild};
use crate::{Fault, Kernel, Module};

/// Memory from this address on.
const START: u64 = 0x7000_0000;

struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Wild> {
        let start = address.checked_sub(START).ok_or(Wild)? as usize;
        let end = start.checked_add(bytes.len()).ok_or(Wild)?;
        bytes.copy_from_slice(self.0.get(start..end).ok_or(Wild)?);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Wild> {
        let start = address.checked_sub(START).ok_or(Wild)? as usize;
        let end = start.checked_add(bytes.len()).ok_or(Wild)?;
        self.0.get_mut(start..end).ok_or(Wild)?.copy_from_slice(bytes);
        Ok(())
    }
}

/// A kernel whose parameter is where memory begins; `%r1` is the thread, and `%rd2` the thread's word.
fn kernel(body: &str) -> Kernel {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 smem[];\n\
         .visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n\
         .reg .f32 %f<9>;\n.reg .b64 %rd<20>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
         mad.wide.u32 %rd2, %r1, 4, %rd1;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).expect("a module");
    module.kernel("k").expect("it is there").expect("it is known").clone()
}

fn launch(threads: u32) -> Launch {
    let parameters = START.to_le_bytes().to_vec();
    Launch { grid: [1; 3], block: [threads, 1, 1], shared: 4096, parameters }
}

/// The words that a block leaves.
fn words(threads: u32, body: &str) -> Result<Vec<u32>, Fault> {
    let mut memory = Bytes(vec![0; 4 * threads as usize]);
    kernel(body).run(&launch(threads), &mut memory)?;
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four"));
    Ok(memory.0.chunks(4).map(word).collect())
}

#[test]
fn threads_write_side_by_side() {
    let found = words(70, "st.global.u32 [%rd2], %r1;").expect("run");
    assert_eq!(found, (0..70).collect::<Vec<_>>());
}

#[test]
fn guards_and_divergent_branches() {
    let body = "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nmov.u32 %r3, 7;\n@%p1 bra EVEN;\n\
        @!%p1 mov.u32 %r3, 9;\nbra DONE;\nEVEN: add.s32 %r3, %r3, 1;\nDONE: st.global.u32 [%rd2], %r3;";
    assert_eq!(words(4, body).expect("run"), [8, 9, 8, 9]);
}

#[test]
fn a_loop_of_each_threads_own_length() {
    let body = "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL: setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra E;\n\
        add.s32 %r2, %r2, %r3;\nadd.s32 %r3, %r3, 1;\nbra.uni L;\nE: st.global.u32 [%rd2], %r2;";
    assert_eq!(words(5, body).expect("run"), [0, 0, 1, 3, 6]);
}

#[test]
fn a_barrier_lets_other_warps_write_first() {
    let body = "shl.b32 %r2, %r1, 2;\nmov.u32 %r9, smem;\nadd.s32 %r2, %r2, %r9;\nst.shared.u32 [%r2], %r1;\n\
        bar.sync 0;\nsub.s32 %r3, 95, %r1;\nshl.b32 %r3, %r3, 2;\nadd.s32 %r3, %r3, %r9;\n\
        ld.shared.u32 %r4, [%r3];\nst.global.u32 [%rd2], %r4;";
    assert_eq!(words(96, body).expect("run"), (0..96).rev().collect::<Vec<_>>());
}

#[test]
fn a_cache_policy_is_no_size_of_a_copy() {
    let copy = |hint: &str, last: &str| {
        let body = format!(
            "st.global.u32 [%rd1], 7;\nmov.u64 %rd3, 0;\nmov.u32 %r2, 0;\nmov.u32 %r9, smem;\n\
             cp.async.ca.shared.global{hint} [%r9], [%rd1], 4{last};\nld.shared.u32 %r3, [%r9];\n\
             st.global.u32 [%rd1], %r3;"
        );
        words(1, &body).expect("run")
    };
    assert_eq!((copy("", ""), copy("", ", %r2")), (vec![7], vec![0]));
    assert_eq!(copy(".L2::cache_hint", ", %rd3"), [7]);
    assert_eq!(copy(".L2::cache_hint", ", %r2, %rd3"), [0]);
}

#[test]
fn lanes_exchange_values() {
    let body = |what: &str| format!("{what}\nst.global.u32 [%rd2], %r2;");
    let butterfly = words(32, &body("shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;")).expect("run");
    assert_eq!(butterfly, (0..32).map(|lane| lane ^ 16).collect::<Vec<_>>());
    let up = words(32, &body("shfl.sync.up.b32 %r2|%p1, %r1, 1, 0, -1;\n@!%p1 mov.u32 %r2, 99;"))
        .expect("run");
    assert_eq!((up[0], up[1], up[31]), (99, 0, 30));
    let down = words(32, &body("shfl.sync.down.b32 %r2, %r1, 4, 31, -1;")).expect("run");
    assert_eq!((down[0], down[27], down[28]), (4, 31, 28));
    let index = words(32, &body("shfl.sync.idx.b32 %r2, %r1, 5, 31, -1;")).expect("run");
    assert_eq!(index, [5; 32]);
    let sum = words(32, &body("redux.sync.add.s32 %r2, %r1, -1;")).expect("run");
    assert_eq!(sum, [496; 32]);
    let ballot = body("setp.lt.u32 %p1, %r1, 4;\nvote.sync.ballot.b32 %r2, %p1, -1;");
    assert_eq!(words(32, &ballot).expect("run"), [15; 32]);
}

#[test]
fn atomics_add_up() {
    let body = "atom.global.gpu.acq_rel.add.u32 %r2, [%rd1], 1;\nbar.sync 0;\n\
        setp.eq.u32 %p1, %r1, 1;\n@%p1 st.global.u32 [%rd2], %r2;";
    assert_eq!(words(40, body).expect("run")[..2], [40, 1]);
    let swapped = words(4, "atom.global.cas.b32 %r2, [%rd1], 0, 5;").expect("run");
    assert_eq!(swapped[0], 5);
}

#[test]
fn matrices_come_back_as_they_were_stored() {
    // Each lane stores two halves of each of four matrices and reads them back transposed twice.
    let body = "shl.b32 %r2, %r1, 4;\nmov.u32 %r9, smem;\nadd.s32 %r2, %r2, %r9;\nmul.lo.s32 %r3, %r1, 65537;\n\
        stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%r3, %r3, %r3, %r1};\nbar.sync 0;\n\
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];\nst.global.u32 [%rd2], %r7;";
    assert_eq!(words(32, body).expect("run"), (0..32).collect::<Vec<_>>());
}

#[test]
fn vectors_signs_and_halves() {
    let body = "mov.u32 %r2, -2;\nmov.b64 %rd3, {%r2, %r1};\nst.global.v2.b32 [%rd1+8], {%r2, %r1};\n\
        ld.global.s8 %r3, [%rd1+8];\ncvt.rn.f32.s32 %f1, %r3;\nmul.f32 %f1, %f1, 0f3F000000;\n\
        cvt.rzi.s32.f32 %r4, %f1;\nst.global.u32 [%rd1], %r4;\nmov.b64 {%r5, %r6}, %rd3;\nst.global.b32 [%rd1+4], %r5;";
    assert_eq!(words(1, &format!("{body}\n")).err(), Some(Fault::IllegalAddress(START + 8)));
    let mut memory = Bytes(vec![0; 16]);
    kernel(body).run(&launch(1), &mut memory).expect("run");
    assert_eq!(memory.0[..8], [[0xff; 4], [0xfe, 0xff, 0xff, 0xff]].concat());
}

#[test]
fn wild_accesses_deadlocks_and_endless_loops_end() {
    assert_eq!(words(1, "st.global.u32 [%rd1+4], %r1;"), Err(Fault::IllegalAddress(START + 4)));
    assert_eq!(words(1, "ld.global.u32 %r2, [%rd9];"), Err(Fault::IllegalAddress(0)));
    assert_eq!(
        words(1, "mov.u32 %r2, 8192;\nst.shared.u32 [%r2], %r1;"),
        Err(Fault::IllegalAddress(8192))
    );
    let diverged = "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nret;\nE: bar.sync 0;";
    assert_eq!(words(2, diverged), Err(Fault::Deadlock));
    assert_eq!(words(1, "L: bra L;"), Err(Fault::Endless));
}

#[test]
fn large_launches_do_not_run() {
    let plain = kernel("st.global.u32 [%rd9], %r1;");
    let floats = kernel("add.f32 %f1, %f1, %f1;\nst.global.u32 [%rd9], %r1;");
    let of = |kernel: &Kernel, limit: u64| {
        let blocks = limit / (kernel.code.len() as u64 * 32);
        Launch { grid: [blocks as u32, 1, 1], ..launch(32) }
    };
    for (kernel, limit) in [(plain, WORK_LIMIT), (floats, FLOAT_WORK_LIMIT)] {
        let fits = of(&kernel, limit);
        let larger = Launch { grid: [fits.grid[0] + 1, 1, 1], ..fits.clone() };
        assert!(kernel.is_small(&fits) && !kernel.is_small(&larger));
        // It would be an illegal address if it ran.
        assert_eq!(kernel.run(&larger, &mut Bytes(Vec::new())), Err(Fault::TooLarge));
    }
    let huge = Launch { grid: [0; 3], block: [u32::MAX; 3], ..launch(1) };
    assert_eq!(kernel("").run(&huge, &mut Bytes(Vec::new())), Err(Fault::TooLarge));
}

#[test]
fn parameters_must_be_there() {
    let short = Launch { parameters: vec![0; 7], ..launch(1) };
    assert_eq!(kernel("").run(&short, &mut Bytes(Vec::new())), Err(Fault::Parameters));
    assert_eq!(kernel("").packed([&[0_u8; 4][..]]), None);
}

proptest! {
    /// Expressions of whole numbers are what plain Rust makes of them.
    #[test]
    fn expressions_equal_plain_rust(steps in prop::collection::vec((0..9_u8, 0..4_usize, 0..4_usize), 1..24),
                                    values in prop::array::uniform4(any::<i32>())) {
        let (mut text, mut expected) = (String::new(), values);
        for (index, value) in values.iter().enumerate() {
            let _ = writeln!(text, "mov.b32 %r{}, {value};", 10 + index);
        }
        for (what, from, other) in steps {
            let (a, b) = (expected[from], expected[other]);
            let (name, result) = match what {
                0 => ("add.s32", a.wrapping_add(b)),
                1 => ("sub.s32", a.wrapping_sub(b)),
                2 => ("mul.lo.s32", a.wrapping_mul(b)),
                3 => ("mul.hi.s32", ((i64::from(a) * i64::from(b)) >> 32) as i32),
                4 => ("min.s32", a.min(b)),
                5 => ("max.u32", a.cast_unsigned().max(b.cast_unsigned()).cast_signed()),
                6 => ("xor.b32", a ^ b),
                7 => ("shr.s32", a.checked_shr(b.cast_unsigned()).unwrap_or(a >> 31)),
                _ => ("div.s32", if b == 0 { -1 } else { a.wrapping_div(b) }),
            };
            let _ = writeln!(text, "{name} %r{}, %r{}, %r{};", 10 + from, 10 + from, 10 + other);
            expected[from] = result;
        }
        for index in 0..4 {
            let _ = writeln!(text, "st.global.b32 [%rd1+{}], %r{};", 4 * index, 10 + index);
        }
        let mut memory = Bytes(vec![0; 16]);
        kernel(&text).run(&launch(1), &mut memory).expect("run");
        let found: Vec<i32> =
            memory.0.chunks(4).map(|word| i32::from_le_bytes(word.try_into().expect("four"))).collect();
        prop_assert_eq!(found, expected.to_vec());
    }

    /// So are expressions of floating-point numbers, bit by bit.
    #[test]
    fn floats_equal_plain_rust(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
        let text = format!(
            "mov.b32 %f1, 0f{:08X};\nmov.b32 %f2, 0f{:08X};\nmov.b32 %f3, 0f{:08X};\n\
             fma.rn.f32 %f4, %f1, %f2, %f3;\ndiv.rn.f32 %f5, %f1, %f2;\nsub.f32 %f6, %f5, %f3;\n\
             st.global.f32 [%rd1], %f4;\nst.global.v2.f32 [%rd1+4], {{%f5, %f6}};",
            a.to_bits(), b.to_bits(), c.to_bits());
        let mut memory = Bytes(vec![0; 12]);
        kernel(&text).run(&launch(1), &mut memory).expect("run");
        let expected = [a.mul_add(b, c), a / b, a / b - c];
        for (word, expected) in memory.0.chunks(4).zip(expected) {
            let found = f32::from_le_bytes(word.try_into().expect("four"));
            prop_assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan());
        }
    }
}
