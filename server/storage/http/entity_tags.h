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

// Returns the stamp of an object's version that has this entity tag.
std::int64_t StampOfTag(std::string_view tag);

// Finds entity tags by their stamps, as long as it remembers them: a version
// keeps the stamp only, and a server is asked by the tag. Keeps a bounded
// number of tags, each in one place, where a later one takes the place of
// another. Thread-safe; never blocks for long. No errors.
class EntityTags {
 public:
  // Tags that are longer are not kept.
  static constexpr std::size_t kMaxBytes = 128;

  explicit EntityTags(std::size_t places = std::size_t{1} << 14)
      : tags_(places) {}

  void Add(std::string_view tag);
  // Returns "" if it is not known.
  std::string Find(std::int64_t stamp) const;

 private:
  std::size_t PlaceOf(std::int64_t stamp) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<std::uint64_t>(stamp) % tags_.size();
  }

  mutable base::Mutex mutex_;
  std::vector<std::string> tags_ ABSL_GUARDED_BY(mutex_);  // "": none
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_ENTITY_TAGS_H_
