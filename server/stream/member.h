#ifndef FOREBAY_SERVER_STREAM_MEMBER_H_
#define FOREBAY_SERVER_STREAM_MEMBER_H_

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"

namespace forebay::stream {

// What one member was handed.
struct MemberCounters {
  std::uint64_t samples_delivered = 0;
  std::uint64_t batches_delivered = 0;
  std::uint64_t bytes_delivered = 0;
  std::uint64_t position = 0;  // samples delivered in the epoch under way
  std::uint32_t ready = 0;     // batches published and not taken
};

// One reader of a stream, and the account of what it took. A batch counts as
// delivered when the client says that it took it; it can say so only of what
// was published. Not thread-safe: the stream guards it. The channel outlives
// it. Never blocks. Errors: TakeReleases.
class Member {
 public:
  Member(arena::Holder holder, arena::Channel* channel)
      : holder_(holder), channel_(channel) {}

  arena::Holder holder() const { return holder_; }
  arena::Channel* channel() const { return channel_; }
  // Entries published and not taken.
  std::size_t untaken() const { return untaken_.size(); }

  void StartEpoch(std::uint64_t first_sample);
  void Publish(const proto::ReadyEntry& entry, std::uint64_t bytes);
  void PublishEnd(std::uint64_t epoch);
  void PublishError(const absl::Status& error, std::uint64_t epoch);

  // Brings the counters up to what the client has taken.
  const MemberCounters& Account();

  // Ends the leases that the client has released; without a pool it holds none.
  // INVALID_ARGUMENT, from then on: there is garbage in its ring.
  absl::Status TakeReleases(arena::SlotPool* pool);

 private:
  struct Delivery {
    bool batch = false;  // or a closing entry
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
  };

  arena::Holder holder_;
  arena::Channel* channel_;
  std::uint32_t taken_ = 0;  // ready entries accounted for
  std::deque<Delivery> untaken_;
  MemberCounters counters_;
  absl::Status releases_;  // an error once the client cannot be believed
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_MEMBER_H_
