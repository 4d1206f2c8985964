#ifndef FOREBAY_SERVER_STREAM_EPOCH_START_H_
#define FOREBAY_SERVER_STREAM_EPOCH_START_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "server/base/index_list.h"
#include "server/sampler/sample_set.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// The place at which a member begins an epoch.
struct EpochStart {
  std::uint64_t epoch = 0;
  // The number of samples to skip.
  std::uint64_t first_sample = 0;
  // The epoch's samples, as Sampler::Epoch takes them; null unless the order is
  // listed.
  std::shared_ptr<const base::IndexList> samples = nullptr;
  // The samples of the epoch that the member has already seen, if the order is
  // coordinated; null for none.
  std::shared_ptr<const base::IndexList> seen_samples = nullptr;
};

// The result of CheckStart.
struct CheckedStart {
  // The number of samples of the epoch.
  std::uint64_t samples = 0;
  // The samples that the member has already seen, for
  // Coordinator::OrderMember::Start; nullopt unless the order is coordinated.
  std::optional<sampler::SampleSet> seen_samples;
};

// Checks that an epoch of the stream `spec` can begin at `start`. Thread-safe.
// Does not block. INVALID_ARGUMENT: no epoch has that number, or a list does
// not fit the order. OUT_OF_RANGE: the epoch has fewer samples.
absl::StatusOr<CheckedStart> CheckStart(const StreamSpec& spec,
                                        const EpochStart& start);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_EPOCH_START_H_
