// The driver's functions on GPU memory and host memory.
#include <cuda.h>
#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tests/device/fake_libcuda/driver.h"

namespace forebay::fake_libcuda {
namespace {

bool IsPlaced(const CUmemAllocationProp* properties) {
  return properties != nullptr &&
         properties->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

// Makes memory of a GPU if the GPU has `bytes` bytes left.
CUresult MakeMemory(const GpuScript& gpu, std::size_t bytes,
                    std::shared_ptr<GpuMemory>* out) {
  if (BytesAlive(gpu.uuid) + bytes > gpu.memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *out = GpuMemory::Make({.uuid = gpu.uuid, .kind = "memory", .bytes = bytes});
  return *out == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult MakePlain(Driver& driver, const std::shared_ptr<Context>& context,
                   std::size_t bytes, CUdeviceptr* out) {
  const std::size_t step = driver.script().granularity;
  const std::size_t rounded = (bytes + step - 1) / step * step;
  std::shared_ptr<GpuMemory> memory;
  CUresult result = MakeMemory(*context->gpu, rounded, &memory);
  if (result == CUDA_SUCCESS) result = driver.space().Reserve(rounded, 0, out);
  if (result != CUDA_SUCCESS) return result;
  result = driver.space().Map(*out, rounded, std::move(memory));
  if (result != CUDA_SUCCESS) {
    driver.space().Free(*out, rounded);
    return result;
  }
  driver.space().SetAccess(*out, rounded, context->gpu->uuid,
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  driver.plain.Put(
      *out, std::make_shared<PlainMemory>(PlainMemory{context, rounded}));
  return CUDA_SUCCESS;
}

// Frees memory once all queued operations are done, because any of them may use
// the memory.
CUresult FreePlain(Driver& driver, const std::shared_ptr<Context>& context,
                   CUdeviceptr address) {
  const std::shared_ptr<PlainMemory> memory = driver.plain.Remove(address);
  if (memory == nullptr || memory->context != context)
    return CUDA_ERROR_INVALID_VALUE;
  const CUresult idle = driver.AwaitContext(context);
  driver.space().Unmap(address, memory->bytes);
  driver.space().Free(address, memory->bytes);
  return idle;
}

}  // namespace
}  // namespace forebay::fake_libcuda

using forebay::fake_libcuda::Call;
using forebay::fake_libcuda::CallBesideNoCapture;
using forebay::fake_libcuda::CallInContext;
using forebay::fake_libcuda::Driver;
using forebay::fake_libcuda::FreePlain;
using forebay::fake_libcuda::GpuMemory;
using forebay::fake_libcuda::GpuScript;
using forebay::fake_libcuda::IsPlaced;
using forebay::fake_libcuda::MakeMemory;
using forebay::fake_libcuda::MakePlain;

extern "C" {

CUresult CUDAAPI cuMemGetAllocationGranularity(
    std::size_t* granularity, const CUmemAllocationProp* properties,
    CUmemAllocationGranularity_flags) {
  return Call("cuMemGetAllocationGranularity", [&](Driver& driver) {
    if (!IsPlaced(properties)) return CUDA_ERROR_INVALID_VALUE;
    *granularity = driver.script().granularity;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle,
                             std::size_t bytes,
                             const CUmemAllocationProp* properties,
                             unsigned long long flags) {
  return CallBesideNoCapture("cuMemCreate", [&](Driver& driver) {
    if (!IsPlaced(properties) || flags != 0 || bytes == 0 ||
        bytes % driver.script().granularity != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const GpuScript* const gpu = driver.FindGpu(properties->location.id);
    if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::shared_ptr<GpuMemory> memory;
    const CUresult made = MakeMemory(*gpu, bytes, &memory);
    if (made == CUDA_SUCCESS) *handle = driver.memories.Add(std::move(memory));
    return made;
  });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  return CallBesideNoCapture("cuMemRelease", [&](Driver& driver) {
    return driver.memories.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                     : CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemExportToShareableHandle(
    void* shareable, CUmemGenericAllocationHandle handle,
    CUmemAllocationHandleType type, unsigned long long) {
  return Call("cuMemExportToShareableHandle", [&](Driver& driver) {
    const std::shared_ptr<GpuMemory> memory = driver.memories.Find(handle);
    if (memory == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
      return CUDA_ERROR_INVALID_VALUE;
    const int fd = fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0);
    *static_cast<int*>(shareable) = fd;
    return fd < 0 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemImportFromShareableHandle(
    CUmemGenericAllocationHandle* handle, void* shareable,
    CUmemAllocationHandleType type) {
  return CallBesideNoCapture(
      "cuMemImportFromShareableHandle", [&](Driver& driver) {
        if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
          return CUDA_ERROR_INVALID_VALUE;
        const auto fd =
            static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
        std::shared_ptr<GpuMemory> memory = GpuMemory::Import(
            forebay::proto::Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
        if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
        bool is_visible = false;
        for (const GpuScript& gpu : driver.script().gpus)
          is_visible |= gpu.uuid == memory->label().uuid;
        if (!is_visible) return CUDA_ERROR_INVALID_DEVICE;
        *handle = driver.memories.Add(std::move(memory));
        return CUDA_SUCCESS;
      });
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes,
                                     std::size_t alignment, CUdeviceptr,
                                     unsigned long long) {
  return CallBesideNoCapture("cuMemAddressReserve", [&](Driver& driver) {
    return driver.space().Reserve(bytes, alignment, address);
  });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return CallBesideNoCapture("cuMemAddressFree", [&](Driver& driver) {
    return driver.space().Free(address, bytes);
  });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, std::size_t bytes,
                          std::size_t offset,
                          CUmemGenericAllocationHandle handle,
                          unsigned long long) {
  return CallBesideNoCapture("cuMemMap", [&](Driver& driver) {
    std::shared_ptr<GpuMemory> memory = driver.memories.Find(handle);
    return memory == nullptr || offset != 0
               ? CUDA_ERROR_INVALID_VALUE
               : driver.space().Map(address, bytes, std::move(memory));
  });
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return CallBesideNoCapture("cuMemUnmap", [&](Driver& driver) {
    return driver.space().Unmap(address, bytes);
  });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, std::size_t bytes,
                                const CUmemAccessDesc* access,
                                std::size_t count) {
  return CallBesideNoCapture("cuMemSetAccess", [&](Driver& driver) {
    for (std::size_t i = 0; i < count; ++i) {
      const GpuScript* const gpu = driver.FindGpu(access[i].location.id);
      if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      const CUresult set =
          driver.space().SetAccess(address, bytes, gpu->uuid, access[i].flags);
      if (set != CUDA_SUCCESS) return set;
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  return CallInContext("cuMemAlloc", [&](Driver& driver, const auto& context) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = driver.CheckCapture();
    return result == CUDA_SUCCESS ? MakePlain(driver, context, bytes, address)
                                  : result;
  });
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  return CallInContext("cuMemFree", [&](Driver& driver, const auto& context) {
    return FreePlain(driver, context, address);
  });
}

CUresult CUDAAPI cuMemGetInfo(std::size_t* available, std::size_t* total) {
  return CallInContext("cuMemGetInfo", [&](Driver&, const auto& context) {
    const std::uint64_t used =
        forebay::fake_libcuda::BytesAlive(context->gpu->uuid);
    *total = context->gpu->memory;
    *available = used < *total ? *total - used : 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostRegister(void* address, std::size_t bytes,
                                   unsigned int flags) {
  return CallInContext("cuMemHostRegister", [&](Driver& driver, const auto&) {
    if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0)
      return CUDA_ERROR_NOT_SUPPORTED;
    return driver.space().RegisterHost(address, bytes);
  });
}

CUresult CUDAAPI cuMemHostUnregister(void* address) {
  return CallInContext("cuMemHostUnregister", [&](Driver& driver, const auto&) {
    return driver.space().UnregisterHost(address);
  });
}

}  // extern "C"
