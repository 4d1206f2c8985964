#include "server/storage/local/page_cache_use.h"

#include <memory>
#include <string>

#include "absl/hash/hash.h"

namespace forebay::storage::local {
namespace {

// Returns a hash of the range that is read. Equal ranges below roots of equal
// identity have equal hashes.
std::uint64_t HashOf(const ReadRequest& request) {
  const std::shared_ptr<const std::string> identity = request.root->identity();
  if (identity == nullptr)
    return absl::HashOf(request.root.get(), request.object, request.offset);
  return absl::HashOf(*identity, request.object, request.offset);
}

}  // namespace

bool PageCacheUse::Wants(const ReadRequest& request) {
  working_set_.Add(HashOf(request), request.length);
  if (reads_++ % kReadsALook == 0)
    fits_ = working_set_.bytes() <= static_cast<double>(room_());
  return fits_ || page_cache_hit_rate_[request.purpose.job].Ask();
}

void PageCacheUse::Saw(std::uint64_t job, bool held) {
  page_cache_hit_rate_[job].Saw(held);
}

void PageCacheUse::Forget(std::uint64_t job) {
  page_cache_hit_rate_.erase(job);
  working_set_ = WorkingSetEstimate();
}

}  // namespace forebay::storage::local
