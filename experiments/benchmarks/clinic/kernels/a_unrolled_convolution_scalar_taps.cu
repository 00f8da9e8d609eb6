// Planted: a 9 x 9 convolution reads each of its 81 inputs with a scalar load of its own, all at
// once: the queue of the load unit is full. Repair: the rows of a tile go to shared memory once,
// and each thread keeps a row of inputs in registers for four outputs.
/* rooftree
[shape]
height = 2048
width = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
shape = ["height + 16", "width + 64"]
[[buffer]]
name = "out"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "8 * height * width"
flops = "162 * height * width"
[[launch]]
kernel = "blur"
grid = ["width // 128 if REPAIRED else width // 32", "height // 8"]
block = [32, 8]
args = ["image", "out", "width"]
*/
extern "C" __global__ void blur(const float* __restrict__ image, float* out, int width)
{
    const int pitch = width + 64, y = blockIdx.y * 8 + threadIdx.y;
#if REPAIRED
    __shared__ __align__(16) float tile[16][128 + 16];
    const int first = blockIdx.x * 128;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 16 * 36; i += 256)
        *(float4*)&tile[i / 36][i % 36 * 4] =
            *(const float4*)&image[(blockIdx.y * 8 + i / 36) * pitch + first + i % 36 * 4];
    __syncthreads();
    float sums[4] = {};
    for (int r = 0; r < 9; ++r) {
        float row[12];
        for (int q = 0; q < 3; ++q)
            *(float4*)&row[4 * q] = *(float4*)&tile[threadIdx.y + r][threadIdx.x * 4 + 4 * q];
#pragma unroll
        for (int c = 0; c < 9; ++c)
            for (int k = 0; k < 4; ++k)
                sums[k] += row[c + k] * (0.01f * r + 0.002f * c);
    }
    *(float4*)&out[y * width + first + threadIdx.x * 4] =
        make_float4(sums[0], sums[1], sums[2], sums[3]);
#else
    const int x = blockIdx.x * 32 + threadIdx.x;
    float taps[81], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 81; ++k)
        taps[k] = image[(y + k / 9) * pitch + x + k % 9];
#pragma unroll
    for (int k = 0; k < 81; ++k)
        sum += taps[k] * (0.01f * (k / 9) + 0.002f * (k % 9));
    out[y * width + x] = sum;
#endif
}
