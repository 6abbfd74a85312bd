//! Tensors and convolutions as shapes: what sizes are computed from.

use cudarc::cudnn::sys::cudnnDataType_t;

use crate::status::Failure;

/// cuDNN's limit.
const MOST_DIMENSIONS: usize = 8;

/// The type of a tensor's elements, by its cuDNN number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataType(pub u32);

impl DataType {
    pub(crate) const FLOAT: Self = Self(cudnnDataType_t::CUDNN_DATA_FLOAT as u32);
    pub(crate) const DOUBLE: Self = Self(cudnnDataType_t::CUDNN_DATA_DOUBLE as u32);
    pub(crate) const HALF: Self = Self(cudnnDataType_t::CUDNN_DATA_HALF as u32);
    pub(crate) const BFLOAT16: Self = Self(cudnnDataType_t::CUDNN_DATA_BFLOAT16 as u32);

    /// The bytes of an element; an error for what is not a type, or packs several elements.
    pub(crate) fn bytes(self) -> Result<u64, Failure> {
        match self.0 {
            3 | 6 | 11..=13 | 15 | 22 | 23 => Ok(1),
            2 | 9 => Ok(2),
            0 | 4 | 14 | 19 => Ok(4),
            1 | 10 | 20 => Ok(8),
            21 => Ok(16),
            5 | 7 | 8 | 16 | 17 | 18 => Err(Failure::NotSupported),
            _ => Err(Failure::BadParam),
        }
    }

    /// Whether it is one of the 16-bit floating-point types.
    pub(crate) fn is_half(self) -> bool {
        matches!(self, Self::HALF | Self::BFLOAT16)
    }
}

/// A tensor without its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub kind: DataType,
    pub dimensions: Vec<i64>,
    pub strides: Vec<i64>,
}

impl Shape {
    /// A tensor of these dimensions; an error for what cuDNN does not take.
    pub(crate) fn new(
        kind: DataType,
        dimensions: Vec<i64>,
        strides: Vec<i64>,
    ) -> Result<Self, Failure> {
        kind.bytes()?;
        let positive = dimensions.iter().all(|&length| length > 0);
        if !positive || dimensions.is_empty() || dimensions.len() != strides.len() {
            return Err(Failure::BadParam);
        }
        if dimensions.len() > MOST_DIMENSIONS {
            return Err(Failure::NotSupported);
        }
        Ok(Self { kind, dimensions, strides })
    }

    /// A tensor whose last dimension is the densest, without gaps.
    pub(crate) fn packed(kind: DataType, dimensions: Vec<i64>) -> Result<Self, Failure> {
        let mut strides = vec![1; dimensions.len()];
        for place in (1..dimensions.len()).rev() {
            strides[place - 1] = strides[place] * dimensions[place];
        }
        Self::new(kind, dimensions, strides)
    }

    /// How many elements it has.
    pub(crate) fn elements(&self) -> u64 {
        self.dimensions.iter().map(|&length| length as u64).product()
    }

    /// The bytes of its elements, without gaps.
    pub(crate) fn bytes(&self) -> u64 {
        self.elements() * self.kind.bytes().unwrap_or(0)
    }

    /// Whether the channels of a place are neighbours in memory (NHWC, NDHWC). One channel, or one
    /// place, is both this and the other.
    pub(crate) fn is_channels_last(&self) -> bool {
        let channels = self.dimensions.get(1).copied().unwrap_or(1);
        let places: i64 = self.dimensions.iter().skip(2).product();
        channels == 1 || places == 1 || self.strides.get(1) == Some(&1)
    }
}

/// Which of the three convolutions of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    BackwardData,
    BackwardFilter,
}

/// How the filter moves over the image, one number for each spatial dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Motion {
    pub before: Vec<i64>,
    pub after: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
}

/// A convolution: image `x`, filter `w`, response `y`, or the gradients of these.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    pub pass: Pass,
    pub x: Shape,
    pub w: Shape,
    pub y: Shape,
    pub motion: Motion,
}

impl Convolution {
    /// Whether the tensors fit together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let [x, w, y] = [&self.x, &self.w, &self.y].map(|shape| &shape.dimensions);
        let spatial = self.motion.strides.len();
        if [x, w, y].iter().any(|dimensions| dimensions.len() != spatial + 2) {
            return Err(Failure::ShapeMismatch);
        }
        let channels_fit = x[1] % w[1] == 0 && w[0] % (x[1] / w[1]).max(1) == 0;
        let fits = x[0] == y[0] && w[0] == y[1] && channels_fit;
        let fits = fits && (0..spatial).all(|axis| self.response(axis) == Some(y[axis + 2]));
        if fits { Ok(()) } else { Err(Failure::ShapeMismatch) }
    }

    /// How long the response is along a spatial axis.
    fn response(&self, axis: usize) -> Option<i64> {
        let Motion { before, after, strides, dilations } = &self.motion;
        let reach = dilations.get(axis)? * (self.w.dimensions[axis + 2] - 1) + 1;
        let room = self.x.dimensions[axis + 2] + before.get(axis)? + after.get(axis)? - reach;
        (room >= 0).then(|| room / strides[axis].max(1) + 1)
    }

    /// Into how many parts the channels fall that do not see each other.
    pub(crate) fn groups(&self) -> i64 {
        self.x.dimensions[1] / self.w.dimensions[1]
    }
}
