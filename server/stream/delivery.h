#ifndef FOREBAY_SERVER_STREAM_DELIVERY_H_
#define FOREBAY_SERVER_STREAM_DELIVERY_H_

#include <cstdint>
#include <functional>

#include "server/stream/audience.h"
#include "server/stream/batch.h"
#include "server/stream/member.h"
#include "server/stream/stock.h"

namespace forebay::stream {

// Publishes what is finished to the members: to each the batches of its epoch
// in order, as many at a time as its depth wants, and then the epoch's end or
// its error.
//
// Not thread-safe: the stream guards it, with the audience and the stock, which
// outlive it. Never blocks; no errors.
class Delivery {
 public:
  Delivery(Audience* audience, Stock* stock)
      : audience_(audience), stock_(stock) {}

  // Publishes all that can be. `ended` is called for each member whose epoch
  // ended with it.
  void Deliver(std::int64_t now_nanos,
               const std::function<void(const Member&)>& ended);

  // The batch that was published last.
  const BatchKey& last() const { return last_; }

 private:
  bool PublishNext(Member& member, std::int64_t now_nanos);
  // Whether the member's epoch ended: at its end, or where a batch failed.
  bool CloseIfOver(Member& member);

  Audience* const audience_;
  Stock* const stock_;
  BatchKey last_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DELIVERY_H_
