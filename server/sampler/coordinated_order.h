#ifndef FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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
// of those that it has not seen, which becomes cheap for the others once it is
// put on the shelf. Whoever has most left of its epoch draws now and then
// without need: so epochs do not come to run the same round for ever.
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

  // The reader's next sample; something must be left.
  std::uint64_t Next(Reader reader);
  // The sample is cheap to have, until it is dropped, or has to make room for
  // others.
  void Put(std::uint64_t sample);
  void Drop(std::uint64_t sample) { shelf_.Drop(sample); }
  // From now on, so many are on the shelf at most.
  void SetCapacity(std::size_t capacity) { shelf_.SetCapacity(capacity); }

  // Samples that the reader could take from the shelf.
  std::size_t Shelved(Reader reader) const { return shelf_.Wanted(reader); }
  bool IsShelved(std::uint64_t sample) const { return shelf_.Has(sample); }
  std::size_t shelved() const { return shelf_.size(); }
  std::size_t capacity() const { return shelf_.capacity(); }
  // Whether the reader has had the sample in its epoch.
  bool HasSeen(Reader reader, std::uint64_t sample) const {
    return seen_[reader]->Has(sample);
  }
  // Whether another reader lacks it in its own.
  bool IsLackedByOthers(Reader reader, std::uint64_t sample) const;

 private:
  // Whether it has more left than any other, of whom there are some.
  bool HasMostLeft(Reader reader) const;
  std::vector<const SampleSet*> Sets() const;

  const std::uint64_t size_;
  const std::uint64_t seed_;
  Shelf shelf_;
  std::vector<std::unique_ptr<SampleSet>> seen_;  // by reader; null: it left
  std::uint64_t draws_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_COORDINATED_ORDER_H_
