#include "client/forebay_tensor.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "client/abi/dlpack.h"
#include "client/abi/guard.h"
#include "client/base/status.h"
#include "client/core/batch.h"
#include "client/core/tensor.h"
#include "client/device/tensor_pool.h"
#include "proto/shm_layout.h"

struct forebay_tensor_pool {
  std::shared_ptr<forebay::client::device::TensorPool> pool;
  int32_t ordinal;
};

struct forebay_tensor {
  std::shared_ptr<const forebay::client::core::Tensor> tensor;
  int32_t ordinal;
};

namespace {

namespace client = forebay::client;
using client::Status;
using client::abi::Guard;

// The number that stands for "no stream" in DLPack's __dlpack__.
constexpr intptr_t kNoStream = -1;

// Checks the arguments of an export. DLPack forbids stream 0, because libraries
// disagree about which stream it means.
Status CheckExport(int flags, intptr_t stream) {
  if ((flags & ~(FOREBAY_VERSIONED | FOREBAY_IS_COPIED)) != 0 ||
      flags == FOREBAY_IS_COPIED)
    return Status(FOREBAY_INVALID_ARGUMENT, "there are no such flags");
  if (stream == 0 || stream < kNoStream)
    return Status(
        FOREBAY_INVALID_ARGUMENT,
        "stream must be -1, 1, 2 or a CUstream, not " + std::to_string(stream));
  return Status();
}

// Lets the stream use the tensor. DLPack's numbers 1 and 2, for the legacy and
// the per-thread default stream, are CUDA's own. Each number is therefore a
// CUstream.
Status HandOver(const client::core::Tensor& tensor, intptr_t stream) {
  if (stream == kNoStream) return tensor.HandOverUnordered();
  return tensor.HandOver(reinterpret_cast<void*>(stream));
}

// Checks a caller's type and shape, and computes the bytes of the elements.
Status ReadType(const forebay_tensor_type& tensor_type,
                forebay::proto::FieldLayout* type) {
  *type = {};
  type->dtype = static_cast<forebay::proto::DType>(tensor_type.dtype);
  std::uint64_t bytes = forebay::proto::SizeOf(type->dtype);
  if (bytes == 0)
    return Status(FOREBAY_INVALID_ARGUMENT, "there is no such type");
  if (tensor_type.rank > forebay::proto::kMaxRank)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "a tensor has at most 6 dimensions");
  type->rank = tensor_type.rank;
  for (uint32_t i = 0; i < tensor_type.rank; ++i) {
    type->shape[i] = tensor_type.shape[i];
    if (__builtin_mul_overflow(bytes, tensor_type.shape[i], &bytes))
      return Status(FOREBAY_INVALID_ARGUMENT, "the shape is too large");
  }
  type->bytes = bytes;
  return Status();
}

// CPython's functions PyCapsule_IsValid and PyCapsule_GetPointer; null until
// forebay_capsule_get_destructor is called.
std::atomic<forebay_capsule_is_valid> capsule_is_valid{nullptr};
std::atomic<forebay_capsule_pointer> capsule_pointer{nullptr};

// Calls the deleter of the tensor in a capsule, unless a consumer has renamed
// the capsule and so taken the tensor.
template <typename Managed>
void DropIfValid(void* capsule, int flags) {
  const char* const name = forebay_capsule_name(flags);
  if (capsule_is_valid.load()(capsule, name) == 0) return;
  auto* const managed =
      static_cast<Managed*>(capsule_pointer.load()(capsule, name));
  managed->deleter(managed);
}

void DropCapsule(void* capsule) {
  DropIfValid<client::abi::DlManagedTensor>(capsule, 0);
  DropIfValid<client::abi::DlManagedTensorVersioned>(capsule,
                                                     FOREBAY_VERSIONED);
}

}  // namespace

forebay_status forebay_tensor_pool_open(int32_t device,
                                        forebay_tensor_pool** out) {
  return Guard(out != nullptr, [&] {
    auto pool = std::make_unique<forebay_tensor_pool>();
    pool->ordinal = device;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        client::device::TensorPool::Open(device, &pool->pool));
    *out = pool.release();
    return Status();
  });
}

void forebay_tensor_pool_close(forebay_tensor_pool* pool) {
  if (pool == nullptr) return;
  pool->pool->Close();
  delete pool;
}

forebay_status forebay_tensor_make(forebay_tensor_pool* pool,
                                   forebay_batch* batch, uint32_t index,
                                   forebay_tensor** out) {
  return Guard(pool != nullptr && batch != nullptr && out != nullptr, [&] {
    std::shared_ptr<client::core::Tensor> tensor;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        client::core::Tensor::Make(*pool->pool, *batch, index, &tensor));
    *out = new forebay_tensor{std::move(tensor), pool->ordinal};
    return Status();
  });
}

forebay_status forebay_tensor_make_part(forebay_tensor_pool* pool,
                                        forebay_batch* batch, uint32_t index,
                                        uint64_t offset,
                                        const forebay_tensor_type* type,
                                        forebay_tensor** out) {
  return Guard(
      pool != nullptr && batch != nullptr && type != nullptr && out != nullptr,
      [&] {
        forebay::proto::FieldLayout layout;
        FOREBAY_CLIENT_RETURN_IF_ERROR(ReadType(*type, &layout));
        std::shared_ptr<client::core::Tensor> tensor;
        FOREBAY_CLIENT_RETURN_IF_ERROR(client::core::Tensor::MakePart(
            *pool->pool, *batch, index, offset, layout, &tensor));
        *out = new forebay_tensor{std::move(tensor), pool->ordinal};
        return Status();
      });
}

forebay_status forebay_tensor_from_host(forebay_tensor_pool* pool,
                                        const void* data,
                                        const forebay_tensor_type* type,
                                        forebay_tensor** out) {
  return Guard(pool != nullptr && type != nullptr && out != nullptr, [&] {
    forebay::proto::FieldLayout layout;
    FOREBAY_CLIENT_RETURN_IF_ERROR(ReadType(*type, &layout));
    if (data == nullptr && layout.bytes > 0)
      return Status(FOREBAY_INVALID_ARGUMENT, "there are no elements");
    std::shared_ptr<client::core::Tensor> tensor;
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        client::core::Tensor::FromHost(*pool->pool, data, layout, &tensor));
    *out = new forebay_tensor{std::move(tensor), pool->ordinal};
    return Status();
  });
}

forebay_status forebay_tensor_copy(const forebay_tensor* tensor,
                                   forebay_tensor** out) {
  return Guard(tensor != nullptr && out != nullptr, [&] {
    std::shared_ptr<client::core::Tensor> copy;
    FOREBAY_CLIENT_RETURN_IF_ERROR(tensor->tensor->Copy(&copy));
    *out = new forebay_tensor{std::move(copy), tensor->ordinal};
    return Status();
  });
}

forebay_status forebay_tensor_export(const forebay_tensor* tensor, int flags,
                                     intptr_t stream, void** out) {
  return Guard(tensor != nullptr && out != nullptr, [&] {
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckExport(flags, stream));
    FOREBAY_CLIENT_RETURN_IF_ERROR(HandOver(*tensor->tensor, stream));
    if ((flags & FOREBAY_VERSIONED) == 0) {
      *out = client::abi::Manage(tensor->tensor, tensor->ordinal);
      return Status();
    }
    *out = client::abi::ManageVersioned(
        tensor->tensor, tensor->ordinal,
        (flags & FOREBAY_IS_COPIED) != 0 ? client::abi::kDlIsCopied : 0);
    return Status();
  });
}

forebay_status forebay_tensor_use_anywhere(const forebay_tensor* tensor) {
  return Guard(tensor != nullptr,
               [&] { return tensor->tensor->HandOverUnordered(); });
}

void forebay_tensor_release(forebay_tensor* tensor) { delete tensor; }

const char* forebay_capsule_name(int flags) {
  return (flags & FOREBAY_VERSIONED) == 0 ? "dltensor" : "dltensor_versioned";
}

forebay_capsule_destructor forebay_capsule_get_destructor(
    forebay_capsule_is_valid is_valid, forebay_capsule_pointer pointer) {
  capsule_is_valid = is_valid;
  capsule_pointer = pointer;
  return &DropCapsule;
}
