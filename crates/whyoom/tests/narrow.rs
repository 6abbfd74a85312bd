//! Tables on narrow terminals: no line of them is wider than the terminal.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::Command;

fn lines(words: &[&str], columns: usize) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    let output = command.args(words).env("COLUMNS", columns.to_string()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

const SWEEP: [&str; 3] =
    ["replay", "--sweep", "../../tests/fixtures/snapshots/fragmented-oom.pickle"];

#[test]
fn no_line_is_wider_than_the_terminal() {
    let commands: [&[&str]; 5] =
        [&SWEEP, &["lab", "list"], &["causes"], &["causes", "reserved"], &["schema"]];
    for columns in [40, 50, 80] {
        for words in commands {
            for line in lines(words, columns) {
                // A line to paste, and a path, stay whole.
                let whole = line.starts_with("  export ") || line.starts_with("../../");
                assert!(whole || line.chars().count() <= columns, "{words:?} {columns}: {line}");
            }
        }
    }
}

#[test]
fn the_columns_of_a_sweep_line_up() {
    let table = lines(&SWEEP, 80);
    let from = table.iter().position(|line| line.starts_with("allocator")).unwrap();
    let heading = "allocator                      peak reserved  allocated  driver time  fits";
    assert_eq!(table[from], heading);
    let long: Vec<&String> =
        table.iter().skip_while(|line| !line.starts_with("expandable_segments")).take(2).collect();
    assert_eq!(
        long,
        [
            "expandable_segments:True,         820.00 MiB     85.9 %       9.5 ms  yes",
            "roundup_power2_divisions:8",
        ]
    );
}

#[test]
fn a_gpu_has_a_name_to_type_on_every_terminal() {
    assert!(lines(&["lab", "list"], 80).iter().any(|line| line.starts_with("4090, rtx-4090  ")));
    let narrow = lines(&["lab", "list"], 40);
    assert!(narrow.contains(&"4090           23.52 GiB      8.9".to_owned()), "{narrow:?}");
}
