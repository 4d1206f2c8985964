#include "server/pipeline/image/op_parameters.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::pipeline::image {
namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Returns the mode of a padding. The default is constant.
transform::PadMode ModeOf(proto::PaddingMode mode) {
  switch (mode) {
    case proto::EDGE:
      return transform::PadMode::kEdge;
    case proto::REFLECT:
      return transform::PadMode::kReflect;
    case proto::SYMMETRIC:
      return transform::PadMode::kSymmetric;
    default:
      return transform::PadMode::kConstant;
  }
}

}  // namespace

transform::Filter FilterOf(proto::Interpolation interpolation) {
  switch (interpolation) {
    case proto::NEAREST:
      return transform::Filter::kNearest;
    case proto::BICUBIC:
      return transform::Filter::kBicubic;
    case proto::BILINEAR_ALIASED:
      return transform::Filter::kBilinearAliased;
    default:
      return transform::Filter::kBilinear;
  }
}

transform::Padding PaddingOf(const proto::Padding& message) {
  return {message.left(), message.top(), message.right(), message.bottom(),
          ModeOf(message.mode())};
}

absl::StatusOr<ChannelValues> FillOf(const proto::Padding& message,
                                     int channels) {
  if (message.fill().empty()) return ChannelValues{};
  return PerChannel(message.fill(), channels, "fill");
}

absl::StatusOr<ChannelValues> PerChannel(absl::Span<const double> numbers,
                                         int channels, std::string_view name) {
  const auto count = static_cast<std::size_t>(channels);
  if (numbers.size() != 1 && numbers.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(View(name), " has ", numbers.size(),
                     " values for an image of ", channels, " channels"));
  }
  ChannelValues result{};
  for (std::size_t c = 0; c < transform::kColors; ++c)
    result[c] = numbers[numbers.size() == 1 || c >= count ? 0 : c];
  return result;
}

absl::Status CheckOrder(double min, double max, std::string_view name) {
  if (min <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      View(name), " is ", min, " to ", max, ", whose ends are in wrong order"));
}

}  // namespace forebay::pipeline::image
