#ifndef FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/base/philox.h"
#include "server/sampler/decoded_sample_set.h"
#include "server/sampler/sample_set.h"

namespace forebay::sampler {

// Picks the order for several members of one dataset, so that they want the
// same sample at about the same time. Neither their speeds nor the times at
// which they began matter. Each member sees every sample exactly once in each
// of its epochs, in an order that is uniformly random for it. But orders are
// not independent of one another: neither the orders of different members, nor
// the orders of one member's successive epochs.
//
// The algorithm:
// 1. A member takes a decoded sample that it has not seen in this epoch, if
// there is one.
// 2. If there is none, the member draws a sample anew. The sample is then
// decoded, for the other members too. The draw prefers samples that are also
// lacked by the member with the fewest samples left. The other members usually
// lack these samples too, so each draw serves all members. No member gets ahead
// with others' draws while its own draws are of no use to them.
// 3. When a member draws anew, it avoids samples that are in flight for others,
// if it can. The member will find these samples decoded later.
// 4. Now and then, the member with the most samples left draws a sample anew
// although decoded samples are there for it. The member then draws from all
// samples that it lacks. Without this rule, epochs would repeat one cycle for
// ever.
//
// A member that stands still is ignored by rules 2 and 4.
//
// Equal (size, capacity, seed) and the same calls give the same samples, on
// every machine. The order takes one bit of memory for each sample of each
// member, and some bytes for each decoded sample. Next takes the same short
// time at any point of an epoch.
//
// Not thread-safe: the caller locks. Owns its sets. Never blocks. No errors.
class CoordinatedOrder {
 public:
  // The number of a member.
  using Member = std::size_t;

  // `size` is the number of samples, at least 1. At most `capacity` of them are
  // decoded at a time.
  CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                   std::uint64_t seed);

  std::uint64_t size() const { return size_; }

  // Adds a member, at the beginning of an epoch. Reuses the numbers of members
  // that left.
  Member Join();
  // Removes a member. Its number may be given to a later member.
  void Leave(Member member);

  // Begins an epoch of the member. In this epoch, the member has already seen
  // the samples of `seen_samples`.
  void StartEpoch(Member member, SampleSet seen_samples);
  // Returns how many samples are left of the member's epoch.
  std::uint64_t Left(Member member) const;

  // Returns the member's next sample; some must be left. The sample is in
  // flight until Done.
  std::uint64_t Next(Member member);
  // Says that a sample that Next returned is no longer in flight for the
  // member. Call it once for each Next.
  void Done(std::uint64_t sample);
  // Returns whether the sample is in flight for any member.
  bool IsInFlight(std::uint64_t sample) const {
    return in_flight_.contains(sample);
  }
  // Adds a decoded sample, which stays until it is dropped, or evicted for
  // others.
  void Put(std::uint64_t sample);
  // Removes a decoded sample, which the cache no longer has.
  void Drop(std::uint64_t sample) { decoded_.Drop(sample); }
  // Sets the most samples that are decoded at a time. Evicts samples if there
  // are more.
  void SetCapacity(std::size_t capacity) { decoded_.SetCapacity(capacity); }

  // Returns the decoded samples that were evicted since the last call.
  std::vector<std::uint64_t> TakeRemoved() { return decoded_.TakeRemoved(); }

  // Returns how many decoded samples the member has not seen in its epoch.
  std::size_t DecodedFor(Member member) const {
    return decoded_.Wanted(member);
  }
  bool IsDecoded(std::uint64_t sample) const { return decoded_.Has(sample); }
  std::size_t decoded() const { return decoded_.size(); }
  std::size_t capacity() const { return decoded_.capacity(); }
  // Returns whether the member has had the sample in its epoch.
  bool HasSeen(Member member, std::uint64_t sample) const {
    return members_[member]->seen_samples.Has(sample);
  }
  // Returns whether any other member has not had the sample in its own epoch.
  bool IsLackedByOthers(Member member, std::uint64_t sample) const;

 private:
  // The epoch that a member is in.
  struct Epoch {
    explicit Epoch(std::uint64_t size) : seen_samples(size) {}

    // The samples that the member has had.
    SampleSet seen_samples;
    // The value of drawn_anew_ when the member last took a sample; nullopt if
    // it has taken none.
    std::optional<std::uint64_t> moved_at;
  };

  // Returns whether the member has taken a sample lately: at most capacity()
  // samples were drawn anew since. Otherwise a sample drawn now may be evicted
  // before the member takes another.
  bool Moves(const Epoch& epoch) const;
  // Returns whether the member has more samples left than any other member that
  // moves; false if no other member moves.
  bool HasMostLeft(Member member) const;
  // Returns the member with the fewest samples left, but more than 0, among
  // `member` and the members that move.
  Member LeastLeft(Member member) const;
  // Returns a sample that `member` lacks. If a few tries find one, the sample
  // is also lacked by `like`, and is not in flight.
  std::uint64_t DrawAnew(Member member, Member like,
                         base::PhiloxStream& random) const;
  // Returns the members' sets of seen samples by number; null for a free
  // number.
  std::vector<const SampleSet*> Sets() const;

  const std::uint64_t size_;
  const std::uint64_t seed_;
  DecodedSampleSet decoded_;
  // The members by number; null where a member left.
  std::vector<std::unique_ptr<Epoch>> members_;
  // The number of members for which each sample is in flight.
  absl::flat_hash_map<std::uint64_t, std::uint32_t> in_flight_;
  // The number of calls of Next so far, from which Next derives its random
  // numbers.
  std::uint64_t draws_ = 0;
  // Samples drawn anew so far, by all members.
  std::uint64_t drawn_anew_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
