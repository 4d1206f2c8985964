#ifndef FOREBAY_SERVER_STREAM_CURSOR_H_
#define FOREBAY_SERVER_STREAM_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "server/stream/batch.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// A member's position in its epoch: its next batch, and the ones after that.
// Not thread-safe: the stream guards it. Never blocks; no errors.
class Cursor {
 public:
  explicit Cursor(const BatchOptions& batch)
      : batch_size_(batch.size),
        drop_last_(batch.drop_last),
        by_length_(batch.by_length) {}

  void Start(std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample);
  void Stop() { running_ = false; }

  bool running() const { return running_; }
  // The epoch that was started last, with its next one; null if none was.
  const std::shared_ptr<const EpochPair>& epochs() const { return epochs_; }
  std::uint64_t epoch() const {
    return epochs_ == nullptr ? 0 : epochs_->epoch();
  }

  // The key of the next batch, which Advance passes over. Behind the end of the
  // epoch, no batch has that key.
  BatchKey next() const { return {epoch(), next_sample_}; }
  void Advance() { next_sample_ += SamplesOf(next()); }
  // The key after `key`, which is a batch of the epoch.
  BatchKey After(const BatchKey& key) const {
    return {key.epoch, key.first_sample + SamplesOf(key)};
  }
  // Counts the samples of the batch of that key; 0 if there is none.
  std::uint64_t SamplesOf(const BatchKey& key) const;

  Position PositionOf(const BatchKey& key) const {
    return Position{key.epoch} * epochs_->samples() + key.first_sample;
  }
  // Counts the batches from the next one to that of `key`. Returns nullopt if
  // the cursor does not come to it. Far ahead, that is a guess where lengths
  // decide how many samples make a batch.
  std::optional<std::uint64_t> BatchesUntil(const BatchKey& key) const;

 private:
  const std::uint64_t batch_size_;
  const bool drop_last_;
  const bool by_length_;
  bool running_ = false;
  std::shared_ptr<const EpochPair> epochs_;
  std::uint64_t next_sample_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CURSOR_H_
