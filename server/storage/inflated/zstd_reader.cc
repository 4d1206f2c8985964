#include "server/storage/inflated/zstd_reader.h"

#include <algorithm>

#include "server/base/status.h"

namespace forebay::storage::inflated {

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
    absl::Span<const std::uint8_t> packed) {
  const std::size_t given = packed.size();
  std::uint64_t left = kMostAtOnce;
  Scratch scratch(scratches_.get());
  const absl::Span<std::uint8_t> skipped = absl::MakeSpan(scratch.bytes());
  while (!done() && left > 0 && (!packed.empty() || is_pending_)) {
    const absl::Span<std::uint8_t> room =
        skip_ > 0 ? skipped.first(
                        std::min<std::uint64_t>({skip_, skipped.size(), left}))
                  : out_.subspan(filled_, left);
    FOREBAY_ASSIGN_OR_RETURN(const ZstdDecoder::Step step,
                             decoder_->Decode(packed, room));
    packed.remove_prefix(step.took);
    left -= step.made;
    if (skip_ > 0)
      skip_ -= step.made;
    else
      filled_ += step.made;
    is_pending_ = step.made == room.size() && !step.is_frames_end;
  }
  return given - packed.size();
}

}  // namespace forebay::storage::inflated
