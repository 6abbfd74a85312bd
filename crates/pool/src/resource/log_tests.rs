use super::super::fake::Fake;
use super::*;

fn columns(line: &str) -> [&str; 6] {
    let columns: Vec<_> = line.split(',').collect();
    columns.try_into().expect(line)
}

fn text<R>(log: Log<R, Vec<u8>>) -> String {
    String::from_utf8(log.into_inner().1).unwrap()
}

#[test]
fn lines_are_those_of_rmm() {
    let log = Log::new(Fake::new(100), Vec::new());
    let address = log.allocate(60, Stream(0)).unwrap();
    log.allocate(60, Stream(0x7f00)).unwrap_err();
    log.deallocate(address, 60, Stream(0x7f00)).unwrap();
    assert_eq!(log.lost(), 0);
    let text = text(log);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER));
    let lines: Vec<_> = lines.map(columns).collect();
    let without_time: Vec<_> = lines.iter().map(|line| &line[2..]).collect();
    assert_eq!(
        without_time,
        [
            ["allocate", "0x200", "60", "0"],
            ["allocate failure", "(nil)", "60", "0x7f00"],
            ["free", "0x200", "60", "0x7f00"],
        ]
    );
    for [thread, time, ..] in lines {
        assert_eq!(thread.parse::<i32>().unwrap(), thread_number());
        assert!(is_time_of_day(time), "{time}");
    }
}

/// HH:MM:SS.µµµµµµ
fn is_time_of_day(text: &str) -> bool {
    text.len() == 15
        && text.bytes().enumerate().all(|(at, byte)| match at {
            2 | 5 => byte == b':',
            8 => byte == b'.',
            _ => byte.is_ascii_digit(),
        })
}

/// Read from the top, no address is given out twice, and threads do not mix their lines.
#[test]
fn threads_write_whole_lines_in_order() {
    let log = Log::new(Fake::new(u64::MAX), Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let address = log.allocate(8, Stream(1)).unwrap();
                    log.deallocate(address, 8, Stream(1)).unwrap();
                }
            });
        }
    });
    let text = text(log);
    let mut live = std::collections::HashSet::new();
    for line in text.lines().skip(1) {
        let [_, _, action, address, size, stream] = columns(line);
        assert_eq!((size, stream), ("8", "0x1"));
        assert!(
            if action == "free" { live.remove(address) } else { live.insert(address) },
            "{line}"
        );
    }
    assert!(live.is_empty());
    assert_eq!(text.lines().count(), 1 + 4 * 500 * 2);
}

#[test]
fn a_writer_that_fails_refuses_no_memory() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = Log::new(Fake::new(100), Full);
    assert!(log.allocate(60, Stream(0)).is_ok());
    assert_eq!(log.lost(), 2);
}
