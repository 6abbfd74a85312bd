//! What goes wrong, by the names and numbers that the driver API documents.

/// Declares the errors with their documented numbers and names.
macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $symbol:literal, $text:literal;)*) => {
        /// An error that the driver API documents.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$doc])* #[error($text)] $name,)*
        }

        impl Error {
            /// Every error, for look-ups by number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its number as a `CUresult`.
            #[must_use]
            pub fn code(self) -> u32 {
                match self { $(Self::$name => $code,)* }
            }

            /// Its name in the driver API.
            #[must_use]
            pub fn symbol(self) -> &'static str {
                match self { $(Self::$name => $symbol,)* }
            }
        }
    };
}

errors! {
    /// An argument is outside what the function accepts.
    InvalidValue = 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument";
    /// The device has too little memory left.
    OutOfMemory = 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory";
    /// The driver was not initialized in this process; a forked child counts as another process.
    NotInitialized = 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error";
    /// There is no such device in the lab.
    NoDevice = 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected";
    /// The ordinal names no device.
    InvalidDevice = 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal";
    /// The image is neither PTX nor a device binary.
    InvalidImage = 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid";
    /// No context is current, or the one named does not exist.
    InvalidContext = 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context";
    /// Mapping memory failed.
    MapFailed = 205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed";
    /// The file was not found.
    FileNotFound = 301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found";
    /// The operating system refused.
    OperatingSystem = 304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS";
    /// The handle names nothing of its kind.
    InvalidHandle = 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle";
    /// The state that the call needs is not there.
    IllegalState = 401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state";
    /// The question leaves out a part of the answer that matters.
    LossyQuery = 402, "CUDA_ERROR_LOSSY_QUERY", "attempted introspection would be semantically lossy";
    /// Nothing has that name.
    NotFound = 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found";
    /// Work before it is not finished.
    NotReady = 600, "CUDA_ERROR_NOT_READY", "device not ready";
    /// A kernel touched memory that is not there.
    IllegalAddress = 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered";
    /// The two devices do not reach each other's memory.
    PeerAccessUnsupported = 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices";
    /// Peer access is on already.
    PeerAccessAlreadyEnabled = 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled";
    /// Peer access was not on.
    PeerAccessNotEnabled = 705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled";
    /// The primary context is in use, and the call needs it unused.
    PrimaryContextActive = 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process";
    /// The context has been destroyed.
    ContextIsDestroyed = 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed";
    /// The host range is page-locked already.
    HostMemoryAlreadyRegistered = 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped";
    /// The host range is not page-locked.
    HostMemoryNotRegistered = 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region";
    /// A kernel failed while it ran.
    LaunchFailed = 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure";
    /// A host function that a stream calls must not call the driver.
    NotPermitted = 800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted";
    /// The lab does not do this, and says so.
    NotSupported = 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported";
    /// The stream is capturing, or a capture forbids the call.
    StreamCaptureUnsupported = 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing";
    /// An earlier call broke the rules of the capture.
    StreamCaptureInvalidated = 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture";
    /// Two captures would become one.
    StreamCaptureMerge = 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences";
    /// The capture began in another stream.
    StreamCaptureUnmatched = 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began";
    /// Work of another stream was not joined to the one where the capture began.
    StreamCaptureUnjoined = 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work";
    /// The capture would depend on what is outside.
    StreamCaptureIsolation = 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream";
    /// The legacy default stream would wait for the capture.
    StreamCaptureImplicit = 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream";
    /// The event was last recorded in a capture.
    CapturedEvent = 907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream";
    /// The capture began in another thread.
    StreamCaptureWrongThread = 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread";
    /// The executable graph cannot take the other graph's parameters.
    GraphExecUpdateFailure = 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    /// The lab itself failed.
    Unknown = 999, "CUDA_ERROR_UNKNOWN", "unknown error";
}

/// The result of a call on the simulated device.
pub type Result<T, E = Error> = std::result::Result<T, E>;
