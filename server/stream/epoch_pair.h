#ifndef FOREBAY_SERVER_STREAM_EPOCH_PAIR_H_
#define FOREBAY_SERVER_STREAM_EPOCH_PAIR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/index_list.h"
#include "server/sampler/sampler.h"

namespace forebay::stream {

// The orders of an epoch and of the next one. Shared, since they are costly to
// make. Immutable value, thread-safe, never blocks, has no errors.
struct EpochPair {
  // `list` is as Sampler::Epoch takes it.
  static std::shared_ptr<const EpochPair> Of(
      const sampler::Sampler& sampler, std::uint64_t epoch,
      std::shared_ptr<const base::IndexList> list = nullptr) {
    const sampler::EpochOrder order = sampler.Epoch(epoch, std::move(list));
    return std::make_shared<const EpochPair>(
        EpochPair{order, sampler.After(order)});
  }

  sampler::EpochOrder current;
  sampler::EpochOrder next;

  std::uint64_t epoch() const { return current.epoch(); }
  // Samples of the current epoch.
  std::uint64_t samples() const { return current.samples(); }

  // Counts the samples until `sample` comes next, from `position` of the
  // current epoch on and through the next one. Returns nullopt if it is in
  // neither.
  std::optional<std::uint64_t> SamplesUntil(std::uint64_t sample,
                                            std::uint64_t position) const {
    const auto now = current.PositionOf(sample, position);
    if (now.has_value()) return *now - position;
    const auto then = next.PositionOf(sample);
    if (!then.has_value()) return std::nullopt;
    return samples() - (position < samples() ? position : samples()) + *then;
  }
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_EPOCH_PAIR_H_
