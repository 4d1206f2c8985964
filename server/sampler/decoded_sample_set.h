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

// The samples whose decoded variants are cached, and the members that want
// each. When full, evicts the sample that the fewest members still want; the
// oldest of those first.
//
// The owner numbers the members densely from 0. Every call takes O(1) time, but
// for Restart, which takes O(1) for each sample in the set, and the removal of
// a sample, which takes O(1) for each member. Not thread-safe. Never blocks; no
// errors.
class DecodedSampleSet {
 public:
  explicit DecodedSampleSet(std::size_t capacity) : capacity_(capacity) {}

  std::size_t size() const { return slots_.size(); }
  std::size_t capacity() const { return capacity_; }
  // Evicts samples until they fit.
  void SetCapacity(std::size_t capacity);
  bool Has(std::uint64_t sample) const { return places_.contains(sample); }

  // From now on member number `member` wants all that `seen` lacks; nothing if
  // null, since it left.
  void Restart(std::size_t member, const SampleSet* seen);
  // Adds the sample, which all members want whose sets lack it. Does nothing if
  // it is there. `seen` are the members' sets by number, null where one left.
  void Put(std::uint64_t sample, const std::vector<const SampleSet*>& seen);
  // Removes the sample. Does nothing if it is not there.
  void Drop(std::uint64_t sample);

  // The samples that were evicted since the last call, and were not put back.
  std::vector<std::uint64_t> TakeRemoved();

  // How many samples the member wants.
  std::size_t Wanted(std::size_t member) const;
  // One of the samples that the member wants: the oldest of a few draws.
  std::optional<std::uint64_t> Draw(std::size_t member,
                                    base::PhiloxStream& random) const;
  // Says that the member does not want the sample any more.
  void Take(std::size_t member, std::uint64_t sample);

 private:
  using Slot = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Entry {
    std::uint64_t sample = 0;
    std::uint64_t serial = 0;  // lower ones were put earlier
    std::uint32_t wanted_by = 0;
    // In the list of the samples that as many members want.
    Slot before = kNone;
    Slot behind = kNone;
  };
  struct List {
    Slot first = kNone;
    Slot last = kNone;
  };
  // The slots of the samples that a member wants, and each slot's place in it.
  struct Wants {
    std::vector<Slot> slots;
    std::vector<std::uint32_t> places;
  };

  static void Want(Wants& wants, Slot slot);
  // Returns false if it was not wanted.
  static bool Unwant(Wants& wants, Slot slot);
  void Link(Slot slot);
  void Unlink(Slot slot);
  void Remove(Slot slot);
  // Evicts the sample that the fewest members want.
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
