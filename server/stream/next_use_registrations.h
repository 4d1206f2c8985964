#ifndef FOREBAY_SERVER_STREAM_NEXT_USE_REGISTRATIONS_H_
#define FOREBAY_SERVER_STREAM_NEXT_USE_REGISTRATIONS_H_

#include <memory>
#include <vector>

#include "server/cache/next_use_registry.h"
#include "server/dataset/dataset.h"
#include "server/stream/epoch_next_use.h"

namespace forebay::stream {

// Keeps a member's next uses registered until this object is destroyed. There
// is one registration for each dataset that the samples come from. Each
// registration uses the numbers that the samples have in its dataset.
//
// Thread-safe. Owned by the stream; shares the dataset and the next uses. The
// registry (null if there is none) outlives it. Never blocks. No errors.
class NextUseRegistrations {
 public:
  NextUseRegistrations(cache::NextUseRegistry* next_use_registry,
                       const std::shared_ptr<const dataset::Dataset>& dataset,
                       const std::shared_ptr<const EpochNextUse>& next_use);

 private:
  std::vector<std::unique_ptr<cache::NextUseRegistry::Registration>>
      registrations_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_NEXT_USE_REGISTRATIONS_H_
