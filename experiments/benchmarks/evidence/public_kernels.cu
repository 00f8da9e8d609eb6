// CUB's algorithms as plain functions, for `public_kernels.py`. A call with a null `scratch` says in
// `bytes` how much of it is needed; every function returns the runtime's error code.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

extern "C" int prefix_sum(void* scratch, size_t* bytes, const int* x, int* y, long long n, cudaStream_t stream)
{
    return cub::DeviceScan::InclusiveSum(scratch, *bytes, x, y, n, stream);
}

// Row by row: rows are few and long, and a segmented reduction has one block for each.
extern "C" int sum_reduction(
    void* scratch, size_t* bytes, const float* x, float* sums, long long rows, long long width, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    for (long long row = 0; row < rows && error == cudaSuccess; ++row)
        error = cub::DeviceReduce::Sum(scratch, *bytes, x + row * width, sums + row, width, stream);
    return error;
}

// Values beyond the outermost bins are left out, where the task counts them there.
extern "C" int histogram(void* scratch, size_t* bytes, const float* x, int* counts, long long n, cudaStream_t stream)
{
    return cub::DeviceHistogram::HistogramEven(scratch, *bytes, x, counts, 257, -8.0f, 8.0f, n, stream);
}
