#include "server/cache/candidate_set.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {

void Touch(EntryMetadata* metadata, std::int64_t now_nanos,
           std::int64_t next_use_nanos) {
  const std::int64_t wanted_at = next_use_nanos > INT64_MAX - now_nanos
                                     ? INT64_MAX
                                     : now_nanos + next_use_nanos;
  const bool is_past = metadata->wanted_at_nanos <= now_nanos;
  metadata->used_at_nanos = now_nanos;
  metadata->wanted_at_nanos =
      is_past ? wanted_at : std::min(wanted_at, metadata->wanted_at_nanos);
}

CandidateSet::Handle CandidateSet::Add(const EntryMetadata& metadata) {
  FOREBAY_CHECK(candidates_.size() < kNoPosition);
  if (free_.empty()) {
    free_.push_back(static_cast<Handle>(positions_.size()));
    positions_.push_back(kNoPosition);
  }
  const Handle handle = free_.back();
  free_.pop_back();
  positions_[handle] = static_cast<std::uint32_t>(candidates_.size());
  candidates_.push_back({metadata, handle, ++last_serial_});
  return handle;
}

void CandidateSet::Remove(Handle handle) {
  const std::uint32_t position = std::exchange(positions_[handle], kNoPosition);
  FOREBAY_CHECK(position != kNoPosition);
  if (position + 1 < candidates_.size()) {
    candidates_[position] = candidates_.back();
    positions_[candidates_[position].handle] = position;
  }
  candidates_.pop_back();
  free_.push_back(handle);
}

bool CandidateSet::Has(const Candidate& candidate) const {
  const std::uint32_t position = positions_[candidate.handle];
  return position != kNoPosition &&
         candidates_[position].serial == candidate.serial;
}

void CandidateSet::Draw(std::size_t count, base::PhiloxStream& random,
                        std::vector<Candidate>* drawn) const {
  if (candidates_.size() <= count) {
    drawn->insert(drawn->end(), candidates_.begin(), candidates_.end());
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    // A product of 32 random bits with the size is faster than an unbiased
    // draw. Its bias is below size / 2^32, which no eviction would notice.
    const std::uint64_t position =
        (std::uint64_t{random.NextUint32()} * candidates_.size()) >> 32;
    drawn->push_back(candidates_[position]);
  }
}

}  // namespace forebay::cache
