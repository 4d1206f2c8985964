#include "server/survey/value_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::survey {
namespace {

// An item has the size in its lower bits, and the number of the rate above.
constexpr int kSizeBits = 44;
// Clips of so many rates are no dataset: each costs a search.
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

}  // namespace forebay::survey
