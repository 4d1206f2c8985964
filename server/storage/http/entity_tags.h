#ifndef FOREBAY_SERVER_STORAGE_HTTP_ENTITY_TAGS_H_
#define FOREBAY_SERVER_STORAGE_HTTP_ENTITY_TAGS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage::http {

// Returns the stamp of the version of an object with this entity tag (RFC 9110,
// 8.8.3). The stamp is a hash of the tag. Thread-safe; never blocks.
std::int64_t StampOfTag(std::string_view tag);

// Finds entity tags by their stamps. A version keeps only the stamp, but a
// request to the server names the tag. The number of tags is bounded: each
// stamp has one place, where a later tag replaces an earlier one.
//
// Thread-safe. The user owns it. Never blocks for long. No errors: if a tag is
// not found, the version is checked by the answer alone.
class EntityTags {
 public:
  // The longest tag that is kept, in bytes.
  static constexpr std::size_t kMaxBytes = 128;

  explicit EntityTags(std::size_t places = std::size_t{1} << 14)
      : tags_(places) {}

  void Add(std::string_view tag);
  // Returns the tag of that stamp, or "" if it is not kept.
  std::string Find(std::int64_t stamp) const;

 private:
  std::size_t PlaceOf(std::int64_t stamp) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<std::uint64_t>(stamp) % tags_.size();
  }

  mutable base::Mutex mutex_;
  std::vector<std::string> tags_
      ABSL_GUARDED_BY(mutex_);  // "" in an empty place
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_ENTITY_TAGS_H_
