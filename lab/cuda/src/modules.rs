//! Modules and functions.

use std::ffi::{c_char, c_void};

use whyoom_lab_abi::{In, Out, Text, exports};
use whyoom_lab_core::{
    Error,
    driver::{Driver, FunctionAttribute},
    image::Image,
};

use crate::{
    names::kept_name,
    process::{in_context, with},
    status::{Result, Status},
};

/// The first bytes of a device binary, which is an ELF file, and where in its header stands what
/// tells its length: the table of sections comes last.
const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
const ELF_SECTIONS_OFFSET: usize = 0x28;
const ELF_SECTION_SIZE: usize = 0x3a;
const ELF_SECTION_COUNT: usize = 0x3c;
/// A binary larger than this is not believed.
const LARGEST_BINARY: usize = 1 << 30;
/// The first word of the bundle that compilers make.
const BUNDLE_MAGIC: u32 = 0xba55_ed50;

/// What an image in memory is. Nothing tells its length but itself.
pub(crate) fn image_at(data: *const c_void) -> Result<Image> {
    let first = In(data.cast::<[u8; 4]>()).get()?;
    if first == ELF_MAGIC {
        return binary_at(data);
    }
    if u32::from_ne_bytes(first) == BUNDLE_MAGIC {
        return Ok(Image::Bundle);
    }
    let text = Text(data.cast::<c_char>()).get()?;
    Ok(Image::from_ptx(&text).ok_or(Error::InvalidImage)?)
}

fn binary_at(data: *const c_void) -> Result<Image> {
    let at = |offset: usize| {
        // SAFETY: an ELF file begins with a header that is longer than all three offsets.
        unsafe { data.byte_add(offset) }
    };
    let start = In(at(ELF_SECTIONS_OFFSET).cast::<u64>()).get()? as usize;
    let size = In(at(ELF_SECTION_SIZE).cast::<u16>()).get()? as usize;
    let count = In(at(ELF_SECTION_COUNT).cast::<u16>()).get()? as usize;
    let length = start.checked_add(size * count).filter(|length| *length < LARGEST_BINARY);
    let bytes = In(data.cast::<u8>()).list(length.ok_or(Error::InvalidImage)?)?;
    Ok(Image::Binary(bytes))
}

/// What a file holds.
#[allow(clippy::disallowed_methods, reason = "the program names it, and this is its own process")]
pub(crate) fn image_in(path: Text) -> Result<Image> {
    let bytes = std::fs::read(path.get()?).map_err(|_| Error::FileNotFound)?;
    if bytes.starts_with(&ELF_MAGIC) {
        return Ok(Image::Binary(bytes));
    }
    if bytes.starts_with(&BUNDLE_MAGIC.to_ne_bytes()) {
        return Ok(Image::Bundle);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Image::from_ptx(&text).ok_or(Error::InvalidImage)?)
}

fn load(module: Out<u64>, image: Image) -> Result<()> {
    if module.is_null() {
        return Err(Error::InvalidValue.into());
    }
    in_context(|driver, context| Ok(module.put(driver.load_module(Some(context), image))?))
}

/// The compute capabilities that libraries are commonly built for. Bundles are not looked into, so
/// assumed: a function was built for the newest of these that the device can run.
const COMMON_BUILDS: [u32; 9] = [50, 60, 70, 75, 80, 86, 90, 100, 120];

/// What a function says of itself. What the lab cannot know without its code is 0, but for the
/// compute capability that it was built for.
pub(crate) fn attribute_of(driver: &Driver, function: u64, number: u32) -> Result<u32> {
    let capability = || {
        let context = driver.current()?;
        let spec = driver.device_spec(driver.device_of(context)?)?;
        let (major, minor) = spec.model.compute_capability;
        let own = u32::from(major) * 10 + u32::from(minor);
        let runs = |built: &&u32| **built <= own;
        Ok(COMMON_BUILDS.iter().rfind(runs).copied().unwrap_or(own))
    };
    match number {
        0 => Ok(driver.function_attribute(function, FunctionAttribute::MaxThreadsPerBlock)?),
        5 | 6 => capability(),
        8 => Ok(driver.function_attribute(function, FunctionAttribute::MaxDynamicShared)?),
        1..18 => {
            driver.function_name(function)?;
            Ok(0)
        }
        _ => Err(Error::InvalidValue.into()),
    }
}

/// Sets the one attribute that launches are checked against; the others are hints.
pub(crate) fn set_attribute(
    driver: &mut Driver,
    function: u64,
    number: u32,
    value: i32,
) -> Result<()> {
    driver.function_name(function)?;
    match number {
        8 => {
            let bytes = u32::try_from(value).map_err(|_| Error::InvalidValue)?;
            Ok(driver.set_max_dynamic_shared(function, bytes)?)
        }
        9..18 => Ok(()),
        _ => Err(Error::InvalidValue.into()),
    }
}

exports! { Status;
    fn cuModuleLoad(module: Out<u64>, path: Text) { load(module, image_in(path)?) }

    fn cuModuleLoadData(module: Out<u64>, data: *const c_void) { load(module, image_at(data)?) }

    fn cuModuleLoadDataEx(
        module: Out<u64>,
        data: *const c_void,
        _count: u32,
        _options: *const c_void,
        _values: *const c_void,
    ) {
        load(module, image_at(data)?)
    }

    fn cuModuleLoadFatBinary(module: Out<u64>, data: *const c_void) {
        load(module, image_at(data)?)
    }

    fn cuModuleUnload(module: u64) { with(|driver| Ok(driver.unload_module(module)?)) }

    fn cuModuleGetFunction(function: Out<u64>, module: u64, name: Text) {
        let name = name.get()?;
        with(|driver| Ok(function.put(driver.function(module, &name)?)?))
    }

    fn cuModuleGetFunctionCount(count: Out<u32>, module: u64) {
        with(|driver| Ok(count.put(driver.kernel_names(module)?.len() as u32)?))
    }

    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: u64, name: Text) {
        let name = name.get()?;
        in_context(|driver, context| {
            let (place, size) = driver.variable(context, module, &name)?;
            address.put_if_wanted(place);
            bytes.put_if_wanted(size as usize);
            Ok(())
        })
    }

    // All modules are loaded when they are asked for: CU_MODULE_EAGER_LOADING.
    fn cuModuleGetLoadingMode(mode: Out<u32>) { Ok(mode.put(1)?) }

    fn cuFuncGetAttribute(value: Out<i32>, attribute: u32, function: u64) {
        with(|driver| Ok(value.put(attribute_of(driver, function, attribute)? as i32)?))
    }

    fn cuFuncSetAttribute(function: u64, attribute: u32, value: i32) {
        with(|driver| set_attribute(driver, function, attribute, value))
    }

    fn cuFuncGetModule(module: Out<u64>, function: u64) {
        with(|driver| Ok(module.put(driver.function_module(function)?)?))
    }

    fn cuFuncGetName(name: Out<*const c_char>, function: u64) {
        with(|driver| Ok(name.put(kept_name(driver.function_name(function)?))?))
    }

    fn cuFuncLoad(function: u64) {
        with(|driver| Ok(driver.function_name(function).map(|_| ())?))
    }

    fn cuFuncIsLoaded(state: Out<u32>, function: u64) {
        with(|driver| {
            driver.function_name(function)?;
            Ok(state.put(1)?)
        })
    }

    fn cuFuncSetCacheConfig(function: u64, _config: u32) {
        with(|driver| Ok(driver.function_name(function).map(|_| ())?))
    }
}
