#ifndef FOREBAY_SERVER_STREAM_EPOCH_PAIR_H_
#define FOREBAY_SERVER_STREAM_EPOCH_PAIR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/index_list.h"
#include "server/sampler/sampler.h"

namespace forebay::stream {

// The orders of an epoch and of the next one. They are shared, since they are
// costly to make.
//
// Immutable value, thread-safe. Shares lists and windows with its copies. Never
// blocks, but may plan a window. No errors.
struct EpochPair {
  // Creates the pair of epoch `epoch` and the epoch after it. `list` is passed
  // to Sampler::Epoch.
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
  // Returns the number of samples of the current epoch.
  std::uint64_t samples() const { return current.samples(); }

  // Returns the number of samples from `position` of the current epoch until
  // `sample` comes next. Looks in the rest of the current epoch and in the next
  // one; returns nullopt if `sample` is in neither.
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
