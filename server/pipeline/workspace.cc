#include "server/pipeline/workspace.h"

#include <algorithm>

#include "server/base/status.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {

// The decoder has the limit of the larger workspace. An image that fits only
// there passes the decoder, and then fails for lack of scratch, so that
// WantsLarger sends it there.
Workspace::Parts::Parts(const WorkspaceLimits& limits)
    : decoder({limits.max_pixels,
               std::max(limits.scratch_bytes, limits.larger_scratch_bytes)}),
      scratch(limits.scratch_bytes) {}

absl::StatusOr<decode::ImageInfo> Workspace::Parts::Open(
    absl::Span<const std::uint8_t> encoded, bool upright) {
  // `encoded` may itself lie in the scratch, if it was decompressed there.
  scratch.ResetBehind(encoded);
  FOREBAY_ASSIGN_OR_RETURN(
      const decode::ImageInfo info,
      upright ? decoder.OpenUpright(encoded) : decoder.Open(encoded));
  FOREBAY_RETURN_IF_ERROR(scratch.Count(info.scratch_bytes, "decoding"));
  return info;
}

Workspace::Workspace(const WorkspaceLimits& limits)
    : limits_(limits), parts_(std::make_unique<Parts>(limits)) {}

Workspace::~Workspace() = default;

absl::StatusOr<absl::Span<std::uint8_t>> Workspace::RoomToDecompress(
    std::uint64_t bytes) {
  // The room must be the first allocation, because ResetBehind keeps only that.
  parts_->scratch.Reset();
  FOREBAY_ASSIGN_OR_RETURN(
      std::uint8_t* const room,
      parts_->scratch.Allocate<std::uint8_t>(bytes, "decompressing"));
  return absl::MakeSpan(room, bytes);
}

bool Workspace::WantsLarger() const {
  return parts_->scratch.ran_out() &&
         limits_.larger_scratch_bytes > limits_.scratch_bytes;
}

}  // namespace forebay::pipeline
