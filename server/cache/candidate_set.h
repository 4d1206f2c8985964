#ifndef FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_
#define FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/philox.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Describes an entry of the cache, or a new entry, to the code that evicts.
struct EntryMetadata {
  storage::SampleRef sample;  // the sample by which NextUse knows the entry
  std::uint64_t bytes = 0;    // of memory
  // For a variant, the CPU time that each use saves, and the number of bytes
  // that could be read in that time (see eviction.h). Both are 0 for an entry
  // that is not a variant.
  std::int64_t saves_nanos = 0;
  double saves_bytes = 0;
  std::uint32_t uses = 0;          // since the entry was cached
  std::int64_t used_at_nanos = 0;  // the last use
  // The time at which the entry's reader said that it will read the entry
  // again. Eviction uses this time if NextUse knows none. INT64_MAX if no
  // reader gave one.
  std::int64_t wanted_at_nanos = INT64_MAX;
  // Whether the entry was read ahead and has not been used since.
  bool is_ahead = false;
  // The token of a cached variant of these bytes. The token expires with the
  // variant. A reader that uses the bytes themselves resets `cover`.
  std::weak_ptr<const void> cover = {};
};

// Notes a use at `now_nanos`, by a reader that wants the bytes again
// `next_use_nanos` later. If several readers gave times, the soonest time
// counts until it has passed.
void Touch(EntryMetadata* metadata, std::int64_t now_nanos,
           std::int64_t next_use_nanos);

// The metadata of all entries of one stripe of the cache, from which random
// candidates for eviction are drawn. Each call takes O(1) time, and a draw O(1)
// for each candidate.
//
// Not thread-safe: the stripe's lock guards the set. The stripe owns the set.
// Never blocks. Has no errors.
class CandidateSet {
 public:
  // Identifies an entry until the entry is removed. Another entry may get the
  // same handle then.
  using Handle = std::uint32_t;
  // A copy of an entry's metadata at the time of the draw. No two entries of a
  // set ever have the same `serial`. The serial tells whether `handle` was
  // given to another entry since.

  struct Candidate {
    EntryMetadata metadata;
    Handle handle = 0;
    std::uint64_t serial = 0;
  };

  // Adds an entry. Returns its handle.
  Handle Add(const EntryMetadata& metadata);
  // Removes an entry, which is in the set.
  void Remove(Handle handle);
  // Returns the metadata of an entry, which is in the set.
  EntryMetadata& At(Handle handle) {
    return candidates_[positions_[handle]].metadata;
  }
  // Returns whether the drawn entry is still in the set.
  bool Has(const Candidate& candidate) const;
  std::size_t size() const { return candidates_.size(); }

  // Appends `count` random entries to `drawn`, with replacement: an entry may
  // come twice. If the set has at most `count` entries, appends each once.
  void Draw(std::size_t count, base::PhiloxStream& random,
            std::vector<Candidate>* drawn) const;

 private:
  static constexpr std::uint32_t kNoPosition = UINT32_MAX;

  // The entries, stored without gaps, so that a draw takes one random index.
  // Remove moves the last entry into the gap that it makes.
  std::vector<Candidate> candidates_;
  // By handle: the index into candidates_, or kNoPosition.
  std::vector<std::uint32_t> positions_;
  std::vector<Handle> free_;  // handles without an entry
  std::uint64_t last_serial_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_
