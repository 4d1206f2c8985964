#ifndef FOREBAY_CUDA_MEMORY_MAPPING_H_
#define FOREBAY_CUDA_MEMORY_MAPPING_H_

#include <cuda.h>

#include <cstdint>
#include <initializer_list>

#include "cuda/driver_api.h"

namespace forebay::cuda {

// Upper bound of memory sizes in bytes. No GPU has so much memory, and sums of
// such sizes do not overflow.
inline constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 48;

// Returns the properties of memory of `device` that other processes can import.
CUmemAllocationProp Shareable(CUdevice device);

// Finds the granularity of shareable memory, in bytes: the size of each piece
// of such memory is a multiple of it.
CUresult FindGranularity(const DriverApi& api, CUdevice device,
                         std::uint64_t* granularity);

// Returns `bytes`, at most kMaxMemory, rounded up to a multiple of
// `granularity`.
std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t granularity);

// Maps the memory behind `handle` at a GPU address, and sets `address`. The
// mapping keeps the memory alive. The GPU gets the first kind of `access` that
// the driver accepts.
CUresult MapMemory(const DriverApi& api, CUdevice device,
                   CUmemGenericAllocationHandle handle, std::uint64_t bytes,
                   std::initializer_list<CUmemAccess_flags> access,
                   std::uint64_t* address);

// Unmaps memory that MapMemory mapped, and frees the address range.
void UnmapMemory(const DriverApi& api, std::uint64_t address,
                 std::uint64_t bytes);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_MEMORY_MAPPING_H_
