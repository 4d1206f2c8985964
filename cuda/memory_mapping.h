#ifndef FOREBAY_CUDA_MEMORY_MAPPING_H_
#define FOREBAY_CUDA_MEMORY_MAPPING_H_

#include <cuda.h>

#include <cstdint>
#include <initializer_list>

#include "cuda/driver_api.h"

namespace forebay::cuda {

// No GPU has as much; a sum with it does not overflow.
inline constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 48;

// Returns the properties of memory of `device` that other processes import.
CUmemAllocationProp Shareable(CUdevice device);

// Finds the step of the sizes of such memory.
CUresult FindGranularity(const DriverApi& api, CUdevice device,
                         std::uint64_t* granularity);

// `bytes`, at most kMaxMemory, rounded up to a multiple of `granularity`.
std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t granularity);

// Gives the GPU an address of a handle's memory. The mapping keeps the memory.
// The GPU has the first of the kinds of `access` that the driver accepts.
CUresult MapMemory(const DriverApi& api, CUdevice device,
                   CUmemGenericAllocationHandle handle, std::uint64_t bytes,
                   std::initializer_list<CUmemAccess_flags> access,
                   std::uint64_t* address);

void UnmapMemory(const DriverApi& api, std::uint64_t address,
                 std::uint64_t bytes);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_MEMORY_MAPPING_H_
