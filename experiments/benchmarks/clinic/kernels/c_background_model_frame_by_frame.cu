// Planted: a video's background model learns from 48 small frames in 48 launches of about 3 us. Repair: one
// launch in which each thread takes its four pixels through all frames with the model in registers.
/* rooftree
launch = [
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "0"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "1"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "2"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "3"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "4"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "5"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "6"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "7"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "8"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "9"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "10"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "11"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "12"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "13"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "14"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "15"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "16"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "17"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "18"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "19"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "20"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "21"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "22"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "23"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "24"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "25"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "26"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "27"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "28"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "29"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "30"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "31"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "32"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "33"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "34"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "35"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "36"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "37"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "38"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "39"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "40"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "41"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "42"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "43"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "44"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "45"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "46"], when = "REPAIRED == 0" },
{ kernel = "learn_frame", grid = [792], block = [256], args = ["clip", "background", "47"], when = "REPAIRED == 0" },
{ kernel = "learn_clip", grid = [792], block = [256], args = ["clip", "background"], when = "REPAIRED == 1" },
]
[shape]
n = 811008
frames = 48
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "clip"
role = "input"
dtype = "float32"
shape = ["frames", "n"]
[[buffer]]
name = "background"
role = "output"
dtype = "float32"
shape = ["n"]
[cost]
bytes = "4 * n * (frames + 1)"
flops = "4 * n * frames"
math = "fp32"
*/
#define PIXELS (811008 / 4)  // float4s of one frame of 1056 x 768
#define FRAMES 48

__device__ float learned(float model, float seen)
{
    const float change = seen - model;
    return fmaf(fabsf(change) < 1.0f ? 0.05f : 0.005f, change, model);  // moving things are learnt slowly
}
__device__ float4 learned(float4 model, float4 seen)
{
    return make_float4(learned(model.x, seen.x), learned(model.y, seen.y),
                       learned(model.z, seen.z), learned(model.w, seen.w));
}

extern "C" __global__ void learn_frame(const float4* clip, float4* background, int frame)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 seen = clip[frame * PIXELS + i];
    background[i] = frame == 0 ? seen : learned(background[i], seen);
}

extern "C" __global__ void learn_clip(const float4* __restrict__ clip, float4* __restrict__ background)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    float4 model = clip[i];
    #pragma unroll 8
    for (int frame = 1; frame < FRAMES; ++frame)
        model = learned(model, clip[frame * PIXELS + i]);
    background[i] = model;
}
