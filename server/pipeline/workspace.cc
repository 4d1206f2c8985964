#include "server/pipeline/workspace.h"

#include <algorithm>

#include "server/base/status.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {

// An image that a larger workspace could decode is for that to refuse.
Workspace::Parts::Parts(const WorkspaceLimits& limits)
    : decoder({limits.max_pixels,
               std::max(limits.scratch_bytes, limits.larger_scratch_bytes)}),
      scratch(limits.scratch_bytes) {}

absl::StatusOr<decode::ImageInfo> Workspace::Parts::Open(
    absl::Span<const std::uint8_t> encoded, bool upright) {
  // An image that was unpacked lies there.
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

absl::StatusOr<absl::Span<std::uint8_t>> Workspace::RoomToUnpack(
    std::uint64_t bytes) {
  parts_->scratch.Reset();
  FOREBAY_ASSIGN_OR_RETURN(
      std::uint8_t* const room,
      parts_->scratch.Allocate<std::uint8_t>(bytes, "unpacking"));
  return absl::MakeSpan(room, bytes);
}

bool Workspace::WantsLarger() const {
  return parts_->scratch.ran_out() &&
         limits_.larger_scratch_bytes > limits_.scratch_bytes;
}

}  // namespace forebay::pipeline
