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
#include "server/sampler/sample_set.h"
#include "server/sampler/shelf.h"

namespace forebay::sampler {

// Picks the order for several readers of one dataset, so that they want the
// same sample at about the same time, whatever their speeds, and whenever they
// began. Each sees every sample exactly once in each of its epochs, in an order
// that is uniformly random for it: no sample is treated unlike another. But the
// orders depend on one another: those of different readers, and those of a
// reader's successive epochs.
//
// A reader takes one of the samples that are cheap just now (those on the
// shelf), if there is one that it has not seen in this epoch; else it draws one
// anew, which becomes cheap for the others once it is put on the shelf: one of
// those that the reader with the least left lacks too, since the others mostly
// lack them all. So each draw serves all of them, and none gets ahead because
// it can do with what others draw, but not they with what it draws. What
// somebody has in the making is left to be taken from the shelf, where there is
// anything else. Whoever has most left of its epoch draws now and then without
// need, of all that it lacks: so epochs do not come to run the same round for
// ever. A reader that stands still counts for nothing in this.
//
// Equal (size, capacity, seed) and the same calls give the same samples, on
// every machine. Takes a bit a sample and reader, and memory for what is on the
// shelf; Next takes the same short time at any point of an epoch. Not
// thread-safe. Never blocks. Errors: those of Resume.
class CoordinatedOrder {
 public:
  using Reader = std::size_t;

  // `size` samples, at least one; at most `capacity` on the shelf.
  CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                   std::uint64_t seed);

  std::uint64_t size() const { return size_; }

  // One reader more, at the begin of an epoch. Its number may be one that
  // another had who left.
  Reader Join();
  void Leave(Reader reader);

  // It begins an epoch anew, whatever it has seen.
  void StartEpoch(Reader reader);
  // It goes on with one of which it has seen those: as SampleSet::Assign.
  absl::Status Resume(Reader reader, absl::Span<const std::uint8_t> seen);
  // What it has seen of its epoch, as Resume takes it.
  std::vector<std::uint8_t> Seen(Reader reader) const;
  // Samples left of its epoch.
  std::uint64_t Left(Reader reader) const;

  // The reader's next sample; something must be left. It is in the making until
  // it is Made.
  std::uint64_t Next(Reader reader);
  // A reader has no more to do with a sample that Next gave it.
  void Made(std::uint64_t sample);
  bool IsInTheMaking(std::uint64_t sample) const {
    return making_.contains(sample);
  }
  // The sample is cheap to have, until it is dropped, or has to make room for
  // others.
  void Put(std::uint64_t sample);
  void Drop(std::uint64_t sample) { shelf_.Drop(sample); }
  // From now on, so many are on the shelf at most.
  void SetCapacity(std::size_t capacity) { shelf_.SetCapacity(capacity); }

  // Samples that are cheap no longer, because they had to make room.
  std::vector<std::uint64_t> TakeRemoved() { return shelf_.TakeRemoved(); }

  // Samples that the reader could take from the shelf.
  std::size_t Shelved(Reader reader) const { return shelf_.Wanted(reader); }
  bool IsShelved(std::uint64_t sample) const { return shelf_.Has(sample); }
  std::size_t shelved() const { return shelf_.size(); }
  std::size_t capacity() const { return shelf_.capacity(); }
  // Whether the reader has had the sample in its epoch.
  bool HasSeen(Reader reader, std::uint64_t sample) const {
    return readers_[reader]->seen.Has(sample);
  }
  // Whether another reader lacks it in its own.
  bool IsLackedByOthers(Reader reader, std::uint64_t sample) const;

 private:
  struct Epoch {
    explicit Epoch(std::uint64_t size) : seen(size) {}

    SampleSet seen;
    // How many samples all had drawn anew when it drew the last; none yet.
    std::optional<std::uint64_t> moved_at;
  };

  // Whether what is drawn now stays on the shelf until the reader goes on.
  bool Moves(const Epoch& epoch) const;
  // Whether it has more left than any other that moves, of whom there are some.
  bool HasMostLeft(Reader reader) const;
  // Who has the least left, but something, of those that move and this one.
  Reader LeastLeft(Reader reader) const;
  // A sample that the reader lacks, and `like` too, if that can be.
  std::uint64_t DrawAnew(Reader reader, Reader like,
                         base::PhiloxStream& random) const;
  std::vector<const SampleSet*> Sets() const;

  const std::uint64_t size_;
  const std::uint64_t seed_;
  Shelf shelf_;
  std::vector<std::unique_ptr<Epoch>> readers_;  // null: it left
  // By how many each is in the making.
  absl::flat_hash_map<std::uint64_t, std::uint32_t> making_;
  std::uint64_t draws_ = 0;
  std::uint64_t drawn_anew_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
