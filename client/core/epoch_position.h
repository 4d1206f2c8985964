#ifndef FOREBAY_CLIENT_CORE_EPOCH_POSITION_H_
#define FOREBAY_CLIENT_CORE_EPOCH_POSITION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/base/status.h"
#include "client/core/batch.h"
#include "proto/fd.h"

namespace forebay::client::core {

// The progress of an epoch: everything that a new daemon needs to know to go on
// with the epoch. Not thread-safe. Owns the list of samples. Never blocks.
// Errors: those of wire::SealedMemory, and others that methods name.
class EpochPosition {
 public:
  EpochPosition() = default;
  // Starts an epoch at sample number `first_sample` of this rank.
  // `is_coordinated`: whether the loader's order is FOREBAY_COORDINATED.
  EpochPosition(std::uint64_t epoch, std::uint64_t first_sample,
                bool is_coordinated)
      : epoch_(epoch),
        next_sample_(first_sample),
        is_coordinated_(is_coordinated) {}

  // Copies a list of samples. If the order is coordinated, the list has the
  // samples that the trainer has seen. If not, the list has all samples of the
  // epoch.
  Status SetList(const std::int64_t* samples, size_t count);
  // INVALID_ARGUMENT if the epoch or the sample is 2^63 or more.
  Status Check() const;
  // Counts the samples of `batch` as delivered, and sets batch.next_sample.
  // INTERNAL if the order is coordinated and the batch does not say which
  // samples it has.
  Status Count(forebay_batch& batch);

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t next_sample() const { return next_sample_; }
  // Returns a memfd with the epoch's samples; empty unless the order is
  // FOREBAY_LISTED.
  const proto::Fd& list() const { return list_; }
  // Makes a memfd with the samples that were seen. Leaves *out empty if none
  // were seen, or the order is not coordinated.
  Status SealSeenSamples(proto::Fd* out) const;

 private:
  std::uint64_t epoch_ = 0;
  std::uint64_t next_sample_ = 0;  // the position after the counted samples
  bool is_coordinated_ = false;
  proto::Fd list_;
  // If the order is coordinated: the next_sample_ samples that were seen. The
  // daemon picks that order, so their number alone would not identify them.
  std::vector<std::int64_t> seen_samples_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_EPOCH_POSITION_H_
