#ifndef FOREBAY_SERVER_STREAM_AUDIENCE_H_
#define FOREBAY_SERVER_STREAM_AUDIENCE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/batch_layout.h"
#include "server/stream/member.h"

namespace forebay::stream {

// The members of a stream: everything is published to all of them.
// Not thread-safe: the stream guards it. Channels belong to the members and
// outlive their part. Never blocks; no errors.
class Audience {
 public:
  // Members count from 1: 0 is free for the stream's own leases.
  arena::Holder Join(arena::Channel* channel);
  void Remove(arena::Holder member);
  // Null if there is none, or it was removed.
  Member* Find(arena::Holder member);

  // Entries that the slowest member has not taken.
  std::size_t Untaken();
  // Batches that the fastest member has not taken.
  std::size_t Ready();

  // Whether the stream looks for releases, or has to be told of them. Says so
  // to the members; true if the answer is another than before.
  bool SetLooking(bool looking);
  // Ends the leases that members have released. Whoever serves a member in
  // whose ring there is garbage is told as if it had released something.
  void TakeReleases(arena::SlotPool* pool);

  void StartEpoch(std::uint64_t first_sample);
  // Completes a batch and leases its slot to all. False if there is nobody: the
  // slot is free again.
  bool Publish(const Batch& batch, const BatchLayout& layout,
               arena::SlotPool& pool);
  // The closing entry of an epoch: its error, or its end.
  void Close(const absl::Status& status, std::uint64_t epoch);

 private:
  std::vector<arena::Holder> Holders() const;

  std::vector<Member> members_;
  arena::Holder last_ = 0;
  bool looking_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_AUDIENCE_H_
