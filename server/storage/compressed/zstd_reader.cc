#include "server/storage/compressed/zstd_reader.h"

#include <algorithm>

#include "server/base/status.h"

namespace forebay::storage::compressed {

std::unique_ptr<ZstdDecoder> ZstdDecoders::Take() {
  {
    base::MutexLock lock(&mutex_);
    if (!spare_.empty()) {
      std::unique_ptr<ZstdDecoder> decoder = std::move(spare_.back());
      spare_.pop_back();
      return decoder;
    }
  }
  return std::make_unique<ZstdDecoder>(ZstdReader::kMostWindowLog);
}

void ZstdDecoders::GiveBack(std::unique_ptr<ZstdDecoder> decoder) {
  decoder->Reset();
  base::MutexLock lock(&mutex_);
  spare_.push_back(std::move(decoder));
}

absl::StatusOr<std::uint64_t> ZstdReader::Take(
    absl::Span<const std::uint8_t> compressed) {
  const std::size_t given = compressed.size();
  std::uint64_t left = kMostAtOnce;
  DecompressionScratch scratch(scratches_.get());
  const absl::Span<std::uint8_t> skipped = absl::MakeSpan(scratch.bytes());
  while (!done() && left > 0 && (!compressed.empty() || is_pending_)) {
    const absl::Span<std::uint8_t> room =
        skip_ > 0 ? skipped.first(
                        std::min<std::uint64_t>({skip_, skipped.size(), left}))
                  : out_.subspan(filled_, left);
    FOREBAY_ASSIGN_OR_RETURN(const ZstdDecoder::Step step,
                             decoder_->Decode(compressed, room));
    compressed.remove_prefix(step.took);
    left -= step.output_bytes;
    if (skip_ > 0)
      skip_ -= step.output_bytes;
    else
      filled_ += step.output_bytes;
    is_pending_ = step.output_bytes == room.size() && !step.is_frames_end;
  }
  return given - compressed.size();
}

}  // namespace forebay::storage::compressed
