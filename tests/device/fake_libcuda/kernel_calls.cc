// The driver's functions on modules and kernels.
#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/device/fake_libcuda/driver.h"
#include "tests/device/fake_libcuda/kernels.h"

using forebay::fake_libcuda::CallInContext;
using forebay::fake_libcuda::Driver;
using forebay::fake_libcuda::FunctionObject;
using forebay::fake_libcuda::Kernel;
using forebay::fake_libcuda::ModuleObject;
using forebay::fake_libcuda::StreamObject;

namespace {

// The first four bytes of a fat binary that nvcc writes.
constexpr std::uint32_t kFatBinary = 0xBA55ED50;
// The oldest GPU that the kernels are built for: 7.5.
constexpr int kOldestMajor = 7;
constexpr int kOldestMinor = 5;

}  // namespace

extern "C" {

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  return CallInContext(
      "cuModuleLoadData", [&](Driver& driver, const auto& context) {
        const CUresult allowed = driver.CheckCapture();
        if (allowed != CUDA_SUCCESS) return allowed;
        std::uint32_t magic;
        std::memcpy(&magic, image, sizeof(magic));
        if (magic != kFatBinary) return CUDA_ERROR_INVALID_IMAGE;
        if (std::pair(context->gpu->major, context->gpu->minor) <
            std::pair(kOldestMajor, kOldestMinor)) {
          return CUDA_ERROR_NO_BINARY_FOR_GPU;
        }
        *module = driver.modules.Add(
            std::make_shared<ModuleObject>(ModuleObject{context}));
        return CUDA_SUCCESS;
      });
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  return CallInContext("cuModuleUnload", [&](Driver& driver, const auto&) {
    return driver.modules.Remove(module) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                    : CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module,
                                     const char* name) {
  return CallInContext("cuModuleGetFunction", [&](Driver& driver, const auto&) {
    const std::shared_ptr<ModuleObject> from = driver.modules.Find(module);
    if (from == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Kernel* const kernel = forebay::fake_libcuda::FindKernel(name);
    if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    *function = driver.functions.Add(std::make_shared<FunctionObject>(
        FunctionObject{from->context, kernel}));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLaunchKernel(CUfunction handle, unsigned int grid_x,
                                unsigned int grid_y, unsigned int grid_z,
                                unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int,
                                CUstream stream, void** arguments, void**) {
  return CallInContext("cuLaunchKernel", [&](Driver& driver,
                                             const auto& context) {
    const std::shared_ptr<FunctionObject> function =
        driver.functions.Find(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (function->context != context) return CUDA_ERROR_INVALID_CONTEXT;
    const std::uint64_t threads =
        std::uint64_t{grid_x} * grid_y * grid_z * block_x * block_y * block_z;
    if (threads == 0 || block_x * block_y * block_z > 1024)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<StreamObject> object;
    const CUresult found = driver.FindStream(stream, &object);
    if (found != CUDA_SUCCESS || object->captures) return found;
    const Kernel& kernel = *function->kernel;
    const auto* const first = static_cast<const unsigned char*>(arguments[0]);
    const std::vector<unsigned char> argument(first,
                                              first + kernel.argument_bytes);
    object->queue->Enqueue(
        [&kernel, argument, threads, uuid = context->gpu->uuid] {
          Driver& driver = Driver::Get();
          const CUresult suffered = driver.Suffer("kernel");
          if (suffered != CUDA_SUCCESS) return suffered;
          driver.Log("kernel", uuid, threads);
          return kernel.run(argument, threads, driver.space(), uuid);
        });
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
