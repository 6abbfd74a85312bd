//! Plans the packing problems in the files that are named: `id,lower,upper,size` per line.
//! Without a name, those beside the checkout.
#![allow(clippy::unwrap_used)]
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use whyoom_allocators::planner::{Item, check, max_load, pack};
fn main() {
    let steps: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    for file in std::env::args().skip(2) {
        let text = std::fs::read_to_string(&file).unwrap();
        let items: Vec<Item> = text
            .lines()
            .skip(1)
            .map(|l| {
                let v: Vec<u64> = l.split(',').map(|x| x.trim().parse().unwrap()).collect();
                Item::new(v[1], v[2], v[3])
            })
            .collect();
        let t = Instant::now();
        let p = pack(&items, steps);
        let e = t.elapsed();
        check(&items, &p).unwrap();
        let l = max_load(&items);
        println!(
            "{:<20} {:>8} {:>12} {:>12} {:.5} {:.2} {}",
            Path::new(&file).file_name().unwrap().display(),
            items.len(),
            l,
            p.height,
            p.height as f64 / l as f64,
            e.as_secs_f64(),
            p.height <= 1048576
        );
    }
    let _ = PathBuf::new();
}
