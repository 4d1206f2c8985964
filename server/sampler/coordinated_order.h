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
// same sample at about the same time, whatever their speeds, and whenever they
// began. Each sees every sample exactly once in each of its epochs, in an order
// that is uniformly random for it: no sample is treated unlike another. But the
// orders depend on one another: those of different members, and those of a
// member's successive epochs.
//
// A member takes a decoded sample that it has not seen in this epoch, if there
// is one. Else it draws a sample anew, which becomes decoded for the others. It
// draws one that the member with the least left lacks too; the others mostly
// lack all of those. So each draw serves all members, and none gets ahead by
// using the others' draws without being of use to them. A member avoids samples
// that are in flight for others, if it can: it finds them decoded later. The
// member with the most left of its epoch draws now and then without need, from
// all that it lacks, so that epochs do not repeat one cycle for ever. A member
// that stands still counts for nothing in this.
//
// Equal (size, capacity, seed) and the same calls give the same samples, on
// every machine. Takes a bit a sample and member, and memory for the decoded
// samples; Next takes the same short time at any point of an epoch. Not
// thread-safe. Never blocks; no errors.
class CoordinatedOrder {
 public:
  using Member = std::size_t;

  // `size` samples, at least one; at most `capacity` of them are decoded.
  CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                   std::uint64_t seed);

  std::uint64_t size() const { return size_; }

  // Adds a member, at the beginning of an epoch. Reuses the numbers of members
  // that left.
  Member Join();
  void Leave(Member member);

  // The member begins an epoch of which it has seen those samples.
  void StartEpoch(Member member, SampleSet seen);
  // Samples left of its epoch.
  std::uint64_t Left(Member member) const;

  // The member's next sample; some must be left. It is in flight until Done.
  std::uint64_t Next(Member member);
  // Ends the flight of a sample that Next returned.
  void Done(std::uint64_t sample);
  bool IsInFlight(std::uint64_t sample) const {
    return in_flight_.contains(sample);
  }
  // Adds a decoded sample, until it is dropped or evicted for others.
  void Put(std::uint64_t sample);
  void Drop(std::uint64_t sample) { decoded_.Drop(sample); }
  // Sets how many samples are decoded at most.
  void SetCapacity(std::size_t capacity) { decoded_.SetCapacity(capacity); }

  // The decoded samples that were evicted since the last call.
  std::vector<std::uint64_t> TakeRemoved() { return decoded_.TakeRemoved(); }

  // How many decoded samples the member has not seen.
  std::size_t DecodedFor(Member member) const {
    return decoded_.Wanted(member);
  }
  bool IsDecoded(std::uint64_t sample) const { return decoded_.Has(sample); }
  std::size_t decoded() const { return decoded_.size(); }
  std::size_t capacity() const { return decoded_.capacity(); }
  // Whether the member has had the sample in its epoch.
  bool HasSeen(Member member, std::uint64_t sample) const {
    return members_[member]->seen.Has(sample);
  }
  // Whether another member lacks it in its own.
  bool IsLackedByOthers(Member member, std::uint64_t sample) const;

 private:
  struct Epoch {
    explicit Epoch(std::uint64_t size) : seen(size) {}

    SampleSet seen;
    // How many samples all had drawn anew when it drew its last, if any.
    std::optional<std::uint64_t> moved_at;
  };

  // Whether a sample drawn now is likely to stay decoded until the member takes
  // its next.
  bool Moves(const Epoch& epoch) const;
  // Whether it has more left than any other member that moves, if any does.
  bool HasMostLeft(Member member) const;
  // The member with the least left, but some, of this one and those that move.
  Member LeastLeft(Member member) const;
  // A sample that the member lacks, and `like` too, if that can be.
  std::uint64_t DrawAnew(Member member, Member like,
                         base::PhiloxStream& random) const;
  std::vector<const SampleSet*> Sets() const;

  const std::uint64_t size_;
  const std::uint64_t seed_;
  DecodedSampleSet decoded_;
  std::vector<std::unique_ptr<Epoch>> members_;  // null where a member left
  // By sample in flight: for how many members.
  absl::flat_hash_map<std::uint64_t, std::uint32_t> in_flight_;
  std::uint64_t draws_ = 0;
  std::uint64_t drawn_anew_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
