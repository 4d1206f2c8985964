#ifndef FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_
#define FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/philox.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Describes an entry of the cache, or a new one, to eviction.
struct EntryMetadata {
  storage::SampleRef sample;
  std::uint64_t bytes = 0;  // of memory
  // A variant's saving for each use: CPU time, and the read bytes that count as
  // much (see eviction.h). 0 for the bytes as read.
  std::int64_t saves_nanos = 0;
  double saves_bytes = 0;
  std::uint32_t uses = 0;  // since it was cached
  std::int64_t used_at_nanos = 0;
  // When its reader said it will read it again; counts where NextUse knows
  // nothing.
  std::int64_t wanted_at_nanos = INT64_MAX;
  // Whether it was read ahead and not used since.
  bool is_ahead = false;
  // Valid while a variant of these bytes is cached and no reader has used the
  // bytes themselves since.
  std::weak_ptr<const void> cover = {};
};

// Notes a use at `now_nanos`, by a reader that wants the bytes again in
// `next_use_nanos`. Of the times that several readers gave, the soonest counts
// until it is past.
void Touch(EntryMetadata* metadata, std::int64_t now_nanos,
           std::int64_t next_use_nanos);

// The entries of one stripe of the cache; draws random candidates for eviction.
// Each call takes O(1) time, or O(1) for each candidate.
//
// Not thread-safe. Never blocks. No errors.
class CandidateSet {
 public:
  // Identifies an entry until it is removed; may be reused then.
  using Handle = std::uint32_t;

  struct Candidate {
    EntryMetadata metadata;
    Handle handle = 0;
    std::uint64_t serial = 0;
  };

  Handle Add(const EntryMetadata& metadata);
  void Remove(Handle handle);
  EntryMetadata& At(Handle handle) {
    return candidates_[positions_[handle]].metadata;
  }
  // Returns whether the drawn entry is still in the set.
  bool Has(const Candidate& candidate) const;
  std::size_t size() const { return candidates_.size(); }

  // Appends `count` random entries to `drawn`, with replacement. If there are
  // no more than `count`, appends each once.
  void Draw(std::size_t count, base::PhiloxStream& random,
            std::vector<Candidate>* drawn) const;

 private:
  static constexpr std::uint32_t kNoPosition = UINT32_MAX;

  std::vector<Candidate> candidates_;  // dense, in no order
  std::vector<std::uint32_t>
      positions_;  // by handle: the index into candidates_
  std::vector<Handle> free_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_
