#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_INFLATE_READER_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_INFLATE_READER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/compressed_reader.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/compressed/scratch_pool.h"

namespace forebay::storage::compressed {

// Reads a file that is compressed by deflate (gzip members, or a zlib stream)
// from an access point on. Threads, ownership, blocking and errors are as
// CompressedReader says.
class InflateReader final : public CompressedReader {
 public:
  // The bytes of memory of a reader, zlib's state included.
  static constexpr std::uint64_t kBytes = std::uint64_t{128} << 10;

  // Makes the reader of a part that is as long as `out`. The part begins at
  // `offset`, which is not before the point. `window` is the window of the
  // point. `out` outlives the reader. Bytes before the part are decompressed
  // into buffers of `scratches`, and thrown away. RESOURCE_EXHAUSTED: there is
  // no memory for zlib's state.
  static absl::StatusOr<std::unique_ptr<InflateReader>> Create(
      Compression compression, const AccessPoint& point,
      absl::Span<const std::uint8_t> window, std::uint64_t offset,
      absl::Span<std::uint8_t> out, std::shared_ptr<ScratchPool> scratches);
  ~InflateReader() override;

  absl::StatusOr<std::uint64_t> Take(
      absl::Span<const std::uint8_t> compressed) override;
  bool pending() const override { return is_pending_; }
  bool done() const override { return filled_ == out_.size(); }

 private:
  struct State;
  // The reader's present place in the compressed bytes.
  enum class Place { kBetweenMembers, kInMember, kInTrailer };

  InflateReader(Compression compression, std::uint64_t skip,
                absl::Span<std::uint8_t> out,
                std::shared_ptr<ScratchPool> scratches,
                std::unique_ptr<State> state);

  // Decompresses at most `*left` bytes, and subtracts their number from
  // `*left`. Returns how many compressed bytes it took.
  absl::StatusOr<std::uint64_t> InflateSome(
      absl::Span<const std::uint8_t> compressed,
      absl::Span<std::uint8_t> scratch, std::uint64_t* left);

  const Compression compression_;
  const std::shared_ptr<ScratchPool> scratches_;
  const std::unique_ptr<State> state_;
  Place place_ = Place::kInMember;
  // Whether zlib sees the blocks alone, without a header or trailer. True for
  // the member in the middle of which the reader began.
  bool is_raw_ = false;
  // The number of bits of the first byte that belong to the previous block.
  int foreign_bits_ = 0;
  // Whether zlib may have more output for the bytes that it has taken.
  bool is_pending_ = false;
  // The bytes of the member's trailer that are not taken yet.
  std::uint64_t trailer_ = 0;
  // The decompressed bytes that are still to be thrown away.
  std::uint64_t skip_;
  absl::Span<std::uint8_t> out_;
  // The bytes of `out_` that are filled.
  std::uint64_t filled_ = 0;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_INFLATE_READER_H_
