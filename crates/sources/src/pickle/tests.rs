use super::*;

/// The error that a pickle is refused with.
fn refusal(bytes: &[u8]) -> String {
    match parse(bytes) {
        Ok(_) => panic!("{bytes:?} was accepted"),
        Err(error) => error.to_string(),
    }
}

/// A value spelled out, for comparison.
fn spelled(value: Value<'_>, document: &Document) -> String {
    let join = |node: Node<'_>| {
        node.items().map(|item| spelled(item, document)).collect::<Vec<_>>().join(" ")
    };
    match value {
        Value::Text(id) => String::from_utf8_lossy(document.text(id)).into_owned(),
        Value::Sequence(node) => format!("[{}]", join(node)),
        Value::Dict(node) => format!("{{{}}}", join(node)),
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn read(bytes: &[u8]) -> String {
    let document = parse(bytes).unwrap();
    spelled(document.root(), &document)
}

#[test]
fn plain_data_is_read() {
    // pickle.dumps({'a': [1, 300, -5, 2**40, None, True], 'b': (1, 2)}, 4)
    let bytes =
        b"\x80\x04\x95\x2b\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94]\x94(K\x01M\x2c\x01J\xfb\xff\xff\
        \xff\x8a\x06\0\0\0\0\0\x01N\x88e\x8c\x01b\x94K\x01K\x02\x86\x94u.";
    assert_eq!(read(bytes), "{a [1 300 -5 1099511627776 None Bool(true)] b [1 2]}");
}

#[test]
fn integers_keep_all_their_bits() {
    assert_eq!(read(b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), i64::MAX.to_string());
    assert_eq!(read(b"\x8a\x08\0\0\0\0\0\0\0\x80."), i64::MIN.to_string());
    assert_eq!(read(b"\x8a\x01\xff."), "-1");
    assert_eq!(read(b"\x8a\0."), "0");
    assert_eq!(read(b"\x8a\x09\0\0\0\0\0\0\0\x80\0."), "Opaque");
}

#[test]
fn a_list_filled_in_several_steps_keeps_its_order() {
    // Two lists that grow by turns, so that neither lies in one piece.
    assert_eq!(
        read(b"]\x94]\x94h\0K\x01ah\x01K\x02ah\0K\x03ah\x01K\x04a\x87."),
        "[[2 4] [1 3] [2 4]]"
    );
}

#[test]
fn every_opcode_that_could_act_is_refused() {
    let acting: &[(&[u8], &str)] = &[
        (b"cos\nsystem\n.", "GLOBAL"),
        (b"\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL"),
        (b"NNR.", "REDUCE"),
        (b"NNb.", "BUILD"),
        (b"(ios\nsystem\n.", "INST"),
        (b"(o.", "OBJ"),
        (b"NN\x81.", "NEWOBJ"),
        (b"NNN\x92.", "NEWOBJ_EX"),
        (b"Px\n.", "PERSID"),
        (b"NQ.", "BINPERSID"),
        (b"\x82\x01.", "EXT1"),
        (b"\x83\x01\0.", "EXT2"),
        (b"\x84\x01\0\0\0.", "EXT4"),
        (b"\x97.", "NEXT_BUFFER"),
        (b"N\x98.", "READONLY_BUFFER"),
    ];
    for (bytes, name) in acting {
        let message = refusal(bytes);
        assert!(message.contains(name) && message.contains("would run code"), "{name}: {message}");
    }
}

#[test]
fn a_pickle_of_something_else_is_told_by_what_it_asks_for() {
    let checkpoint = refusal(b"ccollections\nOrderedDict\n.");
    assert!(checkpoint.contains("collections.OrderedDict"), "{checkpoint}");
    assert!(checkpoint.contains("checkpoint") && !checkpoint.contains("do not unpickle"));
    let array = refusal(b"\x8c\x16numpy._core.multiarray\x8c\x0c_reconstruct\x93.");
    assert!(array.contains("numpy._core.multiarray._reconstruct"), "{array}");
    let hostile = refusal(b"cos\nsystem\n.");
    assert!(hostile.contains("os.system") && hostile.contains("do not unpickle"), "{hostile}");
    // Names are shown only where they can be.
    assert!(!refusal(b"c\x1b[31m\nx\n.").contains('\x1b'));
    assert!(refusal(b"cnever ends").contains("GLOBAL"));
    assert!(refusal(b"\x93.").contains("STACK_GLOBAL"));
}

#[test]
fn claimed_lengths_are_not_believed() {
    let claims: &[&[u8]] = &[
        b"X\0\xca\x9a\x3bx.",                      // a string of 10^9 bytes
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.", // of 2^64 - 1
        b"B\0\xca\x9a\x3bx.",                      // bytes
        b"\x8b\0\xca\x9a\x3bx.",                   // an integer
        b"Nr\xff\xff\xff\xff.",                    // a memo index
        b"j\xff\xff\xff\xff.",
    ];
    for bytes in claims {
        let message = refusal(bytes);
        assert!(message.contains("byte "), "{message}");
    }
    // Within the limit of one string, but longer than the file.
    assert!(refusal(b"X\0\0\x08\0x.").contains("cut short"));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let broken: &[&[u8]] = &[
        b".",
        b"e.",
        b"(e.",
        b"(Nd.",
        b"]K\x01s.",
        b"}K\x01a.",
        b"}(K\x01u.",
        b"N(\x85.",
        b"N(0.",
        b"h\0.",
        b"]N(a.",
        b"\x86.",
        b"]]K\x01(a.",
    ];
    for bytes in broken {
        let message = refusal(bytes);
        assert!(message.contains("not a well-formed pickle"), "{bytes:?}: {message}");
    }
}

#[test]
fn a_bomb_takes_no_more_than_its_share_of_memory() {
    // One byte a list: far more memory than a snapshot of that length could need.
    let mut bytes = vec![b']'; 32 << 20];
    bytes.push(b'.');
    assert!(refusal(&bytes).contains("the memory for its content exceeds"));
}

#[test]
fn deep_nesting_needs_no_stack() {
    let mut bytes = b"]".repeat(1_000_000);
    bytes.extend(b"a".repeat(999_999));
    bytes.push(b'.');
    assert!(matches!(parse(&bytes[..]).unwrap().root(), Value::Sequence(_)));
}

#[test]
fn entries_of_the_memo_in_a_row_are_read_and_refused_as_one_is() {
    // A list of numbers and of entries of the memo, with room behind it, so that all of it lies ahead.
    let bytes = b"](K\x01\x94M\x2c\x01J\xfb\xff\xff\xffh\0j\0\0\0\0eK\x07K\x07K\x07K\x07000\x30.";
    assert_eq!(read(bytes), "[1 300 -5 1 1]");
    let padding = b"K\x07K\x07K\x07K\x07.";
    let wrong: [(&[u8], &str); 3] = [
        (
            b"K\x01\x94h\x05",
            "byte 5: this is not a well-formed pickle (the memo has no such entry)",
        ),
        (
            b"K\x01\x94j\x05\0\0\0",
            "byte 8: this is not a well-formed pickle (the memo has no such entry)",
        ),
        (b"\x94", "byte 1: this is not a well-formed pickle (the stack is empty)"),
    ];
    for (bytes, expected) in wrong {
        assert_eq!(refusal(&[bytes, padding].concat()), expected);
    }
}
