#ifndef FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_SCAN_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_SCAN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/storage/inflated/packed_scan.h"
#include "server/storage/inflated/zstd_frame.h"

namespace forebay::storage::inflated {

// The scan of a file of zstd frames. As PackedScan says. UNIMPLEMENTED: a frame
// needs a dictionary, or a window of more than kMostWindow.
//
// Frames' begins are access points. What lies further than
// ZstdReader::kMostSkip behind the begin of its frame has to be kept, in
// pieces, as has all of a frame with a window that is longer than that.
class ZstdScan final : public PackedScan {
 public:
  // As zstd's own limit, without --long.
  static constexpr std::uint64_t kMostWindow = std::uint64_t{128} << 20;

  // `memory` outlives the scan.
  static absl::StatusOr<std::unique_ptr<ZstdScan>> Create(
      base::WorkingMemory* memory);
  ~ZstdScan() override;

  absl::Status Take(absl::Span<const std::uint8_t> packed, Out out,
                    Found found) override;
  absl::Status Finish(Found found) override;

  std::uint64_t taken() const override { return in_; }
  std::uint64_t inflated() const override { return out_; }

 private:
  struct State;
  enum class Place { kInHeader, kInFrame, kInSkipped };

  ZstdScan(std::unique_ptr<State> state, base::WorkingMemory* memory);

  // Take some of `rest`; return how many bytes.
  absl::StatusOr<std::uint64_t> TakeHeader(absl::Span<const std::uint8_t> rest,
                                           Out out, Found found);
  absl::StatusOr<std::uint64_t> InflateSome(absl::Span<const std::uint8_t> rest,
                                            Out out, Found found);
  absl::Status BeginFrame(const ZstdFrame& frame);
  absl::Status EndFrame(Found found);
  // Counts a decoder's memory.
  absl::Status Provide(std::uint64_t window_bytes);
  // Appends to the pieces that have to be kept.
  absl::Status KeepPieces(absl::Span<const std::uint8_t> bytes, Found found);
  absl::Status TellPiece(Found found);
  absl::Status TellPoint(Found found);

  base::WorkingMemory* const memory_;
  const std::unique_ptr<State> state_;
  std::uint64_t counted_ = 0;  // bytes, in memory_

  Place place_ = Place::kInHeader;
  std::array<std::uint8_t, kZstdHeaderBytes> header_ = {};
  std::uint64_t header_bytes_ = 0;  // of it that were taken
  std::uint64_t skip_left_ = 0;     // bytes
  bool any_frame_ = false;          // one with content, or one that is skipped
  bool is_pending_ = false;         // zstd may have more of what it took
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  std::uint64_t frame_in_ = 0;   // where the frame begins, compressed
  std::uint64_t keep_from_ = 0;  // what pieces of it are kept, inflated
  bool keeps_ = false;           // whether there are any

  std::uint64_t last_point_ = 0;  // its offset
  // Whether the last point is none for what comes now: a piece, or none at all.
  bool needs_point_ = true;
  // A frame's begin that may be the next point: there, compressed and inflated.
  bool has_candidate_ = false;
  std::uint64_t candidate_in_ = 0;
  std::uint64_t candidate_out_ = 0;
  // The next piece, and where it begins.
  std::vector<std::uint8_t> piece_;
  std::uint64_t piece_in_ = 0;
  std::uint64_t piece_out_ = 0;
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_SCAN_H_
