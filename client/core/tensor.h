#ifndef FOREBAY_CLIENT_CORE_TENSOR_H_
#define FOREBAY_CLIENT_CORE_TENSOR_H_

#include <cstdint>
#include <memory>

#include "client/base/status.h"
#include "client/core/batch.h"
#include "client/device/tensor_pool.h"
#include "proto/shm_layout.h"

namespace forebay::client::core {

// A field of a batch as a tensor in memory of the pool's, made on the stream of
// its own. Immutable; thread-safe. Its last owner drops the memory.
class Tensor {
 public:
  // Makes field `index` of a batch, from wherever it lies: the batch may be
  // released then. Waits until one from the host is there; else may wait as
  // TensorPool::Take, and for room in a stream.
  // INVALID_ARGUMENT: there is no such field, its samples differ in length, or
  // it lies on another GPU; else the errors of the GPU.
  static Status Make(device::TensorPool& pool, forebay_batch& batch,
                     std::uint32_t index, std::shared_ptr<Tensor>* out);
  // Likewise, of the elements of `type` from `offset` on of a field that lies
  // on the GPU, and is no image.
  static Status MakePart(device::TensorPool& pool, forebay_batch& batch,
                         std::uint32_t index, std::uint64_t offset,
                         const proto::FieldLayout& type,
                         std::shared_ptr<Tensor>* out);
  // Makes a tensor of `type` of the elements at `data`, on the host. Waits
  // until it is there; fails as Make.
  static Status FromHost(device::TensorPool& pool, const void* data,
                         const proto::FieldLayout& type,
                         std::shared_ptr<Tensor>* out);
  // Makes another of the elements as they are after what those have queued who
  // were handed the tensor. Waits and fails as Make.
  Status Copy(std::shared_ptr<Tensor>* out) const;

  // Its type and shape; offsets and places say nothing.
  const proto::FieldLayout& layout() const { return layout_; }
  // Of its elements; 0 if there are none.
  std::uint64_t address() const {
    return memory_ == nullptr ? 0 : memory_->address();
  }
  // See TensorMemory. Without elements, they do no more than to fail in a
  // forked child.
  Status HandOver(void* stream) const;
  Status HandOverUnordered() const;

 private:
  Tensor(device::TensorPool& pool, const proto::FieldLayout& layout)
      : pool_(pool.shared_from_this()), layout_(layout) {}

  const std::shared_ptr<device::TensorPool> pool_;
  const proto::FieldLayout layout_;
  std::unique_ptr<device::TensorMemory> memory_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_TENSOR_H_
