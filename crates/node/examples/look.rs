//! Looks at this machine and prints what was found as JSON, and how long looking and judging took.

use std::{error::Error, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let gpus = whyoom_gpu::Gpus::open()?;
    let opened = start.elapsed();
    let devices = gpus.read(whyoom_gpu::Asked::All)?.answering;
    let minors = gpus.minors(&devices);
    let asked = start.elapsed();
    let capture = whyoom_node::NodeSampler::new().look_with(devices, minors);
    let looked = start.elapsed();
    let report = whyoom_node::judge(&capture);
    eprintln!(
        "opened {opened:.1?}, driver {:.1?}, kernel {:.1?}, judged {:.1?}",
        asked - opened,
        looked - asked,
        start.elapsed() - looked
    );
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
