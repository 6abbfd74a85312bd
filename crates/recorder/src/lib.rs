//! The preload library: sees every CUDA driver call that matters, and PyTorch's blocks, and never
//! changes what the program sees.
