#include "cuda/memory_mapping.h"

#include <cstddef>

namespace forebay::cuda {

// The memory lies on the device, and is exported as a POSIX descriptor.
CUmemAllocationProp Shareable(CUdevice device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUresult FindGranularity(const DriverApi& api, CUdevice device,
                         std::uint64_t* granularity) {
  const CUmemAllocationProp properties = Shareable(device);
  std::size_t found = 0;
  const CUresult error =
      api.granularity(&found, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  *granularity = found;
  return error;
}

std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t granularity) {
  return (bytes + granularity - 1) / granularity * granularity;
}

CUresult MapMemory(const DriverApi& api, CUdevice device,
                   CUmemGenericAllocationHandle handle, std::uint64_t bytes,
                   std::initializer_list<CUmemAccess_flags> access,
                   std::uint64_t* address) {
  // The driver's virtual memory management takes three steps: reserve
  // addresses, map the memory there, and allow the GPU to use it. If a step
  // fails, the earlier steps are undone.
  CUdeviceptr reserved = 0;
  CUresult error = api.reserve_address(&reserved, bytes, 0, 0, 0);
  if (error != CUDA_SUCCESS) return error;
  error = api.map_memory(reserved, bytes, 0, handle, 0);
  if (error != CUDA_SUCCESS) {
    api.free_address(reserved, bytes);
    return error;
  }
  CUmemAccessDesc description = {};
  description.location = Shareable(device).location;
  // Not every driver accepts read-only access, so callers name a second kind of
  // access.
  for (const CUmemAccess_flags flags : access) {
    description.flags = flags;
    error = api.set_access(reserved, bytes, &description, 1);
    if (error == CUDA_SUCCESS) {
      *address = reserved;
      return CUDA_SUCCESS;
    }
  }
  UnmapMemory(api, reserved, bytes);
  return error;
}

void UnmapMemory(const DriverApi& api, std::uint64_t address,
                 std::uint64_t bytes) {
  api.unmap_memory(address, bytes);
  api.free_address(address, bytes);
}

}  // namespace forebay::cuda
