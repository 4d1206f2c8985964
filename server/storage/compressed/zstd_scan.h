#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_SCAN_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_SCAN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/zstd_frame.h"

namespace forebay::storage::compressed {

// The scan of a file of zstd frames. Access points lie at the beginnings of
// frames. Bytes more than ZstdReader::kMostSkip after the beginning of their
// frame are kept in pieces. A frame whose window is longer than
// ZstdReader::kMostWindow is kept in pieces as a whole.
//
// Threads, ownership, blocking and errors are as CompressedScan says.
// UNIMPLEMENTED if a frame needs a dictionary, or a window of more than
// kMostWindow bytes.
class ZstdScan final : public CompressedScan {
 public:
  // The largest window that a scan accepts, in bytes: the limit of the program
  // zstd without --long.
  static constexpr std::uint64_t kMostWindow = std::uint64_t{128} << 20;

  // Makes a scan that counts its memory in `memory`, which outlives it.
  static absl::StatusOr<std::unique_ptr<ZstdScan>> Create(
      base::WorkingMemory* memory);
  ~ZstdScan() override;

  absl::Status Take(absl::Span<const std::uint8_t> compressed, Out out,
                    OnPoint on_point) override;
  absl::Status Finish(OnPoint on_point) override;

  std::uint64_t compressed_bytes() const override { return in_; }
  std::uint64_t decompressed_bytes() const override { return out_; }

 private:
  struct State;
  enum class Place { kInHeader, kInFrame, kInSkipped };

  ZstdScan(std::unique_ptr<State> state, base::WorkingMemory* memory);

  // TakeHeader and DecompressSome take some of `rest`, and return how many
  // bytes they took.
  absl::StatusOr<std::uint64_t> TakeHeader(absl::Span<const std::uint8_t> rest,
                                           Out out, OnPoint on_point);
  absl::StatusOr<std::uint64_t> DecompressSome(
      absl::Span<const std::uint8_t> rest, Out out, OnPoint on_point);
  // Decides whether the frame's beginning may be a point, and from which byte
  // on the frame is kept in pieces.
  absl::Status BeginFrame(const ZstdFrame& frame);
  absl::Status EndFrame(OnPoint on_point);
  // If a decoder with that window takes more bytes than `counted_`, counts the
  // difference in `memory_`.
  absl::Status Provide(std::uint64_t window_bytes);
  // Appends bytes to `piece_`, and passes each full piece to `on_point`.
  absl::Status KeepPieces(absl::Span<const std::uint8_t> bytes,
                          OnPoint on_point);
  // Passes the piece to `on_point`, and begins the next one.
  absl::Status TellPiece(OnPoint on_point);
  // Passes the candidate to `on_point`, if it is time for a new point.
  absl::Status TellPoint(OnPoint on_point);

  base::WorkingMemory* const memory_;
  const std::unique_ptr<State> state_;
  // The bytes that are counted in memory_ for the decoder.
  std::uint64_t counted_ = 0;

  Place place_ = Place::kInHeader;
  std::array<std::uint8_t, kZstdHeaderBytes> header_ = {};
  // The bytes of `header_` that were taken.
  std::uint64_t header_bytes_ = 0;
  // The bytes of a skippable frame that are still to be skipped.
  std::uint64_t skip_left_ = 0;
  // Whether a frame has begun, a skippable one included.
  bool any_frame_ = false;
  // Whether zstd may have more output for the bytes that it has taken.
  bool is_pending_ = false;
  // The compressed bytes that were taken.
  std::uint64_t in_ = 0;
  // The bytes that were decompressed.
  std::uint64_t out_ = 0;
  // The byte of the compressed file where the frame begins.
  std::uint64_t frame_in_ = 0;
  // The decompressed byte from which on pieces of the frame are kept.
  std::uint64_t keep_from_ = 0;
  // Whether the bytes that come now are kept in pieces.
  bool keeps_ = false;

  // The offset of the last point that `on_point` received.
  std::uint64_t last_point_ = 0;
  // Whether the next bytes need a new point: there is no point yet, or the last
  // one has a piece.
  bool needs_point_ = true;
  // The beginning of a frame that may be the next point: its place in the
  // compressed and in the decompressed file.
  bool has_candidate_ = false;
  std::uint64_t candidate_in_ = 0;
  std::uint64_t candidate_out_ = 0;
  // The bytes of the next piece, and where it begins in the compressed and in
  // the decompressed file.
  std::vector<std::uint8_t> piece_;
  std::uint64_t piece_in_ = 0;
  std::uint64_t piece_out_ = 0;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_SCAN_H_
