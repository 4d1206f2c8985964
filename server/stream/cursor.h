#ifndef FOREBAY_SERVER_STREAM_CURSOR_H_
#define FOREBAY_SERVER_STREAM_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "proto/job.pb.h"
#include "server/stream/batch.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// Where a member is in its epoch: which batch it gets next, and which after
// that. Not thread-safe: the stream guards it. Never blocks; no errors.
class Cursor {
 public:
  explicit Cursor(const proto::BatchSpec& batch)
      : batch_size_(batch.batch_size()), drop_last_(batch.drop_last()) {}

  void Start(std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample);
  void Stop() { running_ = false; }

  bool running() const { return running_; }
  // Of the epoch that was started last; null: none was.
  const std::shared_ptr<const EpochPair>& epochs() const { return epochs_; }
  std::uint64_t epoch() const {
    return epochs_ == nullptr ? 0 : epochs_->epoch();
  }

  // Of the batch to be had next, which Advance passes over; behind the end of
  // the epoch, there is none of that key.
  BatchKey next() const { return {epoch(), next_sample_}; }
  void Advance() { next_sample_ += SamplesOf(next()); }
  // The one after `key`, which is a batch of the epoch.
  BatchKey After(const BatchKey& key) const {
    return {key.epoch, key.first_sample + SamplesOf(key)};
  }
  // Samples of the batch that begins there; 0: there is none.
  std::uint64_t SamplesOf(const BatchKey& key) const;

  Position PositionOf(const BatchKey& key) const {
    return Position{key.epoch} * epochs_->samples() + key.first_sample;
  }
  // Batches from the next one until that of `key`, if the cursor comes to it.
  std::optional<std::uint64_t> BatchesUntil(const BatchKey& key) const;

 private:
  const std::uint64_t batch_size_;
  const bool drop_last_;
  bool running_ = false;
  std::shared_ptr<const EpochPair> epochs_;
  std::uint64_t next_sample_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CURSOR_H_
