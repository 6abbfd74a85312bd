//! The offline planner on packing problems: `cargo run --release --example plan [FILE…]`, where a
//! file has the columns `id,lower,upper,size`. Without one, those beside the checkout.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use whyoom_allocators::planner::{Item, QUICK, check, max_load, pack};

fn main() -> Result<(), Box<dyn Error>> {
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let files = if named.is_empty() { beside_the_checkout()? } else { named };
    for file in files {
        let items = read(&file)?;
        let packing = pack(&items, QUICK);
        check(&items, &packing)?;
        let load = max_load(&items);
        let ratio = packing.height as f64 / load.max(1) as f64;
        println!(
            "{}: {} items, load {load}, height {}, ratio {ratio:.4}",
            file.display(),
            items.len(),
            packing.height
        );
    }
    Ok(())
}

fn beside_the_checkout() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/packing");
    if !folder.is_dir() {
        println!("SKIPPED: ../shared/data is not there, and no file was named");
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> =
        folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<Item>, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let item = |line: &str| -> Result<Item, Box<dyn Error>> {
        let mut fields = line.split(',').skip(1).map(|field| field.trim().parse::<u64>());
        let mut next = || fields.next().ok_or("a column is missing");
        Ok(Item::new(next()??, next()??, next()??))
    };
    text.lines().skip(1).map(item).collect()
}
