// Planted: fixed-point money is brought back to its scale by 64-bit divisions, three for each invoice
// line, by scales known only at run time. Repair: multiplications by reciprocals, one set per thread.
/* rooftree
[shape]
lines = 33554432
price_scale = 10000
discount_scale = 1000
tax_scale = 1200
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "price"
role = "input"
dtype = "int32"
shape = ["lines"]
[[buffer]]
name = "quantity"
role = "input"
dtype = "int32"
shape = ["lines"]
[[buffer]]
name = "total"
role = "output"
dtype = "int64"
shape = ["lines"]
[cost]
bytes = "16 * lines"
flops = "12 * lines"
math = "int32"
[[launch]]
kernel = "line_totals"
grid = ["lines // 4096"]
block = [256]
args = ["price", "quantity", "total", "price_scale", "discount_scale", "tax_scale"]
*/
typedef unsigned long long u64;
struct Scale {  // exact for amounts below 2^64 / divisor
    u64 divisor, reciprocal;
    __device__ Scale(u64 divisor) : divisor(divisor), reciprocal(~0ull / divisor + 1) {}
    __device__ u64 down(u64 n) const { return REPAIRED ? __umul64hi(n, reciprocal) : n / divisor; }
};

extern "C" __global__ void line_totals(const int* __restrict__ price, const int* __restrict__ quantity,
    u64* __restrict__ total, int price_scale, int discount_scale, int tax_scale)
{
    const Scale prices(price_scale), discounts(discount_scale), taxes(tax_scale);
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
        const int i = (blockIdx.x * 16 + k) * 256 + threadIdx.x;
        const u64 each = 987654321ull + 4096 * (price[i] & 65535);   // ten-thousandths
        const u64 count = 60000 + (quantity[i] & 1023);
        const u64 net = prices.down(each * count);
        const u64 less = net - discounts.down(net * (count > 60005 ? 75 : 25));
        total[i] = less + taxes.down(less * 228);
    }
}
