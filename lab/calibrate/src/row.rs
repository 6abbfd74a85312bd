//! The row as source text, in the form that the table's files have.

use std::fmt::Write;

use crate::{calibration::Calibration, figure::Figure};

/// The table's names of architectures. A test compares them with the table's source.
const ARCHITECTURES: &[(u64, &str)] = &[
    (61, "PASCAL"),
    (70, "VOLTA"),
    (75, "TURING"),
    (80, "AMPERE"),
    (86, "AMPERE_GA10X"),
    (89, "ADA"),
    (90, "HOPPER"),
    (100, "BLACKWELL"),
    (120, "BLACKWELL_RTX"),
];

/// Stands for a figure that was not measured. It does not compile, so that nobody overlooks it.
const NOT_MEASURED: &str = "NOT_MEASURED";

/// The same on every architecture of the table, which therefore has no column for it.
const REGISTERS: u64 = 65_536;

const MIB: u64 = 1 << 20;

impl Calibration {
    /// The source text for the table: the model's row, its architecture, and what the table assumes
    /// to be the same for all models.
    #[must_use]
    pub fn source_text(&self) -> String {
        [self.row(), self.architecture(), self.common()].join("\n")
    }

    fn row(&self) -> String {
        let name = self.model_name();
        let constant = constant_of(name);
        let aliases = self.model().map_or(&[][..], |model| model.aliases);
        let context = match self.value(Figure::Context) {
            Some(bytes) => format!("Some(seen({}, {constant}_MEASURED))", size(bytes)),
            None => "None".to_owned(),
        };
        let pci = self.value(Figure::PciDevice).map(|device| format!("{device:#06x}"));
        format!(
            "// lab/core/src/models: the row\n\
             const {constant}_MEASURED: &str = {source:?};\n\n\
             pub(super) const {constant}: GpuModel = Sheet {{\n\
             \x20   name: {name:?},\n\
             \x20   aliases: &{aliases:?},\n\
             \x20   architecture: {architecture},\n\
             \x20   total: {total},\n\
             \x20   nvml_total: {nvml_total},\n\
             \x20   context: {context},\n\
             \x20   chip: {chip},\n\
             \x20   clocks: {clocks},\n\
             \x20   watts: {watts},\n\
             \x20   pci_device: {pci},\n\
             }}\n\
             .model();\n",
            source = self.source(),
            architecture = self.architecture_name(),
            total = self.seen(Figure::Total, size),
            nvml_total = self.seen(Figure::NvmlTotal, size),
            chip = self.chip(&constant),
            clocks = self.clocks(&constant),
            watts = self.seen(Figure::PowerLimitWatts, grouped),
            pci = pci.as_deref().unwrap_or(NOT_MEASURED),
        )
    }

    /// What the row gives as its source.
    fn source(&self) -> String {
        let version = self.cuda_version;
        let driver = format!("CUDA {}.{} driver", version / 1000, version % 1000 / 10);
        if self.is_simulated() {
            return format!(
                "whyoom lab calibrate on a simulated GPU: no evidence of hardware; {driver}"
            );
        }
        format!("whyoom lab calibrate, {driver}")
    }

    fn chip(&self, constant: &str) -> String {
        use Figure::{BusWidthBits, L2Bytes, Multiprocessors};
        let values = [Multiprocessors, L2Bytes, BusWidthBits].map(|figure| self.value(figure));
        if let [Some(multiprocessors), Some(l2), Some(bits)] = values {
            let l2 = size(l2);
            return format!(
                "Chip::from(Observed({constant}_MEASURED), {multiprocessors}, {l2}, {bits})"
            );
        }
        format!(
            "Chip {{ multiprocessors: {}, l2: {}, bus_bits: {} }}",
            self.seen(Multiprocessors, grouped),
            self.seen(L2Bytes, size),
            self.seen(BusWidthBits, grouped),
        )
    }

    fn clocks(&self, constant: &str) -> String {
        let megahertz = |figure| {
            let clock: Option<u64> = self.value(figure);
            clock.filter(|clock| clock.is_multiple_of(1000)).map(|clock| grouped(clock / 1000))
        };
        let both = (megahertz(Figure::MemoryClockKhz), megahertz(Figure::ClockKhz));
        if let (Some(memory), Some(core)) = both {
            return format!("Clocks::from(Observed({constant}_MEASURED), {memory}, {core})");
        }
        format!(
            "Clocks {{ memory: {}, core: {} }}",
            self.seen(Figure::MemoryClockKhz, grouped),
            self.seen(Figure::ClockKhz, grouped),
        )
    }

    fn seen(&self, figure: Figure, write: fn(u64) -> String) -> String {
        let constant = constant_of(self.model_name());
        let seen = |value| format!("seen({}, {constant}_MEASURED)", write(value));
        self.value(figure).map_or_else(|| NOT_MEASURED.to_owned(), seen)
    }

    fn architecture_name(&self) -> String {
        let Some(capability) = self.value(Figure::ComputeCapability) else {
            return NOT_MEASURED.to_owned();
        };
        let known = ARCHITECTURES.iter().find(|(known, _)| *known == capability);
        known.map_or_else(|| format!("SM_{capability}"), |(_, name)| (*name).to_owned())
    }

    fn architecture(&self) -> String {
        let number = |figure, write: fn(u64) -> String| {
            self.value(figure).map_or_else(|| NOT_MEASURED.to_owned(), write)
        };
        let mut text = format!(
            "// lab/core/src/models/architecture.rs\n\
             pub(super) const {}: Architecture = limits({}, {}, {}, {});\n",
            self.architecture_name(),
            number(Figure::ComputeCapability, |it| format!("({}, {})", it / 10, it % 10)),
            number(Figure::SharedPerBlockOptin, kibibytes),
            number(Figure::SharedPerMultiprocessor, kibibytes),
            number(Figure::ThreadsPerMultiprocessor, |it| it.to_string()),
        );
        let registers = self.value(Figure::RegistersPerMultiprocessor);
        if registers != Some(REGISTERS) {
            let registers = number(Figure::RegistersPerMultiprocessor, grouped);
            let _ = writeln!(text, "const REGISTERS: u32 = {registers};");
        }
        text
    }

    fn common(&self) -> String {
        use Figure::{Granularity, PoolChunk, Slab, SmallLimit, SmallUnit};
        let mut text = "// lab/core/src/models/sheet.rs, in Sheet::model\n".to_owned();
        for figure in [Granularity, Slab, SmallLimit, SmallUnit, PoolChunk] {
            let _ = writeln!(text, "{}: {},", figure.name(), self.seen(figure, size));
        }
        text
    }
}

/// A constant's name for a model: what is left without maker and family.
fn constant_of(name: &str) -> String {
    let is_family = |word: &&str| !matches!(*word, "NVIDIA" | "GeForce" | "Tesla");
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).filter(is_family).collect();
    let name = words.join("_").to_ascii_uppercase();
    if name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        name
    } else {
        format!("GPU_{name}")
    }
}

/// Bytes as the table writes them.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(MIB) {
        format!("mib({})", grouped(bytes / MIB))
    } else {
        grouped(bytes)
    }
}

/// Shared memory as the table writes it.
fn kibibytes(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { grouped(bytes / 1024) } else { format!("{bytes} / 1024") }
}

/// A number with its thousands apart, where it has more than four digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let mut groups: Vec<&str> =
        rest.as_bytes().chunks(3).filter_map(|group| str::from_utf8(group).ok()).collect();
    if !head.is_empty() {
        groups.insert(0, head);
    }
    groups.join("_")
}

#[cfg(test)]
mod tests;
