#include "server/cache/disk/segment_eviction.h"

#include <algorithm>

namespace forebay::cache::disk {
namespace {

// The time until the next use of bytes of which neither NextUse nor the reader
// says anything.
constexpr std::int64_t kNoHintNanos = std::int64_t{600} * 1'000'000'000;

// Returns the threshold of a segment whose samples are wanted in `nanos`: half
// of the time until the soonest two fifths of them have been wanted.
std::int64_t ThresholdOf(std::vector<std::int64_t> nanos) {
  if (nanos.empty()) return kNever;
  const auto end = nanos.begin() + nanos.size() * 2 / 5;
  std::nth_element(nanos.begin(), end, nanos.end());
  return *end == kNever ? kNever : *end / 2;
}

}  // namespace

std::optional<SegmentVictim> ChooseVictim(
    absl::Span<const Index::DrawnSegment> drawn, const NextUse& next_use,
    std::int64_t now_nanos) {
  std::vector<storage::SampleRef> samples;
  for (const Index::DrawnSegment& one : drawn) {
    samples.insert(samples.end(), one.samples.begin(), one.samples.end());
  }
  std::vector<std::int64_t> nanos(samples.size());
  next_use.Ask(now_nanos, samples, absl::MakeSpan(nanos));

  std::optional<SegmentVictim> first;
  std::int64_t first_used_at = 0;
  auto asked = nanos.begin();
  for (const Index::DrawnSegment& one : drawn) {
    const auto end = asked + static_cast<std::ptrdiff_t>(one.samples.size());
    std::vector<std::int64_t> own(asked, end);
    asked = end;
    std::replace(own.begin(), own.end(), kUnknown,
                 std::max<std::int64_t>(now_nanos - one.used_at_nanos, 0));
    const std::int64_t threshold = ThresholdOf(std::move(own));
    if (!first.has_value() || threshold > first->threshold_nanos ||
        (threshold == first->threshold_nanos &&
         one.used_at_nanos < first_used_at)) {
      first = {one.segment, threshold};
      first_used_at = one.used_at_nanos;
    }
  }
  return first;
}

std::vector<bool> SamplesToCarryOver(
    std::int64_t threshold_nanos, absl::Span<const storage::SampleRef> samples,
    const NextUse& next_use, std::int64_t now_nanos) {
  std::vector<std::int64_t> nanos(samples.size());
  next_use.Ask(now_nanos, samples, absl::MakeSpan(nanos));
  const std::int64_t end = threshold_nanos / 5 * 3;
  std::vector<bool> chosen(samples.size());
  std::transform(
      nanos.begin(), nanos.end(), chosen.begin(),
      [end](std::int64_t one) { return one != kUnknown && one < end; });
  return chosen;
}

std::int64_t TimeToNextUse(const storage::SampleRef& sample,
                           std::int64_t hint_nanos, const NextUse& next_use,
                           std::int64_t now_nanos) {
  std::int64_t nanos = kUnknown;
  next_use.Ask(now_nanos, {&sample, 1}, {&nanos, 1});
  if (nanos != kUnknown) return nanos;
  return hint_nanos == INT64_MAX ? kNoHintNanos : hint_nanos;
}

}  // namespace forebay::cache::disk
