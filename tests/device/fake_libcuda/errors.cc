#include "tests/device/fake_libcuda/errors.h"

#include <algorithm>
#include <iterator>

namespace forebay::fake_libcuda {
namespace {

#define FOREBAY_ERROR(name, text) \
  { name, #name, text }

constexpr ErrorWords kErrors[] = {
    FOREBAY_ERROR(CUDA_SUCCESS, "no error"),
    FOREBAY_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    FOREBAY_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    FOREBAY_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    FOREBAY_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    FOREBAY_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE,
                  "CUDA-capable device(s) is/are busy or unavailable"),
    FOREBAY_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    FOREBAY_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    FOREBAY_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    FOREBAY_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    FOREBAY_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
                  "no kernel image is available for execution on the device"),
    FOREBAY_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE,
                  "uncorrectable ECC error encountered"),
    FOREBAY_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                  "the provided PTX was compiled with an unsupported "
                  "toolchain."),
    FOREBAY_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    FOREBAY_ERROR(CUDA_ERROR_ILLEGAL_STATE,
                  "the operation cannot be performed in the present state"),
    FOREBAY_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    FOREBAY_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    FOREBAY_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
                  "an illegal memory access was encountered"),
    FOREBAY_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                  "too many resources requested for launch"),
    FOREBAY_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    FOREBAY_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "part or all of the requested memory range is already "
                  "mapped"),
    FOREBAY_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "pointer does not correspond to a registered memory region"),
    FOREBAY_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    FOREBAY_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    FOREBAY_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    FOREBAY_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    FOREBAY_ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    FOREBAY_ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                  "system has unsupported display driver / cuda driver "
                  "combination"),
    FOREBAY_ERROR(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
                  "the number of clients that MPS serves is reached"),
    FOREBAY_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "operation not permitted when stream is capturing"),
    FOREBAY_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  "operation failed due to a previous error during capture"),
    FOREBAY_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a "
                  "capturing blocking stream"),
    FOREBAY_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

#undef FOREBAY_ERROR

}  // namespace

const ErrorWords* FindError(CUresult code) {
  const auto* const found =
      std::find_if(std::begin(kErrors), std::end(kErrors),
                   [&](const ErrorWords& e) { return e.code == code; });
  return found == std::end(kErrors) ? nullptr : found;
}

const ErrorWords* FindError(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kErrors), std::end(kErrors),
                   [&](const ErrorWords& e) { return e.name == name; });
  return found == std::end(kErrors) ? nullptr : found;
}

}  // namespace forebay::fake_libcuda
