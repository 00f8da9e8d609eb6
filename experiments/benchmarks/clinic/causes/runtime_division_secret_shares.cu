// Planted: Horner's rule over a prime field reduces each step by a 64-bit remainder modulo the prime,
// a kernel argument. Repair: Shoup's multiplication, with x's quotient computed once per share.
/* rooftree
[shape]
shares = 4194304
degree = 96
prime = 1073741789
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "points"
role = "input"
dtype = "int32"
shape = ["shares"]
[[buffer]]
name = "secret"
role = "input"
dtype = "int32"
shape = ["degree"]
[[buffer]]
name = "values"
role = "output"
dtype = "int32"
shape = ["shares"]
[cost]
bytes = "8 * shares"
flops = "4 * degree * shares"
math = "int32"
[[launch]]
kernel = "evaluate_shares"
grid = ["shares // 256"]
block = [256]
args = ["points", "secret", "values", "prime"]
*/
typedef unsigned int u32;
constexpr int DEGREE = 96;
extern "C" __global__ void evaluate_shares(const u32* __restrict__ points,
    const u32* __restrict__ secret, u32* __restrict__ values, u32 prime)
{
    __shared__ u32 coefficient[DEGREE];
    if (threadIdx.x < DEGREE)
        coefficient[threadIdx.x] = (secret[threadIdx.x] * 2654435761u + threadIdx.x) % prime;
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const u32 x = (points[i] * 747796405u + i) % prime;
    u32 sum = 0;
#if REPAIRED
    const u32 quotient = (u32)(((unsigned long long)x << 32) / prime);
#pragma unroll 8
    for (int k = 0; k < DEGREE; ++k)  // below 2 primes after the product, 3 after the sum
        sum = sum * x - __umulhi(sum, quotient) * prime + coefficient[k];
    values[i] = sum % prime;
#else
    for (int k = 0; k < DEGREE; ++k)
        sum = (u32)(((unsigned long long)sum * x + coefficient[k]) % prime);
    values[i] = sum;
#endif
}
