#ifndef FOREBAY_CUDA_DRIVER_API_H_
#define FOREBAY_CUDA_DRIVER_API_H_

#include <cuda.h>

#include <string>

namespace forebay::cuda {

// The entry points of NVIDIA's driver library that we use, found at run time.
//
// The driver's API and not the runtime's (cudart): cudart 13.0 refuses every
// driver older than 580, and hosts run older ones for years, while these entry
// points are in each since 470 (CUDA 11.4). By dlopen and not by the linker: so
// a host without a driver can be told from a broken installation, in words.
struct DriverApi {
  decltype(&cuInit) init = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
  decltype(&cuDriverGetVersion) driver_version = nullptr;
  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetName) name = nullptr;
  decltype(&cuDeviceGetUuid) uuid = nullptr;
  decltype(&cuDeviceTotalMem) total_memory = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  decltype(&cuDeviceGetPCIBusId) pci_address = nullptr;
};

// The library of every NVIDIA driver for Linux.
inline constexpr char kDriverLibrary[] = "libcuda.so.1";

// Loads `library` for good: a driver has threads of its own and cannot be
// unloaded. Thread-safe; blocks for file I/O. False, and one clause in `why`:
// the library or an entry point is not there.
bool LoadDriverApi(const char* library, DriverApi* api, std::string* why);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DRIVER_API_H_
