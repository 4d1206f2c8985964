// A driver library with NVIDIA's own declarations: cuda.h checks them.
#include "tests/unit/cuda/fake_libcuda.h"

#include <cstddef>
#include <cstdio>

extern "C" {

FakeLibcuda* forebay_fake_libcuda() {
  static FakeLibcuda state;
  return &state;
}

CUresult CUDAAPI cuInit(unsigned int) {
  return forebay_fake_libcuda()->init_result;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : nullptr;
  if (error == CUDA_ERROR_SYSTEM_NOT_READY)
    *name = "CUDA_ERROR_SYSTEM_NOT_READY";
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected"
                                        : nullptr;
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  *count = forebay_fake_libcuda()->devices;
  return forebay_fake_libcuda()->count_result;
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  *device = 100 + ordinal;  // a handle is no ordinal
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake %d", device - 100);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0xF0 + i);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  *bytes = std::size_t{16} << 30;
  const bool last = device == 99 + forebay_fake_libcuda()->devices;
  return last ? forebay_fake_libcuda()->memory_result : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                      CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 8
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 6
                                                                       : -1;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* address, int size, CUdevice device) {
  std::snprintf(address, static_cast<std::size_t>(size), "0000:%02X:00.0",
                device - 88);
  return CUDA_SUCCESS;
}

}  // extern "C"
