"""Compiles and launches through ctypes alone: NVRTC, then the driver, on PyTorch's stream."""

import ctypes
import sys
from pathlib import Path

import torch
from torch import nn

SOURCE = b"""
extern "C" __global__ void scale_rows(const float* a, const float* b, float* y, int columns)
{
    const float factor = a[blockIdx.x];
    const long long first = (long long)blockIdx.x * columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) y[first + c] = factor * b[first + c];
}
"""


def compiler():
    for folder in sys.path:
        for path in sorted(Path(folder).glob("nvidia/*/lib/libnvrtc.so.1*")):
            for companion in path.parent.glob("libnvrtc-builtins.so*"):
                ctypes.CDLL(str(companion))
            return ctypes.CDLL(str(path))
    return ctypes.CDLL("libnvrtc.so")


def checked(code, what):
    if code:
        raise RuntimeError(f"{what} failed with {code}")


def build():
    nvrtc, driver, program = compiler(), ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    major, minor = torch.cuda.get_device_capability()
    option = (ctypes.c_char_p * 1)(f"-arch=sm_{major}{minor}".encode())
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"rows.cu", 0, None, None)
    checked(nvrtc.nvrtcCompileProgram(program, 1, option), "the compilation")
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    checked(driver.cuModuleLoadData(ctypes.byref(module), cubin), "loading")
    driver.cuModuleGetFunction(ctypes.byref(function), module, b"scale_rows")
    return driver, function


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.built = None

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty_like(b)
        self.built = self.built or build()
        driver, function = self.built
        values = [ctypes.c_void_p(t.data_ptr()) for t in (a, b, y)]
        values.append(ctypes.c_int(b.shape[1]))
        places = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        code = driver.cuLaunchKernel(function, len(a), 1, 1, 256, 1, 1, 0, stream, places, None)
        checked(code, "the launch")
        return y
