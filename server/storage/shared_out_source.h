#ifndef FOREBAY_SERVER_STORAGE_SHARED_OUT_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_SHARED_OUT_SOURCE_H_

#include "server/schedule/job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/source_state.h"

namespace forebay::storage {

// A source that divides its resource among jobs, by their weights and caps.
// Threads, ownership, blocking and errors are as ByteSource and JobShares say.
// State does not block.
class SharedOutSource : public ByteSource, public schedule::JobShares {
 public:
  // Returns how many requests wait, and how many are in flight, at the moment.
  virtual SourceState State() const = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_SHARED_OUT_SOURCE_H_
