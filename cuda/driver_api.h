#ifndef FOREBAY_CUDA_DRIVER_API_H_
#define FOREBAY_CUDA_DRIVER_API_H_

#include <cuda.h>

#include <string>

namespace forebay::cuda {

// X(name, function) for each function of the driver that we call.
#define FOREBAY_DRIVER_FUNCTIONS(X)                           \
  X(init, cuInit)                                             \
  X(error_name, cuGetErrorName)                               \
  X(error_string, cuGetErrorString)                           \
  X(driver_version, cuDriverGetVersion)                       \
  X(device_count, cuDeviceGetCount)                           \
  X(device, cuDeviceGet)                                      \
  X(name, cuDeviceGetName)                                    \
  X(uuid, cuDeviceGetUuid)                                    \
  X(total_memory, cuDeviceTotalMem)                           \
  X(attribute, cuDeviceGetAttribute)                          \
  X(pci_address, cuDeviceGetPCIBusId)                         \
  X(retain_context, cuDevicePrimaryCtxRetain)                 \
  X(release_context, cuDevicePrimaryCtxRelease)               \
  X(push_context, cuCtxPushCurrent)                           \
  X(pop_context, cuCtxPopCurrent)                             \
  X(current_context, cuCtxGetCurrent)                         \
  X(set_limit, cuCtxSetLimit)                                 \
  X(synchronize_context, cuCtxSynchronize)                    \
  X(granularity, cuMemGetAllocationGranularity)               \
  X(create_memory, cuMemCreate)                               \
  X(release_memory, cuMemRelease)                             \
  X(export_memory, cuMemExportToShareableHandle)              \
  X(import_memory, cuMemImportFromShareableHandle)            \
  X(reserve_address, cuMemAddressReserve)                     \
  X(free_address, cuMemAddressFree)                           \
  X(map_memory, cuMemMap)                                     \
  X(unmap_memory, cuMemUnmap)                                 \
  X(set_access, cuMemSetAccess)                               \
  X(allocate, cuMemAlloc)                                     \
  X(free, cuMemFree)                                          \
  X(memory_info, cuMemGetInfo)                                \
  X(register_host, cuMemHostRegister)                         \
  X(unregister_host, cuMemHostUnregister)                     \
  X(copy_to_device, cuMemcpyHtoDAsync)                        \
  X(copy_to_host, cuMemcpyDtoHAsync)                          \
  X(copy_on_device, cuMemcpyDtoDAsync)                        \
  X(create_stream, cuStreamCreateWithPriority)                \
  X(destroy_stream, cuStreamDestroy)                          \
  X(query_stream, cuStreamQuery)                              \
  X(synchronize_stream, cuStreamSynchronize)                  \
  X(wait_event, cuStreamWaitEvent)                            \
  X(is_capturing, cuStreamIsCapturing)                        \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode) \
  X(launch_host_function, cuLaunchHostFunc)                   \
  X(create_event, cuEventCreate)                              \
  X(destroy_event, cuEventDestroy)                            \
  X(record_event, cuEventRecord)                              \
  X(query_event, cuEventQuery)                                \
  X(synchronize_event, cuEventSynchronize)                    \
  X(load_module, cuModuleLoadData)                            \
  X(unload_module, cuModuleUnload)                            \
  X(function, cuModuleGetFunction)                            \
  X(launch, cuLaunchKernel)

// The entry points of NVIDIA's driver library that we use, found at run time.
// Immutable once loaded, and so thread-safe; a plain table that owns nothing.
//
// We use the driver's API, not the runtime's (cudart). cudart 13.0 refuses
// every driver older than 580, and hosts run older ones for years; these entry
// points are in each driver since 470 (CUDA 11.4). They are found by dlopen,
// not by the linker. An error can therefore say whether the host has no driver
// or a broken one.
struct DriverApi {
#define FOREBAY_DECLARE(name, function) decltype(&function) name = nullptr;
  FOREBAY_DRIVER_FUNCTIONS(FOREBAY_DECLARE)
#undef FOREBAY_DECLARE
};

// Name of the library in every NVIDIA driver for Linux.
inline constexpr char kDriverLibrary[] = "libcuda.so.1";

// Loads `library` for good: a driver has threads of its own and cannot be
// unloaded. Returns false, with one clause in `why`, if the library or an entry
// point is missing. Thread-safe; blocks for file I/O.
bool LoadDriverApi(const char* library, DriverApi* api, std::string* why);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DRIVER_API_H_
