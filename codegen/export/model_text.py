"""The parts of an exported module that are the same for every kernel."""

from __future__ import annotations

KERNELS = '''\
@functools.cache
def kernels(arch):
    """The compiled kernels for GPUs of a compute capability, such as "9.0"."""
    return compile_cuda(SOURCE, OPTIONS, arch)

'''
ITEM = "memory[item] if isinstance(item, str) else item"
TENSOR_MAP = '''\
class TensorMap:
    """An argument by which a kernel's bulk copies know a buffer."""

    def __init__(self, name, box, swizzle, shape):
        self.name, self.box, self.swizzle, self.shape = name, box, swizzle, shape


def value_of(item, memory):
    """What a kernel is given for an argument of `launches`."""
    if isinstance(item, TensorMap):
        return tensor_map(memory[item.name], item.box, item.swizzle, item.shape)
    return memory[item] if isinstance(item, str) else item

'''
MODEL = '''\
class ModelNew(torch.nn.Module):
    """{summary}

    The kernels are compiled at the first call.{given}
    """

    def __init__(self{init}):
        super().__init__()
        self.given = {kept}

    def forward(self{parameters}):
        inputs = {inputs}
        try:
            shape = shape_of([tuple(tensor.shape) for tensor in inputs], **self.given)
        except IndexError:
            raise ValueError("an input has too few axes") from None
        check(**shape)
        size, memory = sizes(**shape), {{}}
        device = inputs[0].device if inputs else torch.device("cuda")
        if device.type != "cuda":
            raise ValueError(f"the kernel runs on CUDA tensors, not on {{device.type}}")
        for (name, dtype), tensor in zip(INPUTS.items(), inputs):
            if tuple(tensor.shape) != size[name] or tensor.dtype != dtype:
                raise ValueError(
                    f"{{name}} is {{tensor.dtype}} {{tuple(tensor.shape)}}, the kernel needs "
                    f"{{dtype}} {{size[name]}}"
                )
            memory[name] = tensor.detach().contiguous()
        with torch.cuda.device(device):
            compiled = kernels("{{}}.{{}}".format(*torch.cuda.get_device_capability()))
            for name, dtype in OUTPUTS.items():
                memory[name] = torch.empty(size[name], dtype=dtype, device=device)
            for name, (dtype, count) in workspaces(**shape).items():
                memory[name] = torch.empty(count, dtype=dtype, device=device)
            for kernel, grid, block, shared, arguments in launches(**shape):
                values = [{item} for item in arguments]
                if kernel is None:
                    values[0].zero_()
                else:
                    compiled[kernel][grid, block, shared](*values)
        return {outputs}

'''
