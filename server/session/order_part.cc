#include "server/session/order_part.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/sampler/sampler.h"

namespace forebay::session {
namespace {

// The most samples in an answer. A message has room for that many varints of 10
// bytes, the longest ones.
constexpr std::uint32_t kMostSamples = 6000;

}  // namespace

absl::Status DrawPart(const proto::DrawOrder& request,
                      proto::OrderDrawn& drawn) {
  if (request.count() < 1 || request.count() > kMostSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat("an order is drawn by 1 to ", kMostSamples,
                     " samples at once, not ", request.count()));
  }
  FOREBAY_RETURN_IF_ERROR(sampler::Sampler::CheckEpoch(request.epoch()));
  FOREBAY_ASSIGN_OR_RETURN(
      const sampler::Sampler sampler,
      sampler::Sampler::Create(request.sampler(), request.dataset_size()));
  if (sampler.is_listed() || sampler.is_coordinated()) {
    return absl::InvalidArgumentError(
        "only an order that the seed keys can be drawn");
  }
  // Positions beyond the end of the order give no samples.
  const sampler::EpochOrder order = sampler.Epoch(request.epoch());
  const std::uint64_t first = std::min(request.first(), order.samples());
  const std::uint64_t end =
      first + std::min<std::uint64_t>(request.count(), order.samples() - first);
  for (std::uint64_t place = first; place < end; ++place)
    drawn.add_samples(order.SampleAt(place));
  return absl::OkStatus();
}

}  // namespace forebay::session
