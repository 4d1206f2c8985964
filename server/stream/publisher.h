#ifndef FOREBAY_SERVER_STREAM_PUBLISHER_H_
#define FOREBAY_SERVER_STREAM_PUBLISHER_H_

#include <cstdint>
#include <functional>

#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"

namespace forebay::stream {

// Publishes completed batches to the members. Each member gets the batches of
// its epoch in order, up to its prefetch depth, and then the epoch's end or its
// error.
//
// Not thread-safe: the stream guards it, with the members and the batch cache,
// which outlive it. Owns nothing. Never blocks. No errors.
class Publisher {
 public:
  Publisher(MemberSet* members, BatchCache* batch_cache)
      : members_(members), batch_cache_(batch_cache) {}

  // Publishes every batch that a member may have now. Calls `ended` for each
  // member whose epoch ended.
  void Publish(std::int64_t now_nanos,
               const std::function<void(const Member&)>& ended);

  // Returns the key of the last batch that was published.
  const BatchKey& last() const { return last_; }

 private:
  // Publishes the member's next batch, if it is cached and the member may have
  // one more. Returns whether it did.
  bool PublishNext(Member& member, std::int64_t now_nanos);
  // Publishes the closing entry if the epoch is over: at its end, or at a batch
  // that failed. Returns whether it is over.
  bool CloseIfOver(Member& member);

  MemberSet* const members_;
  BatchCache* const batch_cache_;
  BatchKey last_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PUBLISHER_H_
