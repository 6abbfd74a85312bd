import ctypes
import torch

rt = ctypes.CDLL("libcudart.so.13")


class DeviceBuffer:
    def __init__(self, nbytes):
        self.ptr = ctypes.c_void_p()
        code = rt.cudaMalloc(ctypes.byref(self.ptr), ctypes.c_size_t(nbytes))
        if code:
            raise MemoryError(f"cudaMalloc({nbytes}): error {code}")

    def free(self):
        rt.cudaFree(self.ptr)


def decode(clip):
    """Our own decoder: fills a raw device buffer that is then handed to PyTorch."""
    raw = DeviceBuffer(24 << 20)
    if clip % 3 == 2:
        raise ValueError("clip %d: truncated stream" % clip)
    frames = torch.empty(8, 3, 512, 512, device="cuda", dtype=torch.uint8)
    rt.cudaMemcpy(ctypes.c_void_p(frames.data_ptr()), raw.ptr, ctypes.c_size_t(frames.nbytes), 3)
    raw.free()
    return frames


net = torch.nn.Conv2d(3, 64, 7, 4, 3).cuda().half()
bad = 0
for clip in range(900):
    try:
        frames = decode(clip)
    except ValueError as err:
        bad += 1
        continue
    with torch.no_grad():
        feats = net(frames.half() / 255).mean((2, 3))
    if clip % 60 == 0:
        print("clip", clip, "bad", bad, flush=True)
print("done, bad:", bad)
