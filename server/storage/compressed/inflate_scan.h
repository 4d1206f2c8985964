#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_INFLATE_SCAN_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_INFLATE_SCAN_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/compression.h"

namespace forebay::storage::compressed {

// The scan of a file that is compressed by deflate. The first access point is
// the file's beginning. Each further point is the beginning of a block: the
// last one that lies at most kMostApart after the previous point. Gzip members
// may follow each other, and zeros may follow the last member, as gzip permits.
//
// Threads, ownership, blocking and errors are as CompressedScan says.
class InflateScan final : public CompressedScan {
 public:
  // The bytes of memory of a scan, zlib's state included.
  static constexpr std::uint64_t kBytes = std::uint64_t{192} << 10;

  // Makes a scan that counts its memory in `memory`, which outlives it.
  static absl::StatusOr<std::unique_ptr<InflateScan>> Create(
      Compression compression, base::WorkingMemory* memory);
  ~InflateScan() override;

  absl::Status Take(absl::Span<const std::uint8_t> compressed, Out out,
                    OnPoint on_point) override;
  absl::Status Finish(OnPoint on_point) override;

  std::uint64_t compressed_bytes() const override { return in_; }
  std::uint64_t decompressed_bytes() const override { return out_; }

 private:
  struct State;
  enum class Place { kBetweenMembers, kInMember, kBehindAll };

  InflateScan(Compression compression, std::unique_ptr<State> state,
              base::WorkingMemory* memory);

  // Begins the member that `rest` begins with, or finds that no member follows.
  absl::Status BeginMember(absl::Span<const std::uint8_t> rest);
  // Decompresses some of `rest`. Returns how many bytes it took. If a block
  // other than the last one ends there, sets `*unused_bits` to the number of
  // bits of the last byte that belong to the next block.
  absl::StatusOr<std::uint64_t> InflateSome(absl::Span<const std::uint8_t> rest,
                                            Out out, int* unused_bits);
  // Makes the block that begins here the candidate for the next point, if the
  // block is far enough after the last point.
  void NoteBlock(int unused_bits);
  // Passes the candidate to `on_point`, if it is time for a new point.
  absl::Status TellPoint(OnPoint on_point);

  const Compression compression_;
  base::WorkingMemory* const memory_;
  const std::unique_ptr<State> state_;
  Place place_ = Place::kBetweenMembers;
  // Whether a member has ended.
  bool any_member_ = false;
  // Whether zlib may have more output for the bytes that it has taken.
  bool is_pending_ = false;
  // The compressed bytes that were taken.
  std::uint64_t in_ = 0;
  // The bytes that were decompressed.
  std::uint64_t out_ = 0;
  // The offset of the last point that `on_point` received.
  std::uint64_t last_point_ = 0;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_INFLATE_SCAN_H_
