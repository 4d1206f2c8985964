#include "server/storage/compressed/zstd_scan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/zstd_decoder.h"
#include "server/storage/compressed/zstd_reader.h"

// A decoder cannot begin in the middle of a frame: libzstd does not give out
// the state that this would need. Therefore only the beginning of a frame can
// be a point without a piece. The beginning becomes a point if it lies far
// enough after the last point.
//
// Once a frame is longer than ZstdReader::kMostSkip, all its further bytes are
// kept in pieces of kMostApart bytes. The beginning of the next frame is a
// point again.
//
// A candidate is the newest beginning of a frame that lies at least half of
// kMostApart after the last point. The candidate becomes a point once the scan
// is more than kMostApart bytes past the last point, or once pieces begin.

namespace forebay::storage::compressed {
namespace {

// The binary logarithm of kMostWindow, as libzstd wants it.
constexpr int kMostWindowLog = 27;
static_assert(ZstdScan::kMostWindow == std::uint64_t{1} << kMostWindowLog);

// The most bytes that a call of Out receives. A block of zstd has no more (RFC
// 8878, 3.1.1.2.4).
constexpr std::size_t kOutBytes = std::size_t{128} << 10;

}  // namespace

struct ZstdScan::State {
  ZstdDecoder decoder{kMostWindowLog};
  std::array<std::uint8_t, kOutBytes> decompressed = {};
};

absl::StatusOr<std::unique_ptr<ZstdScan>> ZstdScan::Create(
    base::WorkingMemory* memory) {
  std::unique_ptr<ZstdScan> scan(
      new ZstdScan(std::make_unique<State>(), memory));
  FOREBAY_RETURN_IF_ERROR(scan->Provide(0));
  return scan;
}

ZstdScan::ZstdScan(std::unique_ptr<State> state, base::WorkingMemory* memory)
    : memory_(memory), state_(std::move(state)) {}

ZstdScan::~ZstdScan() { memory_->Shrink(counted_ + piece_.capacity()); }

absl::Status ZstdScan::Provide(std::uint64_t window_bytes) {
  const std::uint64_t needed =
      sizeof(State) + ZstdDecoder::BytesOf(window_bytes);
  if (needed > counted_) {
    FOREBAY_RETURN_IF_ERROR(memory_->Grow(needed - counted_));
    counted_ = needed;
  }
  return absl::OkStatus();
}

absl::Status ZstdScan::Take(absl::Span<const std::uint8_t> compressed, Out out,
                            OnPoint on_point) {
  while (!compressed.empty() || is_pending_) {
    std::uint64_t took = 0;
    if (place_ == Place::kInSkipped) {
      took = std::min<std::uint64_t>(skip_left_, compressed.size());
      in_ += took;
      skip_left_ -= took;
      if (skip_left_ == 0) place_ = Place::kInHeader;
    } else if (place_ == Place::kInHeader) {
      FOREBAY_ASSIGN_OR_RETURN(took, TakeHeader(compressed, out, on_point));
    } else {
      FOREBAY_ASSIGN_OR_RETURN(took, DecompressSome(compressed, out, on_point));
    }
    compressed.remove_prefix(took);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> ZstdScan::TakeHeader(
    absl::Span<const std::uint8_t> rest, Out out, OnPoint on_point) {
  if (header_bytes_ == 0) frame_in_ = in_;
  const std::uint64_t had = header_bytes_;
  const std::uint64_t copied =
      std::min<std::uint64_t>(header_.size() - had, rest.size());
  std::copy_n(rest.begin(), copied,
              header_.begin() + static_cast<std::ptrdiff_t>(had));
  const auto frame =
      ParseZstdFrame(absl::MakeConstSpan(header_).first(had + copied));
  if (!frame.ok()) {
    if (!any_frame_) return frame.status();
    return absl::DataLossError(
        "something that is not compressed lies behind the compressed data");
  }
  if (!frame->has_value()) {
    header_bytes_ += copied;
    in_ += copied;
    return copied;
  }
  const std::uint64_t header_bytes = (*frame)->header_bytes;
  header_bytes_ = 0;
  any_frame_ = true;
  if ((*frame)->is_skipped) {
    in_ = frame_in_ + header_bytes;
    skip_left_ = (*frame)->skipped_bytes;
    if (skip_left_ > 0) place_ = Place::kInSkipped;
    return header_bytes - had;
  }
  FOREBAY_RETURN_IF_ERROR(BeginFrame(**frame));
  // The decoder takes the header as well, and counts its bytes again.
  in_ = frame_in_;
  auto header = absl::MakeConstSpan(header_).first(header_bytes);
  while (!header.empty()) {
    FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t took,
                             DecompressSome(header, out, on_point));
    header.remove_prefix(took);
  }
  return header_bytes - had;
}

absl::Status ZstdScan::BeginFrame(const ZstdFrame& frame) {
  if (frame.has_dictionary) {
    return absl::UnimplementedError(
        "was compressed by zstd with a dictionary, which is not there");
  }
  if (frame.window_bytes > kMostWindow) {
    return absl::UnimplementedError(
        absl::StrCat("was compressed by zstd with a window of ",
                     frame.window_bytes, " bytes, more than ", kMostWindow,
                     ": compress it with --long=", kMostWindowLog, " at most"));
  }
  FOREBAY_RETURN_IF_ERROR(Provide(
      std::min(frame.window_bytes, frame.content_bytes.value_or(kMostWindow))));
  place_ = Place::kInFrame;
  keeps_ = frame.window_bytes > ZstdReader::kMostWindow;
  keep_from_ = out_ + (keeps_ ? 0 : ZstdReader::kMostSkip);
  // A candidate of the same offset is dropped: the frames since that candidate
  // were empty.
  if (candidate_out_ == out_) has_candidate_ = false;
  if (keeps_ || (!needs_point_ && out_ - last_point_ < kMostApart / 2))
    return absl::OkStatus();
  has_candidate_ = true;
  candidate_in_ = frame_in_;
  candidate_out_ = out_;
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> ZstdScan::DecompressSome(
    absl::Span<const std::uint8_t> rest, Out out, OnPoint on_point) {
  FOREBAY_ASSIGN_OR_RETURN(
      const ZstdDecoder::Step step,
      state_->decoder.Decode(rest, absl::MakeSpan(state_->decompressed)));
  is_pending_ =
      step.output_bytes == state_->decompressed.size() && !step.is_frames_end;
  in_ += step.took;
  if (step.output_bytes > 0) {
    out_ += step.output_bytes;
    if (out_ > keep_from_) keeps_ = true;
    FOREBAY_RETURN_IF_ERROR(TellPoint(on_point));
    auto bytes =
        absl::MakeConstSpan(state_->decompressed).first(step.output_bytes);
    FOREBAY_RETURN_IF_ERROR(out(bytes));
    if (keeps_) {
      bytes.remove_prefix(bytes.size() - std::min<std::uint64_t>(
                                             bytes.size(), out_ - keep_from_));
      FOREBAY_RETURN_IF_ERROR(KeepPieces(bytes, on_point));
    }
  }
  if (step.is_frames_end) {
    place_ = Place::kInHeader;
    if (keeps_) needs_point_ = true;
    if (!piece_.empty()) FOREBAY_RETURN_IF_ERROR(TellPiece(on_point));
  }
  return step.took;
}

absl::Status ZstdScan::TellPoint(OnPoint on_point) {
  if (!has_candidate_ ||
      (!needs_point_ && !keeps_ && out_ - last_point_ <= kMostApart))
    return absl::OkStatus();
  has_candidate_ = false;
  needs_point_ = false;
  last_point_ = candidate_out_;
  return on_point({candidate_out_, candidate_in_ * 8, {}, {}});
}

absl::Status ZstdScan::KeepPieces(absl::Span<const std::uint8_t> bytes,
                                  OnPoint on_point) {
  if (piece_.capacity() == 0) {
    FOREBAY_RETURN_IF_ERROR(memory_->Grow(kMostApart));
    piece_.reserve(kMostApart);
  }
  while (!bytes.empty()) {
    if (piece_.empty()) {
      piece_in_ = in_;
      piece_out_ = out_ - bytes.size();
    }
    const auto part = bytes.subspan(0, kMostApart - piece_.size());
    piece_.insert(piece_.end(), part.begin(), part.end());
    bytes.remove_prefix(part.size());
    if (piece_.size() == kMostApart)
      FOREBAY_RETURN_IF_ERROR(TellPiece(on_point));
  }
  return absl::OkStatus();
}

absl::Status ZstdScan::TellPiece(OnPoint on_point) {
  last_point_ = piece_out_;
  absl::Status status = on_point({piece_out_, piece_in_ * 8, {}, piece_});
  piece_.clear();
  return status;
}

absl::Status ZstdScan::Finish(OnPoint on_point) {
  if (place_ != Place::kInHeader || header_bytes_ > 0)
    return absl::DataLossError("is truncated in its compressed data");
  if (!any_frame_) return absl::DataLossError("is empty");
  // An index needs an access point even for empty content.
  return out_ == 0 ? on_point({}) : absl::OkStatus();
}

}  // namespace forebay::storage::compressed
