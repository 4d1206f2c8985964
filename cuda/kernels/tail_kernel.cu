// Defines the kernels as the GPU runs them.
#include "cuda/kernels/tail_kernel.h"

using forebay::cuda::kernels::kTailColors;
using forebay::cuda::kernels::kTailThreads;
using forebay::cuda::kernels::kTailValues;
using forebay::cuda::kernels::TailArguments;

extern "C" __global__ void __launch_bounds__(kTailThreads)
    forebay_tail(const __grid_constant__ TailArguments arguments) {
  // Threads of a warp look up different values. `arguments` lies in constant
  // memory, which would serve these threads one after another. The table is
  // therefore copied to shared memory, which serves them together.
  __shared__ std::uint32_t table[kTailColors * kTailValues];
  for (std::uint32_t i = threadIdx.x; i < kTailColors * kTailValues;
       i += blockDim.x) {
    table[i] = arguments.table[i];
  }
  __syncthreads();
  forebay::cuda::kernels::Tail(
      arguments, table, std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
      std::uint64_t{gridDim.x} * blockDim.x);
}
