#ifndef FOREBAY_SERVER_SAMPLER_SAMPLER_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace forebay::sampler {

// Which sample stands where in each epoch of one rank, and the other way round;
// O(1) both ways and in memory. Immutable value, thread-safe, never blocks.
// Create fails with INVALID_ARGUMENT.
class Sampler {
 public:
  static absl::StatusOr<Sampler> Create(const proto::SamplerSpec& spec,
                                        std::uint64_t dataset_size);

  // Samples that this rank sees in an epoch; at most 2^62.
  std::uint64_t samples_per_epoch() const;

  // The sample (0 to dataset_size - 1) at `position` (0 to samples_per_epoch()
  // - 1).
  std::uint64_t SampleAt(std::uint64_t epoch, std::uint64_t position) const;

  // The first position of `sample` in this rank's epoch; nullopt if another
  // rank sees it, or none does.
  std::optional<std::uint64_t> PositionOf(std::uint64_t epoch,
                                          std::uint64_t sample) const;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLER_H_
