#ifndef FOREBAY_CLIENT_ABI_DLPACK_H_
#define FOREBAY_CLIENT_ABI_DLPACK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/base/status.h"
#include "client/core/tensor.h"

namespace forebay::client::abi {

// Tensors as DLPack 1.0 has them (github.com/dmlc/dlpack,
// include/dlpack/dlpack.h): the parts that we fill in. Debian's header is of
// version 0.6, which knows neither versions nor booleans.

struct DlDevice {
  std::int32_t type;
  std::int32_t ordinal;
};

struct DlDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor* self);
};

struct DlVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DlManagedTensorVersioned {
  DlVersion version;
  void* context;
  void (*deleter)(DlManagedTensorVersioned* self);
  std::uint64_t flags;
  DlTensor tensor;
};

inline constexpr std::uint64_t kDlIsCopied = 2;

// Returns a tensor that has its own share of `tensor`, on CUDA's device
// `ordinal`. The one that it is handed to calls its deleter.
DlManagedTensor* Manage(const std::shared_ptr<const core::Tensor>& tensor,
                        std::int32_t ordinal);
DlManagedTensorVersioned* ManageVersioned(
    const std::shared_ptr<const core::Tensor>& tensor, std::int32_t ordinal,
    std::uint64_t flags);

static_assert(sizeof(DlTensor) == 48 && sizeof(DlManagedTensor) == 64);
static_assert(sizeof(DlManagedTensorVersioned) == 80);
static_assert(offsetof(DlManagedTensorVersioned, tensor) == 32);

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_DLPACK_H_
