// Planted: one block per file, and there are six files. Repair: 176 blocks share each file.
/* rooftree
[shape]
files = 6
words = 8650752
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "data"
role = "input"
dtype = "int32"
shape = ["files", "words"]
[[buffer]]
name = "sums"
role = "output"
dtype = "int32"
shape = ["files"]
[cost]
bytes = "4 * files * words"
flops = "2 * files * words"
math = "int32"
[[launch]]
memset = "sums"
[[launch]]
kernel = "checksum"
grid = ["176 if REPAIRED else 1", "files"]
block = [512]
args = ["data", "sums", "words"]
*/
extern "C" __global__ void checksum(const int4* __restrict__ data, int* sums, int words)
{
    const int4* mine = data + blockIdx.y * (words / 4);
    int sum = 0;
#pragma unroll 4
    for (int i = blockIdx.x * 512 + threadIdx.x; i < words / 4; i += gridDim.x * 512) {
        const int4 v = mine[i];
        sum += (v.x ^ i) + (v.y ^ i) + (v.z ^ i) + (v.w ^ i);
    }
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&sums[blockIdx.y], sum);
}
