#ifndef FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
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
// A member takes one of the samples that are cheap just now (those on the
// shelf), if there is one that it has not seen in this epoch; else it draws one
// anew, which becomes cheap for the others once it is put on the shelf: one of
// those that the member with the least left lacks too, since the others mostly
// lack them all. So each draw serves all of them, and none gets ahead because
// it can do with what others draw, but not they with what it draws. What
// somebody has in the making is left to be taken from the shelf, where there is
// anything else. Whoever has most left of its epoch draws now and then without
// need, of all that it lacks: so epochs do not come to run the same round for
// ever. A member that stands still counts for nothing in this.
//
// Equal (size, capacity, seed) and the same calls give the same samples, on
// every machine. Takes a bit a sample and member, and memory for what is on the
// shelf; Next takes the same short time at any point of an epoch. Not
// thread-safe. Never blocks. Errors: those of Resume.
class CoordinatedOrder {
 public:
  using Member = std::size_t;

  // `size` samples, at least one; at most `capacity` on the shelf.
  CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                   std::uint64_t seed);

  std::uint64_t size() const { return size_; }

  // One member more, at the begin of an epoch. Its number may be one that
  // another had who left.
  Member Join();
  void Leave(Member member);

  // It begins an epoch anew, whatever it has seen.
  void StartEpoch(Member member);
  // It goes on with one of which it has seen those: as SampleSet::Assign.
  absl::Status Resume(Member member, absl::Span<const std::uint8_t> seen);
  // What it has seen of its epoch, as Resume takes it.
  std::vector<std::uint8_t> Seen(Member member) const;
  // Samples left of its epoch.
  std::uint64_t Left(Member member) const;

  // The member's next sample; something must be left. It is in the making until
  // it is Done.
  std::uint64_t Next(Member member);
  // A member has no more to do with a sample that Next gave it.
  void Done(std::uint64_t sample);
  bool IsInFlight(std::uint64_t sample) const {
    return in_flight_.contains(sample);
  }
  // The sample is cheap to have, until it is dropped, or has to make room for
  // others.
  void Put(std::uint64_t sample);
  void Drop(std::uint64_t sample) { decoded_.Drop(sample); }
  // From now on, so many are on the shelf at most.
  void SetCapacity(std::size_t capacity) { decoded_.SetCapacity(capacity); }

  // Samples that are cheap no longer, because they had to make room.
  std::vector<std::uint64_t> TakeRemoved() { return decoded_.TakeRemoved(); }

  // Samples that the member could take from the shelf.
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
    // How many samples all had drawn anew when it drew the last; none yet.
    std::optional<std::uint64_t> moved_at;
  };

  // Whether what is drawn now stays on the shelf until the member goes on.
  bool Moves(const Epoch& epoch) const;
  // Whether it has more left than any other that moves, of whom there are some.
  bool HasMostLeft(Member member) const;
  // Who has the least left, but something, of those that move and this one.
  Member LeastLeft(Member member) const;
  // A sample that the member lacks, and `like` too, if that can be.
  std::uint64_t DrawAnew(Member member, Member like,
                         base::PhiloxStream& random) const;
  std::vector<const SampleSet*> Sets() const;

  const std::uint64_t size_;
  const std::uint64_t seed_;
  DecodedSampleSet decoded_;
  std::vector<std::unique_ptr<Epoch>> members_;  // null: it left
  // By how many each is in the making.
  absl::flat_hash_map<std::uint64_t, std::uint32_t> in_flight_;
  std::uint64_t draws_ = 0;
  std::uint64_t drawn_anew_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
