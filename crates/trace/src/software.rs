//! The programs and libraries whose messages are known.

use serde::{Deserialize, Serialize};

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Software {
    /// PyTorch.
    PyTorch,
    /// cuBLAS.
    CuBlas,
    /// cuDNN.
    CuDnn,
    /// cuFFT.
    CuFft,
    /// TensorFlow.
    TensorFlow,
    /// XLA, as JAX and TensorFlow use it.
    Xla,
    /// CuPy.
    CuPy,
    /// RAPIDS Memory Manager.
    Rmm,
    /// NCCL.
    Nccl,
    /// vLLM.
    Vllm,
    /// llama.cpp.
    LlamaCpp,
    /// The HAMi shim.
    Hami,
    /// The operating system's kernel.
    Kernel,
    /// Something that watches processes: a shell, a scheduler, a launcher.
    Supervisor,
    /// ONNX Runtime.
    OnnxRuntime,
    /// TensorRT.
    TensorRt,
    /// Triton Inference Server.
    Triton,
    /// PaddlePaddle.
    Paddle,
    /// MXNet.
    MxNet,
    /// XGBoost.
    XgBoost,
    /// LightGBM.
    LightGbm,
    /// Numba.
    Numba,
    /// PyCUDA.
    PyCuda,
    /// CatBoost.
    CatBoost,
    /// Dask.
    Dask,
    /// CUDA.jl.
    CudaJl,
    /// OpenCV.
    OpenCv,
    /// Faiss.
    Faiss,
    /// CTranslate2.
    CTranslate2,
    /// ExLlama.
    ExLlama,
    /// Text Generation Inference.
    Tgi,
    /// SGLang.
    SgLang,
    /// Ray.
    Ray,
    /// FFmpeg.
    Ffmpeg,
    /// GROMACS.
    Gromacs,
    /// LAMMPS.
    Lammps,
    /// OpenMM.
    OpenMm,
    /// AMReX.
    AmrEx,
    /// PhysX.
    PhysX,
    /// A renderer or an engine for games.
    Renderer,
    /// A miner of coins.
    Miner,
    /// PyTorch on Apple's GPU.
    Mps,
    /// MLX.
    Mlx,
    /// DirectML.
    DirectMl,
    /// Windows itself.
    Windows,
    /// The driver of Jetson boards.
    Jetson,
    /// NumPy.
    NumPy,
    /// A program whose name is not known.
    Program,
}

impl Software {
    /// Whether a message of it does not tell in whose program it was printed: a library's, the system's.
    #[must_use]
    pub fn is_generic(self) -> bool {
        matches!(
            self,
            Self::CuBlas
                | Self::CuDnn
                | Self::CuFft
                | Self::Nccl
                | Self::Hami
                | Self::Kernel
                | Self::Supervisor
                | Self::Windows
                | Self::Program
        )
    }

    /// Its name as its users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PyTorch => "PyTorch",
            Self::CuBlas => "cuBLAS",
            Self::CuDnn => "cuDNN",
            Self::CuFft => "cuFFT",
            Self::TensorFlow => "TensorFlow",
            Self::Xla => "XLA",
            Self::CuPy => "CuPy",
            Self::Rmm => "RMM",
            Self::Nccl => "NCCL",
            Self::Vllm => "vLLM",
            Self::LlamaCpp => "llama.cpp",
            Self::Hami => "HAMi",
            Self::Kernel => "the kernel",
            Self::Supervisor => "the launcher",
            Self::OnnxRuntime => "ONNX Runtime",
            Self::TensorRt => "TensorRT",
            Self::Triton => "Triton Inference Server",
            Self::Paddle => "PaddlePaddle",
            Self::MxNet => "MXNet",
            Self::XgBoost => "XGBoost",
            Self::LightGbm => "LightGBM",
            Self::Numba => "Numba",
            Self::PyCuda => "PyCUDA",
            Self::CatBoost => "CatBoost",
            Self::Dask => "Dask",
            Self::CudaJl => "CUDA.jl",
            Self::OpenCv => "OpenCV",
            Self::Faiss => "Faiss",
            Self::CTranslate2 => "CTranslate2",
            Self::ExLlama => "ExLlama",
            Self::Tgi => "Text Generation Inference",
            Self::SgLang => "SGLang",
            Self::Ray => "Ray",
            Self::Ffmpeg => "FFmpeg",
            Self::Gromacs => "GROMACS",
            Self::Lammps => "LAMMPS",
            Self::OpenMm => "OpenMM",
            Self::AmrEx => "AMReX",
            Self::PhysX => "PhysX",
            Self::Renderer => "the renderer",
            Self::Miner => "the miner",
            Self::Mps => "PyTorch on Apple's GPU",
            Self::Mlx => "MLX",
            Self::DirectMl => "DirectML",
            Self::Windows => "Windows",
            Self::Jetson => "Jetson's driver",
            Self::NumPy => "NumPy",
            Self::Program => "the program",
        }
    }
}
