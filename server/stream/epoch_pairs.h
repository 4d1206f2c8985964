#ifndef FOREBAY_SERVER_STREAM_EPOCH_PAIRS_H_
#define FOREBAY_SERVER_STREAM_EPOCH_PAIRS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/index_list.h"
#include "server/sampler/sampler.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// The epochs that a stream's members are in, each made once for all of them.
// Not thread-safe: the stream guards it. The sampler outlives it. Never blocks;
// no errors.
class EpochPairs {
 public:
  explicit EpochPairs(const sampler::Sampler* sampler) : sampler_(sampler) {}

  // Whether an epoch of one number may have another order when it is started
  // again.
  bool vary() const {
    return sampler_->is_listed() || sampler_->is_coordinated();
  }
  // Returns the epoch for a member that starts it. `samples`: its list, if the
  // order is listed.
  std::shared_ptr<const EpochPair> Of(
      std::uint64_t epoch, std::shared_ptr<const base::IndexList> samples);
  // The samples of an epoch: where they are listed, of the one that was started
  // last.
  std::uint64_t samples_per_epoch() const;

 private:
  const sampler::Sampler* const sampler_;
  std::vector<std::shared_ptr<const EpochPair>> pairs_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_EPOCH_PAIRS_H_
