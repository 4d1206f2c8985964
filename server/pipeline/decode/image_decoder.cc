#include "server/pipeline/decode/image_decoder.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace forebay::pipeline::decode {

bool LiesIn(const Region& region, std::uint32_t width, std::uint32_t height) {
  return region.width > 0 && region.height > 0 && region.width <= width &&
         region.height <= height && region.left <= width - region.width &&
         region.top <= height - region.height;
}

absl::Status CheckLimits(std::string_view format, const ImageInfo& info,
                         const DecodeLimits& limits) {
  if (std::uint64_t{info.width} * info.height > limits.max_pixels) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "is ", info.width, " x ", info.height,
        " pixels, more than the limit of ", limits.max_pixels, " pixels"));
  }
  if (info.scratch_bytes > limits.scratch_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        format.substr(0, 1) == "A" ? "is an " : "is a ",
        absl::string_view(format.data(), format.size()), " image of ",
        info.width, " x ", info.height, " pixels that needs ",
        info.scratch_bytes, " bytes to decode, more than the limit of ",
        limits.scratch_bytes,
        " bytes (image.scratch_limit, if memory.limit has room for it)"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::decode
