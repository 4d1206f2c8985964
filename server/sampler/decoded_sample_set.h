#ifndef FOREBAY_SERVER_SAMPLER_DECODED_SAMPLE_SET_H_
#define FOREBAY_SERVER_SAMPLER_DECODED_SAMPLE_SET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/base/philox.h"
#include "server/sampler/sample_set.h"

namespace forebay::sampler {

// Samples that are cheap to have just now, and which members want each. Where
// there is no room for one more, who is wanted by the fewest goes, of those who
// has been so for longest.
//
// Readers are numbered by their owner, from 0 on and densely. Every call takes
// O(1) time, but for Restart, which takes it for each sample on the shelf, and
// the removal of one, for each member. Not thread-safe. Never blocks; no
// errors.
class DecodedSampleSet {
 public:
  explicit DecodedSampleSet(std::size_t capacity) : capacity_(capacity) {}

  std::size_t size() const { return slots_.size(); }
  std::size_t capacity() const { return capacity_; }
  // What is more by then has to go.
  void SetCapacity(std::size_t capacity);
  bool Has(std::uint64_t sample) const { return places_.contains(sample); }

  // Member number `member`, known or not, wants all that `seen` lacks; null:
  // nothing, for it has left.
  void Restart(std::size_t member, const SampleSet* seen);
  // All members whose sets lack it want the sample. Does nothing if it is
  // there; `seen` are the members' sets by number, null where one has left.
  void Put(std::uint64_t sample, const std::vector<const SampleSet*>& seen);
  // It is cheap no longer. Does nothing if it is not there.
  void Drop(std::uint64_t sample);

  // Samples that had to make room since this was last asked, and are not back.
  std::vector<std::uint64_t> TakeRemoved();

  // Samples that the member wants.
  std::size_t Wanted(std::size_t member) const;
  // One of them: the oldest of a few that are drawn.
  std::optional<std::uint64_t> Draw(std::size_t member,
                                    base::PhiloxStream& random) const;
  // The member wants the sample no longer, if it did.
  void Take(std::size_t member, std::uint64_t sample);

 private:
  using Slot = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Entry {
    std::uint64_t sample = 0;
    std::uint64_t serial = 0;  // the lower, the longer it has been here
    std::uint32_t wanted_by = 0;
    // In the list of those that as many want.
    Slot before = kNone;
    Slot behind = kNone;
  };
  struct List {
    Slot first = kNone;
    Slot last = kNone;
  };
  // What one member wants: slots, and where each slot stands among them.
  struct Wants {
    std::vector<Slot> slots;
    std::vector<std::uint32_t> places;
  };

  static void Want(Wants& wants, Slot slot);
  // False: it was not wanted.
  static bool Unwant(Wants& wants, Slot slot);
  void Link(Slot slot);
  void Unlink(Slot slot);
  void Remove(Slot slot);
  // Removes who is wanted by the fewest.
  void MakeRoom();

  std::size_t capacity_;
  std::vector<Entry> slots_;
  absl::flat_hash_map<std::uint64_t, Slot> places_;  // by sample
  std::vector<List> lists_;                          // by how many want them
  std::vector<Wants> wants_;                         // by member
  std::vector<std::uint64_t> removed_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_DECODED_SAMPLE_SET_H_
