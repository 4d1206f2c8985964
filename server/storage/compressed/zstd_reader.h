#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_READER_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/compressed/compressed_reader.h"
#include "server/storage/compressed/scratch_pool.h"
#include "server/storage/compressed/zstd_decoder.h"

namespace forebay::storage::compressed {

// Keeps decoders for later readers, so that the memory of their windows costs
// no new page faults.
//
// Thread-safe; readers share it. This object owns as many decoders as were ever
// taken at once. Never blocks; has no errors.
class ZstdDecoders {
 public:
  std::unique_ptr<ZstdDecoder> Take();
  void GiveBack(std::unique_ptr<ZstdDecoder> decoder);

 private:
  base::Mutex mutex_;
  std::vector<std::unique_ptr<ZstdDecoder>> spare_ ABSL_GUARDED_BY(mutex_);
};

// Reads a file of zstd frames from the beginning of a frame on. Threads,
// ownership, blocking and errors are as CompressedReader says.
class ZstdReader final : public CompressedReader {
 public:
  // The largest window of a frame that a reader accepts, in bytes, and the
  // window's binary logarithm.
  static constexpr int kMostWindowLog = 23;
  static constexpr std::uint64_t kMostWindow = std::uint64_t{1}
                                               << kMostWindowLog;
  // The most bytes of a frame that a reader throws away. The scan keeps pieces
  // of all bytes that lie further from the frame's beginning.
  static constexpr std::uint64_t kMostSkip = std::uint64_t{8} << 20;
  // The bytes of memory of a reader, its decoder included.
  static constexpr std::uint64_t kBytes =
      ZstdDecoder::BytesOf(kMostWindow) + (std::uint64_t{128} << 10);

  // Makes a reader of the `out.size()` bytes that begin `skip` bytes after the
  // access point. Bytes before them are decompressed into buffers of
  // `scratches`, and thrown away.
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
      absl::Span<const std::uint8_t> compressed) override;
  bool pending() const override { return is_pending_; }
  bool done() const override { return filled_ == out_.size(); }

 private:
  const std::shared_ptr<ZstdDecoders> decoders_;
  const std::shared_ptr<ScratchPool> scratches_;
  std::unique_ptr<ZstdDecoder> decoder_;
  // Whether zstd may have more output for the bytes that it has taken.
  bool is_pending_ = false;
  // The decompressed bytes that are still to be thrown away.
  std::uint64_t skip_;
  const absl::Span<std::uint8_t> out_;
  // The bytes of `out_` that are filled.
  std::uint64_t filled_ = 0;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_READER_H_
