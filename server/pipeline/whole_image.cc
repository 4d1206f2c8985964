#include "server/pipeline/whole_image.h"

#include <cstring>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

constexpr std::uint64_t kChannels = 3;

class CopySink final : public decode::RowSink {
 public:
  CopySink(std::size_t row_bytes, std::uint8_t* out)
      : row_bytes_(row_bytes), out_(out) {}

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override {
    for (std::size_t row = 0; row < count; ++row) {
      std::memcpy(out_ + (first_row + row) * row_bytes_,
                  rgb + row * stride_bytes, row_bytes_);
    }
  }

 private:
  const std::size_t row_bytes_;
  std::uint8_t* const out_;
};

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
  decode::AnyImageDecoder& decoder = workspace.parts().decoder;
  FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info, decoder.Open(encoded));
  const std::uint64_t row_bytes = info.width * kChannels;
  FOREBAY_CHECK(out.size() == row_bytes * info.height);
  CopySink sink(row_bytes, out.data());
  return decoder.Decode({0, 0, info.width, info.height}, sink);
}

}  // namespace forebay::pipeline
