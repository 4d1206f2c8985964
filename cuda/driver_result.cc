#include "cuda/driver_result.h"

#include "cuda/driver_words.h"

namespace forebay::cuda {

// An error that is not listed here fails only the call that returned it.
bool IsLoss(CUresult error) {
  switch (error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_DEINITIALIZED:
      return true;
    default:
      return false;
  }
}

PluginResult ResultOf(CUresult error) {
  if (error == CUDA_SUCCESS) return PluginResult::kOk;
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return PluginResult::kNoMemory;
  if (error == CUDA_ERROR_DEVICE_UNAVAILABLE) return PluginResult::kUnavailable;
  return IsLoss(error) ? PluginResult::kLost : PluginResult::kFailed;
}

PluginResult Explain(const DriverApi& api, const char* what, CUresult error,
                     std::string* why) {
  if (error != CUDA_SUCCESS)
    *why = std::string(what) + " (" + DriverWords(api, error) + ")";
  return ResultOf(error);
}

}  // namespace forebay::cuda
