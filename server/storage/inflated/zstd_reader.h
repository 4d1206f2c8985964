#ifndef FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_READER_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/inflated/packed_reader.h"
#include "server/storage/inflated/scratch_pool.h"
#include "server/storage/inflated/zstd_decoder.h"

namespace forebay::storage::inflated {

// Keeps decoders for the next readers: the memory of their windows costs no
// faults again. Thread-safe; readers share it. Owns as many as were ever taken
// at once. Never blocks; has no errors.
class ZstdDecoders {
 public:
  std::unique_ptr<ZstdDecoder> Take();
  void GiveBack(std::unique_ptr<ZstdDecoder> decoder);

 private:
  base::Mutex mutex_;
  std::vector<std::unique_ptr<ZstdDecoder>> spare_ ABSL_GUARDED_BY(mutex_);
};

// The reader of a file of zstd frames, from the begin of one on. As
// PackedReader says.
class ZstdReader final : public PackedReader {
 public:
  // It takes frames of such windows.
  static constexpr int kMostWindowLog = 23;
  static constexpr std::uint64_t kMostWindow = std::uint64_t{1}
                                               << kMostWindowLog;
  // Bytes that lie further behind their frame's begin are not read by it.
  static constexpr std::uint64_t kMostSkip = std::uint64_t{8} << 20;
  // Memory of one, its decoder included.
  static constexpr std::uint64_t kBytes =
      ZstdDecoder::BytesOf(kMostWindow) + (std::uint64_t{128} << 10);

  // Makes the `out.size()` bytes that begin `skip` behind the access point.
  // Bytes before them are thrown away by way of `scratches`.
  ZstdReader(std::shared_ptr<ZstdDecoders> decoders,
             std::shared_ptr<ScratchPool> scratches, std::uint64_t skip,
             absl::Span<std::uint8_t> out)
      : decoders_(std::move(decoders)),
        scratches_(std::move(scratches)),
        decoder_(decoders_->Take()),
        skip_(skip),
        out_(out) {}
  ~ZstdReader() override { decoders_->GiveBack(std::move(decoder_)); }

  absl::StatusOr<std::uint64_t> Take(
      absl::Span<const std::uint8_t> packed) override;
  bool pending() const override { return is_pending_; }
  bool done() const override { return filled_ == out_.size(); }

 private:
  const std::shared_ptr<ZstdDecoders> decoders_;
  const std::shared_ptr<ScratchPool> scratches_;
  std::unique_ptr<ZstdDecoder> decoder_;
  bool is_pending_ = false;
  std::uint64_t skip_;  // bytes to inflate and throw away
  const absl::Span<std::uint8_t> out_;
  std::uint64_t filled_ = 0;  // bytes
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_READER_H_
