#ifndef FOREBAY_CLIENT_ABI_DLPACK_H_
#define FOREBAY_CLIENT_ABI_DLPACK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/base/status.h"
#include "client/core/tensor.h"

namespace forebay::client::abi {

// The structs of DLPack 1.0 (github.com/dmlc/dlpack, include/dlpack/dlpack.h),
// by which one framework passes tensors to another. Our names differ from
// DLPack's; the layouts are the same. Debian's header is of version 0.6, which
// has neither DLManagedTensorVersioned nor booleans.

// A DLDevice.
struct DlDevice {
  std::int32_t type;     // a DLDeviceType; 2: CUDA
  std::int32_t ordinal;  // CUDA's number of the device
};

// A DLDataType.
struct DlDataType {
  std::uint8_t code;    // a DLDataTypeCode
  std::uint8_t bits;    // bits of an element
  std::uint16_t lanes;  // 1: no vectors
};

// A DLTensor.
struct DlTensor {
  void* data;  // an address on the GPU
  DlDevice device;
  std::int32_t rank;  // dimensions
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;      // in elements
  std::uint64_t byte_offset;  // from `data` to the first element
};

// A DLManagedTensor.
struct DlManagedTensor {
  DlTensor tensor;
  void* context;  // the deleter's own data
  void (*deleter)(DlManagedTensor* self);
};

struct DlVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

// A DLManagedTensorVersioned.
struct DlManagedTensorVersioned {
  DlVersion version;
  void* context;
  void (*deleter)(DlManagedTensorVersioned* self);
  std::uint64_t flags;
  DlTensor tensor;
};

// DLPACK_FLAG_BITMASK_IS_COPIED: the producer has made a copy.
inline constexpr std::uint64_t kDlIsCopied = 2;

// Returns a struct that shares the ownership of `tensor`, on CUDA's device
// `ordinal`. Whoever gets the struct calls its deleter once, on any thread.
DlManagedTensor* Manage(const std::shared_ptr<const core::Tensor>& tensor,
                        std::int32_t ordinal);
// Returns such a struct with DLPack's version 1.0 and with `flags`.
DlManagedTensorVersioned* ManageVersioned(
    const std::shared_ptr<const core::Tensor>& tensor, std::int32_t ordinal,
    std::uint64_t flags);

// The sizes and the offset are those of DLPack's structs on 64-bit machines.
static_assert(sizeof(DlTensor) == 48 && sizeof(DlManagedTensor) == 64);
static_assert(sizeof(DlManagedTensorVersioned) == 80);
static_assert(offsetof(DlManagedTensorVersioned, tensor) == 32);

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_DLPACK_H_
