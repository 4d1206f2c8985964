#ifndef FOREBAY_CLIENT_CORE_TENSOR_H_
#define FOREBAY_CLIENT_CORE_TENSOR_H_

#include <cstdint>
#include <memory>

#include "client/base/status.h"
#include "client/core/batch.h"
#include "client/device/tensor_pool.h"
#include "proto/shm_layout.h"

namespace forebay::client::core {

// A field of a batch as a tensor in memory of a TensorPool's, made on the
// pool's own stream. Immutable, and therefore thread-safe. Owns the memory,
// which goes back to the pool when the tensor ends. Shares the pool. Each
// method says for what it waits. Errors: named at each method, and those of
// device::Gpu.
class Tensor {
 public:
  // Makes a tensor of field `index` of a batch, whether the field lies on the
  // host or on the GPU. The caller may release the batch as soon as this
  // returns. If the field lies on the host, waits for the copy. Also waits as
  // TensorPool::Take does. INVALID_ARGUMENT: there is no such field, its
  // samples differ in length, or it lies on another GPU.
  static Status Make(device::TensorPool& pool, forebay_batch& batch,
                     std::uint32_t index, std::shared_ptr<Tensor>* out);
  // Makes a tensor of `type` from the elements at byte `offset` of a field that
  // lies on the GPU and is not an image. Waits and fails as Make does.
  static Status MakePart(device::TensorPool& pool, forebay_batch& batch,
                         std::uint32_t index, std::uint64_t offset,
                         const proto::FieldLayout& type,
                         std::shared_ptr<Tensor>* out);
  // Makes a tensor of `type` from the elements at `data`, which are on the
  // host. Waits for the copy; fails as Make does.
  static Status FromHost(device::TensorPool& pool, const void* data,
                         const proto::FieldLayout& type,
                         std::shared_ptr<Tensor>* out);
  // Copies the tensor, after all work that is queued so far on the streams to
  // which the tensor was handed over. Waits and fails as Make does.
  Status Copy(std::shared_ptr<Tensor>* out) const;

  // Returns the tensor's type and shape. The layout's `offset` and `place` have
  // no meaning.
  const proto::FieldLayout& layout() const { return layout_; }
  // Returns the address of the elements on the GPU; 0 if there are none.
  std::uint64_t address() const {
    return memory_ == nullptr ? 0 : memory_->address();
  }
  // Lets `stream` use the tensor: see TensorMemory::HandOver. For a tensor
  // without elements, it only fails in a forked child.
  Status HandOver(void* stream) const;
  // Lets unknown streams use the tensor: see TensorMemory::HandOverUnordered.
  // For a tensor without elements, it only fails in a forked child.
  Status HandOverUnordered() const;

 private:
  Tensor(device::TensorPool& pool, const proto::FieldLayout& layout)
      : pool_(pool.shared_from_this()), layout_(layout) {}

  const std::shared_ptr<device::TensorPool> pool_;
  const proto::FieldLayout layout_;
  std::unique_ptr<device::TensorMemory> memory_;  // null: no elements
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_TENSOR_H_
