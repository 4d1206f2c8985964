// A dataset has few distinct sample rates. An item of 8 bytes therefore holds
// the size and, in the 20 bits above it, the index of the rate. The rate that
// was used last is tried first, since neighbouring samples often have the same
// rate.
#include "server/length_scan/value_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::length_scan {
namespace {

// Bits of an item that hold the size. The index of the rate is above them.
constexpr int kSizeBits = 44;
// The most distinct rates of a dataset. A rate is found by a linear search. No
// real dataset has so many rates.
constexpr std::size_t kMostSearched = 4096;

}  // namespace

static_assert(ValueSizes::kMostSize == (std::uint64_t{1} << kSizeBits) - 1);

absl::StatusOr<std::shared_ptr<const ValueSizes>> ValueSizes::Create(
    ValueSizesParts parts) {
  for (std::uint64_t sample = 0; sample < parts.items.size(); ++sample) {
    if (parts.items[sample] >> kSizeBits < parts.rates.size()) continue;
    return absl::DataLossError(absl::StrCat(
        "sample ", sample, " has a sample rate that is not there"));
  }
  return std::shared_ptr<const ValueSizes>(new ValueSizes(std::move(parts)));
}

ValueSize ValueSizes::Of(std::uint64_t sample) const {
  const std::uint64_t item = parts_.items[sample];
  return {.size = item & kMostSize, .rate = parts_.rates[item >> kSizeBits]};
}

ValueSizesBuilder::ValueSizesBuilder(std::uint64_t samples,
                                     base::MemoryReservation reservation) {
  parts_.items.resize(samples);
  // Rate number 0 is the rate of values that are not clips: 0 Hz.
  parts_.rates.push_back(0);
  parts_.reservation = std::move(reservation);
}

absl::StatusOr<std::uint64_t> ValueSizesBuilder::NumberOf(std::uint32_t rate) {
  std::vector<std::uint32_t>& rates = parts_.rates;
  if (rates[last_] == rate) return last_;
  const auto found = std::find(rates.begin(), rates.end(), rate);
  last_ = static_cast<std::uint64_t>(found - rates.begin());
  if (found != rates.end()) return last_;
  if (rates.size() == kMostSearched) {
    last_ = 0;
    return absl::ResourceExhaustedError(absl::StrCat(
        "has a sample rate of ", rate, " Hz, which is one of more than ",
        kMostSearched, " in this dataset"));
  }
  rates.push_back(rate);
  return last_;
}

absl::Status ValueSizesBuilder::Set(std::uint64_t sample,
                                    const ValueSize& size) {
  if (size.size > ValueSizes::kMostSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has a size of ", size.size, ", more than ", ValueSizes::kMostSize));
  }
  const auto number = NumberOf(size.rate);
  if (!number.ok()) return number.status();
  parts_.items[sample] = *number << kSizeBits | size.size;
  return absl::OkStatus();
}

}  // namespace forebay::length_scan
