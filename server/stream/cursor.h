#ifndef FOREBAY_SERVER_STREAM_CURSOR_H_
#define FOREBAY_SERVER_STREAM_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "server/stream/batch.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// A member's position in its epoch: its next batch, and the batches after that.
//
// Not thread-safe: the stream guards it. Shares the epochs. Never blocks, but
// in an order by length a call may plan a window. No errors.
class Cursor {
 public:
  explicit Cursor(const BatchOptions& batch)
      : batch_size_(batch.size),
        drop_last_(batch.drop_last),
        by_length_(batch.by_length) {}

  void Start(std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample);
  // Ends the epoch; the cursor keeps its position.
  void Stop() { running_ = false; }

  bool running() const { return running_; }
  // Returns the epoch that was started last and the epoch after it; null if no
  // epoch was started.
  const std::shared_ptr<const EpochPair>& epochs() const { return epochs_; }
  std::uint64_t epoch() const {
    return epochs_ == nullptr ? 0 : epochs_->epoch();
  }

  // Returns the key of the next batch; at the end of the epoch, a key that no
  // batch has. Advance moves past the next batch.
  BatchKey next() const { return {epoch(), next_sample_}; }
  void Advance() { next_sample_ += SamplesOf(next()); }
  // Returns the key after `key`, which is the key of a batch of the epoch.
  BatchKey After(const BatchKey& key) const {
    return {key.epoch, key.first_sample + SamplesOf(key)};
  }
  // Returns the number of samples of the batch of that key; 0 if there is none.
  std::uint64_t SamplesOf(const BatchKey& key) const;

  // Returns the number of samples, over all epochs, before the batch.
  Position PositionOf(const BatchKey& key) const {
    return Position{key.epoch} * epochs_->samples() + key.first_sample;
  }
  // Returns the number of batches from the next one to the batch of `key`;
  // nullopt if the cursor does not come to it. If lengths decide how many
  // samples make a batch, the number is an estimate for batches that are far
  // ahead.
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
