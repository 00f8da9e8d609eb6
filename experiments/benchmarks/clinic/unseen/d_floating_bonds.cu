// Planted: each day of each bond asks by two remainders, of divisors known only at run time, whether a
// coupon is paid and whether the rate is fixed anew. Repair: two counters that start over, set up by one
// division each before the loop.
/* rooftree
[shape]
bonds = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "seasoning"
role = "input"
shape = ["bonds"]
[[buffer]]
name = "short_rate"
role = "input"
shape = ["bonds"]
fill = "uniform"
[[buffer]]
name = "value"
role = "output"
shape = ["bonds"]
[[buffer]]
name = "duration"
role = "output"
shape = ["bonds"]
[cost]
bytes = "16 * bonds"
flops = "14 * 1095 * bonds"
[[launch]]
kernel = "price"
grid = ["bonds // 256"]
block = [256]
args = ["seasoning", "short_rate", "value", "duration", 1095, 91, 30]
*/

// Floating-rate notes along a mean-reverting short rate, day by day: interest accrues at the rate last
// fixed, and is paid with every coupon. Bonds differ in their age.
extern "C" __global__ void __launch_bounds__(256) price(const float* __restrict__ seasoning,
    const float* __restrict__ short_rate, float* __restrict__ value, float* __restrict__ duration,
    int days, int coupon_days, int fixing_days)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int age = (int)(fabsf(seasoning[i]) * 180.0f);
    const float year = 1.0f / 365.0f, speed = 0.15f / 365.0f, mean = 0.03f;
    float rate = 0.03f + 0.02f * short_rate[i], fixed = rate;
    float discount = 1.0f, accrued = 0.0f, worth = 0.0f, weighted = 0.0f, time = 0.0f;
#if REPAIRED
    int since_coupon = age % coupon_days, since_fixing = age % fixing_days;
#endif
    for (int day = 1; day <= days; ++day) {
        time += year;
        rate = fmaf(speed, mean - rate, rate);
        discount = fmaf(-discount, rate * year, discount);
        accrued = fmaf(fixed, year, accrued);
#if REPAIRED
        since_coupon = since_coupon + 1 == coupon_days ? 0 : since_coupon + 1;
        since_fixing = since_fixing + 1 == fixing_days ? 0 : since_fixing + 1;
        const bool coupon = since_coupon == 0, fixing = since_fixing == 0;
#else
        const bool coupon = (age + day) % coupon_days == 0, fixing = (age + day) % fixing_days == 0;
#endif
        const float paid = coupon ? accrued * discount : 0.0f;
        worth += paid;
        weighted = fmaf(time, paid, weighted);
        accrued = coupon ? 0.0f : accrued;
        fixed = fixing ? rate : fixed;
    }
    value[i] = worth + discount;
    duration[i] = fmaf(time, discount, weighted);
}
