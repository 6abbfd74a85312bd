//! Tensor and filter descriptors.

use whyoom_lab_abi::{In, Out, exports};

use crate::{
    object::Opaque,
    shape::{DataType, Shape},
    status::{Failure, Status},
};

/// A tensor descriptor: empty until it is set.
pub(crate) type TensorPointer = Opaque<Shape>;

/// What stands behind a filter descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub shape: Shape,
    /// 0 NCHW, 1 NHWC.
    format: u32,
}

/// A filter descriptor.
pub(crate) type FilterPointer = Opaque<Filter>;

/// Makes and ends them.
pub(crate) mod lifetimes {
    use super::{Filter, Shape};
    crate::object::lifetimes! {
        Shape: cudnnCreateTensorDescriptor cudnnDestroyTensorDescriptor;
        Filter: cudnnCreateFilterDescriptor cudnnDestroyFilterDescriptor;
    }
}

/// A list of C integers; how many there are is an argument too.
pub(crate) fn integers(list: In<i32>, count: i32) -> Result<Vec<i64>, Failure> {
    let count = usize::try_from(count).map_err(|_| Failure::BadParam)?;
    Ok(list.list(count)?.into_iter().map(i64::from).collect())
}

/// Writes as many numbers as there is room for.
fn put_integers(place: Out<i32>, numbers: &[i64], room: usize) -> Result<(), Failure> {
    Ok(place.put_all(numbers.iter().take(room).map(|&number| number as i32))?)
}

/// A filter whose channels are the densest dimension.
fn channels_last(kind: DataType, dimensions: Vec<i64>) -> Result<Shape, Failure> {
    let mut shape = Shape::packed(kind, dimensions)?;
    if let Some(&channels) = shape.dimensions.get(1) {
        for place in 2..shape.strides.len() {
            shape.strides[place] *= channels;
        }
        shape.strides[1] = 1;
    }
    Ok(shape)
}

exports! { Status;
    fn cudnnSetTensorNdDescriptor(
        tensor: TensorPointer, kind: u32, count: i32, dimensions: In<i32>, strides: In<i32>,
    ) {
        let mut tensor = tensor.get()?;
        let (dimensions, strides) = (integers(dimensions, count)?, integers(strides, count)?);
        *tensor = Shape::new(DataType(kind), dimensions, strides)?;
        Ok(())
    }
    fn cudnnGetTensorNdDescriptor(
        tensor: TensorPointer, room: i32, kind: Out<u32>, count: Out<i32>, dimensions: Out<i32>,
        strides: Out<i32>,
    ) {
        let tensor = tensor.get()?;
        let room = usize::try_from(room).map_err(|_| Failure::BadParam)?;
        kind.put(tensor.kind.0)?;
        count.put(tensor.dimensions.len() as i32)?;
        put_integers(dimensions, &tensor.dimensions, room)?;
        put_integers(strides, &tensor.strides, room)
    }
    fn cudnnSetFilterNdDescriptor(
        filter: FilterPointer, kind: u32, format: u32, count: i32, dimensions: In<i32>,
    ) {
        let mut filter = filter.get()?;
        let (kind, dimensions) = (DataType(kind), integers(dimensions, count)?);
        let shape = match format {
            0 => Shape::packed(kind, dimensions)?,
            1 => channels_last(kind, dimensions)?,
            2 => return Err(Failure::NotSupported),
            _ => return Err(Failure::BadParam),
        };
        *filter = Filter { shape, format };
        Ok(())
    }
    fn cudnnGetFilterNdDescriptor(
        filter: FilterPointer, room: i32, kind: Out<u32>, format: Out<u32>, count: Out<i32>,
        dimensions: Out<i32>,
    ) {
        let filter = filter.get()?;
        let room = usize::try_from(room).map_err(|_| Failure::BadParam)?;
        kind.put(filter.shape.kind.0)?;
        format.put(filter.format)?;
        count.put(filter.shape.dimensions.len() as i32)?;
        put_integers(dimensions, &filter.shape.dimensions, room)
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::{lifetimes::*, *};

    #[test]
    fn what_was_set_is_read_back() {
        let mut tensor = TensorPointer::null();
        assert_eq!(cudnnCreateTensorDescriptor(Out(&mut tensor)), Status(0));
        let (dimensions, strides) = ([2, 3, 4, 5], [60, 1, 15, 3]);
        let set = |count| {
            let (dimensions, strides) = (In(dimensions.as_ptr()), In(strides.as_ptr()));
            cudnnSetTensorNdDescriptor(tensor, 2, count, dimensions, strides)
        };
        assert_eq!(set(-1), Status(2000));
        assert_eq!(set(4), Status(0));
        let (mut kind, mut count, mut read) = (0, 0, ([0; 4], [0; 4]));
        let (first, second) = (Out(read.0.as_mut_ptr()), Out(read.1.as_mut_ptr()));
        let (kind_place, count_place) = (Out(&mut kind), Out(&mut count));
        let got = cudnnGetTensorNdDescriptor(tensor, 4, kind_place, count_place, first, second);
        assert_eq!((got, kind, count, read), (Status(0), 2, 4, (dimensions, strides)));
        assert_eq!(cudnnDestroyTensorDescriptor(tensor), Status(0));
        assert_eq!(cudnnCreateTensorDescriptor(Out(ptr::null_mut())), Status(2002));
    }

    #[test]
    fn filters_know_their_format() {
        let shape = channels_last(DataType::FLOAT, vec![8, 3, 5, 5]).expect("a filter");
        assert_eq!(shape.strides, [75, 1, 15, 3]);
        assert!(shape.is_channels_last());
        assert!(!Shape::packed(DataType::FLOAT, vec![8, 3, 5, 5]).expect("one").is_channels_last());
    }
}
