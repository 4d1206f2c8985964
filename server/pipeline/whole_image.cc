#include "server/pipeline/whole_image.h"

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/decode/region_copy.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

constexpr std::uint64_t kChannels = 3;

}  // namespace

absl::StatusOr<TensorType> TypeOfWholeImage(
    absl::Span<const std::uint8_t> encoded, Workspace& workspace) {
  FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info,
                           workspace.parts().decoder.Open(encoded));
  TensorType type;
  type.shape = {info.height, info.width, kChannels};
  type.bytes = std::uint64_t{info.height} * info.width * kChannels;
  return type;
}

absl::Status DecodeWholeImage(absl::Span<const std::uint8_t> encoded,
                              Workspace& workspace,
                              absl::Span<std::uint8_t> out) {
  Workspace::Parts& parts = workspace.parts();
  FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info, parts.Open(encoded));
  FOREBAY_CHECK(out.size() == kChannels * info.width * info.height);
  const decode::Region all = {0, 0, info.width, info.height};
  decode::RegionCopy copy(all, out.data());
  return parts.decoder.Decode(all, copy);
}

}  // namespace forebay::pipeline
