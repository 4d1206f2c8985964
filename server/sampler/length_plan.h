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

// The bound of the total length of a batch, in the unit of SampleLengths.
struct LengthLimit {
  // The largest total length of a batch. A batch of one sample may be longer.
  std::uint64_t most = 0;
  // Whether batches are padded. Each sample then counts with the length of the
  // longest sample that any rank has in the same batch.
  bool padded = false;
};

// Describes how lengths decide the order of samples, and which samples make a
// batch.
struct LengthPlan {
  // The number of an epoch's places, those of all ranks, that are planned
  // together; at least 1. LengthOrder rounds it up so that all ranks have
  // equally many places.
  std::uint64_t window = 1;
  // Whether samples of similar lengths are put into one batch.
  bool sorts = false;
  // The number of samples that each rank has in a batch; with a `limit`, the
  // largest such number. At least 1.
  std::uint64_t batch = 1;
  // The bound of a batch's length; nullopt if batches have `batch` samples.
  std::optional<LengthLimit> limit = std::nullopt;
  // The lengths of the dataset's samples, which all orders by this plan share.
  std::shared_ptr<const SampleLengths> lengths = nullptr;
  // Makes the store of one epoch's planned windows.
  std::function<std::unique_ptr<WindowStore>()> make_store = nullptr;
};

// Returns how many of the given steps, from the first on, make a batch; at
// least 1 if there are any steps. In a step, each rank takes one sample.
// `lengths` has the lengths of all ranks' samples, step by step; the last step
// may lack some samples.
std::uint64_t StepsOfBatch(absl::Span<const std::uint64_t> lengths,
                           std::uint32_t world_size, const LengthPlan& plan);

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_LENGTH_PLAN_H_
