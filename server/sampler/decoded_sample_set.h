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

// The samples that are cached in decoded form, and the members that want each
// sample. If the set is full, it evicts the sample that the fewest members
// still want. Among several of these, it evicts the oldest.
//
// The samples lie densely in `slots_`. Samples that equally many members want
// form a linked list in the order of their arrival. Each member has an array of
// the slots whose samples it wants, so that one can be drawn at random.
//
// The owner numbers the members densely from 0. Every call takes O(1) time,
// with two exceptions. Restart takes O(1) for each sample in the set, and the
// removal of a sample takes O(1) for each member.
//
// Not thread-safe: the caller locks. Owns its tables. Never blocks. No errors.
class DecodedSampleSet {
 public:
  explicit DecodedSampleSet(std::size_t capacity) : capacity_(capacity) {}

  std::size_t size() const { return slots_.size(); }
  std::size_t capacity() const { return capacity_; }
  // Evicts samples until they fit.
  void SetCapacity(std::size_t capacity);
  bool Has(std::uint64_t sample) const { return places_.contains(sample); }

  // Tells that member number `member` wants all samples that `seen_samples`
  // lacks. If `seen_samples` is null, the member has left and wants nothing.
  void Restart(std::size_t member, const SampleSet* seen_samples);
  // Adds a sample, unless it is in the set. For each member's number,
  // `seen_samples` has the set of samples that the member has seen, or null if
  // the member has left. A member whose set lacks the sample wants it.
  void Put(std::uint64_t sample,
           const std::vector<const SampleSet*>& seen_samples);
  // Removes a sample. Does nothing if it is not in the set.
  void Drop(std::uint64_t sample);

  // Returns the samples that were evicted since the last call, and were not put
  // back.
  std::vector<std::uint64_t> TakeRemoved();

  // Returns how many samples of the set the member wants.
  std::size_t Wanted(std::size_t member) const;
  // Returns one of the samples that the member wants: the oldest of a few drawn
  // at random. Returns nullopt if there is none.
  std::optional<std::uint64_t> Draw(std::size_t member,
                                    base::PhiloxStream& random) const;
  // Tells that the member does not want the sample any more.
  void Take(std::size_t member, std::uint64_t sample);

 private:
  // An index in slots_.
  using Slot = std::uint32_t;
  // The value for a slot or a place that does not exist.
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Entry {
    std::uint64_t sample = 0;
    // The number of the Put; lower ones came earlier.
    std::uint64_t serial = 0;
    // The number of members that want the sample.
    std::uint32_t wanted_by = 0;
    // The neighbours in the list of samples that equally many members want.
    Slot before = kNone;
    Slot behind = kNone;
  };
  // The two ends of the list of samples that equally many members want. The
  // first sample is evicted first.
  struct List {
    Slot first = kNone;
    Slot last = kNone;
  };
  // The samples that one member wants.
  struct Wants {
    // The slots of these samples, in any order.
    std::vector<Slot> slots;
    // The index in `slots` of each slot; kNone if the member does not want it.
    std::vector<std::uint32_t> places;
  };

  static void Want(Wants& wants, Slot slot);
  // Removes the slot from the member's wants. Returns false if it was not
  // there.
  static bool Unwant(Wants& wants, Slot slot);
  // Appends the slot to the list for its `wanted_by`, as the newest there.
  void Link(Slot slot);
  // Takes the slot out of its list.
  void Unlink(Slot slot);
  // Removes the slot's sample; the sample in the last slot moves there.
  void Remove(Slot slot);
  // Evicts the sample that the fewest members want; among several, the oldest.
  void MakeRoom();

  std::size_t capacity_;
  std::vector<Entry> slots_;
  // The slot of each sample.
  absl::flat_hash_map<std::uint64_t, Slot> places_;
  // The lists. The index of a list is the number of members that want its
  // samples.
  std::vector<List> lists_;
  // The wants, by the member's number.
  std::vector<Wants> wants_;
  // The evicted samples that TakeRemoved has not returned.
  std::vector<std::uint64_t> removed_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_DECODED_SAMPLE_SET_H_
