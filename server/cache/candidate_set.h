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
  // CPU time that a use of it saves, where it is another variant of what was
  // read, and as how many read bytes that counts (see eviction.h). 0: it is
  // what was read.
  std::int64_t saves_nanos = 0;
  double saves_bytes = 0;
  std::uint32_t uses = 0;  // since it is kept
  std::int64_t used_at_nanos = 0;
  // When its reader said that it wants it again, for where nobody can be asked.
  std::int64_t wanted_at_nanos = INT64_MAX;
  // Whether it was read before anybody wanted it, and nobody has since.
  bool is_ahead = false;
  // While that is there, another variant of it is kept, which all have used who
  // wanted it since.
  std::weak_ptr<const void> cover = {};
};

// Bytes that were just used at `now_nanos`, by a reader that wants them again
// in `next_use_nanos`. Of several readers' hopes the soonest counts until it is
// past.
void Touch(EntryMetadata* metadata, std::int64_t now_nanos,
           std::int64_t next_use_nanos);

// The entries of one part of the cache, from which candidates for eviction are
// drawn at random. Every call takes O(1) time, or O(1) a candidate. Not
// thread-safe. Never blocks; no errors.
class CandidateSet {
 public:
  // Names an entry until it is removed, and perhaps another one after that.
  using Handle = std::uint32_t;

  struct Candidate {
    EntryMetadata metadata;
    Handle handle = 0;
    std::uint64_t serial = 0;
  };

  Handle Add(const EntryMetadata& metadata);
  void Remove(Handle handle);
  EntryMetadata& At(Handle handle) {
    return candidates_[places_[handle]].metadata;
  }
  // Whether the entry that was drawn is still there.
  bool Has(const Candidate& candidate) const;
  std::size_t size() const { return candidates_.size(); }

  // Adds `count` entries to `drawn`, some perhaps more than once; all of them,
  // each once, if there are no more than that.
  void Draw(std::size_t count, base::PhiloxStream& random,
            std::vector<Candidate>* drawn) const;

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  std::vector<Candidate> candidates_;  // densely, in no order
  std::vector<std::uint32_t> places_;  // in candidates_, by handle
  std::vector<Handle> free_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_CANDIDATE_SET_H_
