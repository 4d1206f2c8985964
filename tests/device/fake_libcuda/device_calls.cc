// The driver's functions that describe the host and its GPUs.
#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "tests/device/fake_libcuda/driver.h"
#include "tests/device/fake_libcuda/errors.h"

using forebay::fake_libcuda::Call;
using forebay::fake_libcuda::Driver;
using forebay::fake_libcuda::ErrorWords;
using forebay::fake_libcuda::FindError;
using forebay::fake_libcuda::GpuScript;

namespace {

// Calls `describe(gpu)` for a GPU.
template <typename Describe>
CUresult OfGpu(const char* call, CUdevice device, Describe describe) {
  return Call(call, [&](Driver& driver) {
    const GpuScript* const gpu = driver.FindGpu(device);
    return gpu == nullptr ? CUDA_ERROR_INVALID_DEVICE : describe(*gpu);
  });
}

CUresult Attribute(const GpuScript& gpu, CUdevice_attribute attribute,
                   int* value) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = gpu.major;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = gpu.minor;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      *value = gpu.compute_mode;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MPS_ENABLED: {
      const auto& script = Driver::Get().script();
      if (script.driver_version < 12000) return CUDA_ERROR_INVALID_VALUE;
      *value = script.mps ? 1 : 0;
      return CUDA_SUCCESS;
    }
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned int flags) {
  return flags == 0 ? Driver::Get().Init() : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** name) {
  const ErrorWords* const words = FindError(error);
  *name = words == nullptr ? nullptr : words->name;
  return words == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
  const ErrorWords* const words = FindError(error);
  *text = words == nullptr ? nullptr : words->text;
  return words == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = Driver::Get().script().driver_version;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  return Call("cuDeviceGetCount", [&](Driver& driver) {
    *count = static_cast<int>(driver.script().gpus.size());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  return OfGpu("cuDeviceGet", ordinal, [&](const GpuScript&) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice device) {
  return OfGpu("cuDeviceGetName", device, [&](const GpuScript& gpu) {
    std::snprintf(name, static_cast<std::size_t>(size), "%s", gpu.name.c_str());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return OfGpu("cuDeviceGetUuid", device, [&](const GpuScript& gpu) {
    std::string digits;
    for (const char c : gpu.uuid) {
      if (c != '-') digits += c;
    }
    for (std::size_t i = 0; i < sizeof(uuid->bytes); ++i) {
      uuid->bytes[i] =
          static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return OfGpu("cuDeviceTotalMem", device, [&](const GpuScript& gpu) {
    *bytes = gpu.memory;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                      CUdevice device) {
  return OfGpu("cuDeviceGetAttribute", device, [&](const GpuScript& gpu) {
    return Attribute(gpu, attribute, value);
  });
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* address, int size, CUdevice device) {
  return OfGpu("cuDeviceGetPCIBusId", device, [&](const GpuScript& gpu) {
    std::snprintf(address, static_cast<std::size_t>(size), "%s",
                  gpu.pci_address.c_str());
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
