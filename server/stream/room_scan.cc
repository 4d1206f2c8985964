#include "server/stream/room_scan.h"

#include <algorithm>

namespace forebay::stream {
namespace {

// Returns a + b * c, or the largest number if the result does not fit.
std::uint64_t Sum(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t sum = 0;
  if (__builtin_mul_overflow(b, c, &sum) ||
      __builtin_add_overflow(a, sum, &sum))
    return ~std::uint64_t{0};
  return sum;
}

// A text is assumed to take this many bytes for each unit of its sample's
// length. If a text takes more, `beyond` counts the excess.
constexpr std::uint64_t kTextEach = 8;

// Returns at least a * b, even after the rounding of floating-point numbers.
std::uint64_t Product(std::uint64_t a, double b) {
  constexpr double kMost = 9e18;
  const double product = static_cast<double>(a) * b * (1 + 1e-9) + 1;
  return product < kMost ? static_cast<std::uint64_t>(product)
                         : ~std::uint64_t{0};
}

std::uint64_t EachOf(const FieldType& type) {
  const std::uint64_t longest = type.value.shape.front();
  if (!type.ragged) return kTextEach;
  return longest == 0 ? 0 : type.value.bytes / longest;
}

}  // namespace

RoomScan::RoomScan(const std::vector<FieldType>& fields) {
  for (const FieldType& type : fields) {
    fields_.emplace_back();
    if (!type.varies()) continue;
    Sizes& sizes = fields_.back().emplace();
    sizes.each = EachOf(type);
    sizes.longest = type.value.bytes;
  }
}

void RoomScan::Add(absl::Span<const std::uint64_t> bytes,
                   std::uint64_t length) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!fields_[i].has_value()) continue;
    Sizes& sizes = *fields_[i];
    sizes.bytes.Add(bytes[i]);
    const std::uint64_t by_length = Sum(0, length, sizes.each);
    if (bytes[i] > by_length)
      sizes.beyond = std::max(sizes.beyond, bytes[i] - by_length);
    if (length > 0) {
      sizes.most_each =
          std::max(sizes.most_each,
                   static_cast<double>(bytes[i]) / static_cast<double>(length));
    }
  }
  if (length > 0) lengths_.Add(length);
}

std::vector<std::uint64_t> RoomScan::BytesFor(std::uint32_t samples,
                                              std::uint64_t most,
                                              bool repeats) const {
  const std::uint32_t repeated = repeats && samples > 1 ? 1 : 0;
  std::vector<std::uint64_t> bytes;
  for (const std::optional<Sizes>& sizes : fields_) {
    bytes.push_back(0);
    if (!sizes.has_value()) continue;
    bytes.back() = std::min(Sum(sizes->bytes.SumOfLargest(samples - repeated),
                                repeated, sizes->bytes.largest()),
                            Sum(0, samples, sizes->longest));
    if (most == 0) continue;
    const std::uint64_t by_length =
        Sum(Sum(0, samples, sizes->beyond), most, sizes->each);
    bytes.back() =
        std::min({bytes.back(), by_length, Product(most, sizes->most_each)});
  }
  return bytes;
}

}  // namespace forebay::stream
