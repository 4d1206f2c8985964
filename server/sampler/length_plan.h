#ifndef FOREBAY_SERVER_SAMPLER_LENGTH_PLAN_H_
#define FOREBAY_SERVER_SAMPLER_LENGTH_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "server/sampler/length_window.h"
#include "server/sampler/sample_lengths.h"

namespace forebay::sampler {

// How much a batch may have in all.
struct LengthLimit {
  std::uint64_t most = 0;
  // Whether each sample counts as much as the longest beside it.
  bool padded = false;
};

// How lengths decide the order of samples, and which of them make a batch.
struct LengthPlan {
  // The places of an epoch that are planned together, of all ranks. At least 1.
  // Is rounded up, so that all ranks have as many of them.
  std::uint64_t window = 1;
  // Whether samples of like lengths come together.
  bool sorts = false;
  // Samples of a batch; at most so many, if there is a limit. At least 1.
  std::uint64_t batch = 1;
  // A sample alone may have more.
  std::optional<LengthLimit> limit = std::nullopt;
  std::shared_ptr<const SampleLengths> lengths = nullptr;
  // Makes what keeps the windows of an epoch.
  std::function<std::unique_ptr<WindowStore>()> make_store = nullptr;
};

// Steps are what all ranks take at a time, a sample each. Returns how many of
// the first steps make a batch: at least 1, if there are any. `lengths` has
// those of all ranks' samples, step by step; the last step may lack some.
std::uint64_t StepsOfBatch(absl::Span<const std::uint64_t> lengths,
                           std::uint32_t world_size, const LengthPlan& plan);

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_LENGTH_PLAN_H_
