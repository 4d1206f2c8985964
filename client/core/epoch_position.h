#ifndef FOREBAY_CLIENT_CORE_EPOCH_POSITION_H_
#define FOREBAY_CLIENT_CORE_EPOCH_POSITION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/base/status.h"
#include "client/core/batch.h"
#include "proto/fd.h"

namespace forebay::client::core {

// How far an epoch has come: all that a daemon must be told to go on with it.
// Not thread-safe. Owns the list of samples. Never blocks. Errors: those of
// sealing memory, and named at each method.
class EpochPosition {
 public:
  EpochPosition() = default;
  // `is_coordinated`: whether the loader's order is.
  EpochPosition(std::uint64_t epoch, std::uint64_t first_sample,
                bool is_coordinated)
      : epoch_(epoch),
        next_sample_(first_sample),
        is_coordinated_(is_coordinated) {}

  // Copies a list: if the order is coordinated, of the samples that were seen,
  // else of all samples of the epoch.
  Status SetList(const std::int64_t* samples, size_t count);
  // INVALID_ARGUMENT if the epoch or the sample is 2^63 or more.
  Status Check() const;
  // Moves on by a batch, and tells it. INTERNAL if its samples are unknown.
  Status Count(forebay_batch& batch);

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t next_sample() const { return next_sample_; }
  // A memfd with the epoch's samples; empty unless the order is listed.
  const proto::Fd& list() const { return list_; }
  // Makes a memfd with the samples that were seen; none if there are none, or
  // the order is not coordinated.
  Status SealSeen(proto::Fd* out) const;

 private:
  std::uint64_t epoch_ = 0;
  std::uint64_t next_sample_ = 0;  // after those that were counted
  bool is_coordinated_ = false;
  proto::Fd list_;
  // The next_sample_ samples that were seen, as their number does not tell
  // which they were.
  std::vector<std::int64_t> seen_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_EPOCH_POSITION_H_
