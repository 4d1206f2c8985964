#include "client/abi/dlpack.h"

#include <array>

#include "proto/shm_layout.h"

namespace forebay::client::abi {
namespace {

using proto::DType;

constexpr std::int32_t kCuda = 2;  // kDLCUDA
constexpr DlVersion kVersion = {.major = 1, .minor = 0};
// The values of DLDataTypeCode: kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLBool.
constexpr std::uint8_t kInt = 0;
constexpr std::uint8_t kUint = 1;
constexpr std::uint8_t kFloat = 2;
constexpr std::uint8_t kBfloat = 4;
constexpr std::uint8_t kBool = 6;

std::uint8_t CodeOf(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return kUint;
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return kInt;
    case DType::kBfloat16:
      return kBfloat;
    case DType::kBool:
      return kBool;
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      break;
  }
  return kFloat;
}

// An exported struct and everything that it points to. The struct's context
// points to its holder, which the deleter deletes.
template <typename Managed>
struct Holder {
  Managed managed = {};
  std::shared_ptr<const core::Tensor> tensor;
  std::array<std::int64_t, proto::kMaxRank> shape = {};
  std::array<std::int64_t, proto::kMaxRank> strides = {};

  static void Delete(Managed* self) {
    delete static_cast<Holder*>(self->context);
  }
};

template <typename Managed>
Managed* Hold(const std::shared_ptr<const core::Tensor>& tensor,
              std::int32_t ordinal) {
  auto holder = std::make_unique<Holder<Managed>>();
  const proto::FieldLayout& layout = tensor->layout();
  // The strides of C order. If a dimension is 0, there are no elements, so
  // strides that overflow do no harm.
  std::uint64_t stride = 1;
  for (std::uint32_t i = layout.rank; i-- > 0;) {
    holder->shape[i] = static_cast<std::int64_t>(layout.shape[i]);
    holder->strides[i] = static_cast<std::int64_t>(stride);
    stride *= layout.shape[i];
  }
  Managed& managed = holder->managed;
  managed.tensor = {.data = reinterpret_cast<void*>(tensor->address()),
                    .device = {.type = kCuda, .ordinal = ordinal},
                    .rank = static_cast<std::int32_t>(layout.rank),
                    .dtype = {.code = CodeOf(layout.dtype),
                              .bits = static_cast<std::uint8_t>(
                                  8 * proto::SizeOf(layout.dtype)),
                              .lanes = 1},
                    .shape = holder->shape.data(),
                    .strides = holder->strides.data(),
                    .byte_offset = 0};
  managed.deleter = &Holder<Managed>::Delete;
  holder->tensor = tensor;
  managed.context = holder.get();
  return &holder.release()->managed;
}

}  // namespace

DlManagedTensor* Manage(const std::shared_ptr<const core::Tensor>& tensor,
                        std::int32_t ordinal) {
  return Hold<DlManagedTensor>(tensor, ordinal);
}

DlManagedTensorVersioned* ManageVersioned(
    const std::shared_ptr<const core::Tensor>& tensor, std::int32_t ordinal,
    std::uint64_t flags) {
  auto* const managed = Hold<DlManagedTensorVersioned>(tensor, ordinal);
  managed->version = kVersion;
  managed->flags = flags;
  return managed;
}

}  // namespace forebay::client::abi
