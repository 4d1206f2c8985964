#ifndef FOREBAY_SERVER_STREAM_EPOCH_PAIRS_H_
#define FOREBAY_SERVER_STREAM_EPOCH_PAIRS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/index_list.h"
#include "server/sampler/sampler.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// The epochs that a stream's members are in, each made once for all members.
//
// Not thread-safe: the stream guards it. Shares the epochs; the sampler
// outlives it. Never blocks. No errors.
class EpochPairs {
 public:
  explicit EpochPairs(const sampler::Sampler* sampler) : sampler_(sampler) {}

  // Whether an epoch may have another order when it is started again.
  bool vary() const {
    return sampler_->is_listed() || sampler_->is_coordinated();
  }
  // Returns the orders for a member that starts an epoch. `samples` is the
  // epoch's list, if the order is listed.
  std::shared_ptr<const EpochPair> Of(
      std::uint64_t epoch, std::shared_ptr<const base::IndexList> samples);
  // Returns the number of samples of an epoch; in a listed order, of the epoch
  // that was started last.
  std::uint64_t samples_per_epoch() const;

 private:
  const sampler::Sampler* const sampler_;
  // The epochs that members are in; in an order that varies, only the epoch
  // that was started last.
  std::vector<std::shared_ptr<const EpochPair>> pairs_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_EPOCH_PAIRS_H_
