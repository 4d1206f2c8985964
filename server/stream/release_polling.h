#ifndef FOREBAY_SERVER_STREAM_RELEASE_POLLING_H_
#define FOREBAY_SERVER_STREAM_RELEASE_POLLING_H_

#include <cstdint>

#include "server/stream/batch_cache.h"
#include "server/stream/member_set.h"

namespace forebay::stream {

// Counts the threads that poll the members' release rings, and tells the
// members whether any does. While a thread polls, members need not wake the
// stream. Calls of Enter and Leave are paired; between them, the thread calls
// MemberSet::TakeReleases.
//
// Not thread-safe: the stream guards it, with the members and the batch cache,
// which outlive it. Owns nothing. Never blocks. No errors.
class ReleasePolling {
 public:
  ReleasePolling(MemberSet* members, BatchCache* batch_cache)
      : members_(members), batch_cache_(batch_cache) {}

  // Registers a polling thread.
  void Enter() {
    ++threads_;
    members_->SetLooking(true);
  }
  // Ends the registration of a thread. The caller then calls TellMembers.
  void Leave() { --threads_; }

  // Tells that a plan is made from what the members' rings hold now.
  void Planned() { heard_ = members_->Heard(); }
  // Tells the members whether any thread polls. Returns true if a ring changed
  // before its member was told that polling ended. The caller then plans again,
  // and calls TellMembers again.
  bool TellMembers();

 private:
  MemberSet* const members_;
  BatchCache* const batch_cache_;
  // The number of polling threads.
  std::uint32_t threads_ = 0;
  // MemberSet::Heard at the last call of Planned.
  std::uint64_t heard_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_RELEASE_POLLING_H_
