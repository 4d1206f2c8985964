#include "server/stream/sample_room.h"

#include <utility>

#include "server/base/check.h"

namespace forebay::stream {
namespace {

// The least bytes of a .npy file's header: the format pads header and magic to
// a multiple of 64 bytes.
constexpr std::uint64_t kLeastHeader = 64;

}  // namespace

SampleRoom::SampleRoom(std::shared_ptr<const dataset::Dataset> dataset,
                       std::vector<FieldType> fields, MeasuredField measured)
    : dataset_(std::move(dataset)),
      fields_(std::move(fields)),
      measured_(std::move(measured)) {
  FOREBAY_CHECK(fields_.size() == dataset_->fields().size());
}

void SampleRoom::BytesOf(std::uint64_t sample,
                         absl::Span<std::uint64_t> bytes) const {
  dataset_->MostBytesOf(sample, bytes);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const FieldType& type = fields_[i];
    if (!type.varies()) {
      bytes[i] = 0;
    } else if (measured_.sizes != nullptr && measured_.field == i) {
      const auto outcome = type.OutcomeOf(measured_.sizes->Of(sample));
      if (__builtin_mul_overflow(type.BytesOfEach(), outcome.length, &bytes[i]))
        bytes[i] = ~std::uint64_t{0};
    } else if (type.ragged) {
      const std::uint64_t longest = type.value.shape.front();
      const std::uint64_t each = longest == 0 ? 0 : type.value.bytes / longest;
      const bool has_header = type.header_bytes > 0;
      bytes[i] =
          each * type.ElementsIn(bytes[i], has_header ? kLeastHeader : 0);
    }
  }
}

}  // namespace forebay::stream
