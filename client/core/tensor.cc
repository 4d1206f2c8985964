#include "client/core/tensor.h"

#include <utility>

#include "client/core/subscription.h"

namespace forebay::client::core {
namespace {

// Queues, on the GPU's own stream, the work that writes a field of a batch to
// `address` on that GPU. The work is a copy from the slot's part on the GPU, or
// a copy from the host.
Status Fill(device::Gpu& gpu, forebay_batch& batch, std::uint32_t index,
            std::uint64_t address) {
  const proto::FieldLayout& field = batch.header.fields[index];
  void* const stream = gpu.own_stream();
  return field.place == proto::Place::kDevice
             ? Subscription::Put(batch, index, reinterpret_cast<void*>(address),
                                 stream)
             : gpu.Upload(stream, batch.data + field.offset, address,
                          field.bytes);
}

}  // namespace

Status Tensor::Make(device::TensorPool& pool, forebay_batch& batch,
                    std::uint32_t index, std::shared_ptr<Tensor>* out) {
  if (index >= batch.header.field_count)
    return Status(FOREBAY_INVALID_ARGUMENT, "the batch has no such field");
  const proto::FieldLayout& field = batch.header.fields[index];
  if (field.row_splits_offset != 0)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "the field's samples differ in length: it is not a tensor");
  if (field.place == proto::Place::kDevice &&
      !batch.subscription->LiesOn(pool.gpu()))
    return Status(FOREBAY_INVALID_ARGUMENT, "the batch lies on another GPU");
  std::shared_ptr<Tensor> tensor(new Tensor(pool, field));
  if (field.bytes > 0) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(pool.Take(field.bytes, &tensor->memory_));
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        Fill(pool.gpu(), batch, index, tensor->address()));
    FOREBAY_CLIENT_RETURN_IF_ERROR(tensor->memory_->Finish());
    // The driver may read the host's memory even after Upload has returned.
    if (field.place == proto::Place::kHost)
      FOREBAY_CLIENT_RETURN_IF_ERROR(tensor->memory_->Await());
  }
  *out = std::move(tensor);
  return Status();
}

Status Tensor::MakePart(device::TensorPool& pool, forebay_batch& batch,
                        std::uint32_t index, std::uint64_t offset,
                        const proto::FieldLayout& type,
                        std::shared_ptr<Tensor>* out) {
  if (!batch.subscription->LiesOn(pool.gpu()))
    return Status(FOREBAY_INVALID_ARGUMENT, "the batch lies on another GPU");
  std::shared_ptr<Tensor> tensor(new Tensor(pool, type));
  if (type.bytes > 0) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(pool.Take(type.bytes, &tensor->memory_));
    FOREBAY_CLIENT_RETURN_IF_ERROR(Subscription::PutPart(
        batch, index, offset, type.bytes,
        reinterpret_cast<void*>(tensor->address()), pool.gpu().own_stream()));
    FOREBAY_CLIENT_RETURN_IF_ERROR(tensor->memory_->Finish());
  }
  *out = std::move(tensor);
  return Status();
}

Status Tensor::FromHost(device::TensorPool& pool, const void* data,
                        const proto::FieldLayout& type,
                        std::shared_ptr<Tensor>* out) {
  std::shared_ptr<Tensor> tensor(new Tensor(pool, type));
  if (type.bytes > 0) {
    device::Gpu& gpu = pool.gpu();
    FOREBAY_CLIENT_RETURN_IF_ERROR(pool.Take(type.bytes, &tensor->memory_));
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        gpu.Upload(gpu.own_stream(), data, tensor->address(), type.bytes));
    FOREBAY_CLIENT_RETURN_IF_ERROR(tensor->memory_->Finish());
    // The driver may read the host's memory even after Upload has returned.
    FOREBAY_CLIENT_RETURN_IF_ERROR(tensor->memory_->Await());
  }
  *out = std::move(tensor);
  return Status();
}

Status Tensor::Copy(std::shared_ptr<Tensor>* out) const {
  std::shared_ptr<Tensor> copy(new Tensor(*pool_, layout_));
  if (memory_ != nullptr) {
    device::Gpu& gpu = pool_->gpu();
    FOREBAY_CLIENT_RETURN_IF_ERROR(pool_->Take(layout_.bytes, &copy->memory_));
    FOREBAY_CLIENT_RETURN_IF_ERROR(memory_->HoldBackOwnStream());
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        gpu.Copy(gpu.own_stream(), address(), copy->address(), layout_.bytes));
    FOREBAY_CLIENT_RETURN_IF_ERROR(copy->memory_->Finish());
  }
  *out = std::move(copy);
  return Status();
}

Status Tensor::HandOver(void* stream) const {
  return memory_ == nullptr ? pool_->gpu().CheckProcess()
                            : memory_->HandOver(stream);
}

Status Tensor::HandOverUnordered() const {
  return memory_ == nullptr ? pool_->gpu().CheckProcess()
                            : memory_->HandOverUnordered();
}

}  // namespace forebay::client::core
