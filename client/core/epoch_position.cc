#include "client/core/epoch_position.h"

#include <string>

#include "client/wire/packet_socket.h"

namespace forebay::client::core {
namespace {

// The largest epoch and sample number that forebay.h admits.
constexpr std::uint64_t kMaxNumber = INT64_MAX;

Status Seal(const std::int64_t* numbers, size_t count, proto::Fd* out) {
  return wire::SealedMemory(
      {reinterpret_cast<const char*>(numbers), count * sizeof *numbers}, out);
}

}  // namespace

Status EpochPosition::SetList(const std::int64_t* samples, size_t count) {
  if (!is_coordinated_) return Seal(samples, count, &list_);
  seen_samples_.assign(samples, samples + count);
  return Status();
}

Status EpochPosition::Check() const {
  if (epoch_ > kMaxNumber)
    return Status(
        FOREBAY_INVALID_ARGUMENT,
        "the epoch must be below 2^63, but is " + std::to_string(epoch_));
  if (next_sample_ > kMaxNumber)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "the first sample must be below 2^63, but is " +
                      std::to_string(next_sample_));
  return Status();
}

Status EpochPosition::Count(forebay_batch& batch) {
  const std::uint64_t count = batch.header.sample_count;
  if (is_coordinated_) {
    const std::int64_t* ids = nullptr;
    FOREBAY_CLIENT_RETURN_IF_ERROR(SampleIds(batch, &ids));
    seen_samples_.insert(seen_samples_.end(), ids, ids + count);
  }
  next_sample_ += count;
  batch.next_sample = next_sample_;
  return Status();
}

Status EpochPosition::SealSeenSamples(proto::Fd* out) const {
  if (seen_samples_.empty()) return Status();
  return Seal(seen_samples_.data(), seen_samples_.size(), out);
}

}  // namespace forebay::client::core
