#include "server/storage/http/entity_tags.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::storage::http {

std::int64_t StampOfTag(std::string_view tag) {
  return static_cast<std::int64_t>(XXH3_64bits(tag.data(), tag.size()) >> 1);
}

void EntityTags::Add(std::string_view tag) {
  if (tag.size() > kMaxBytes) return;
  const std::int64_t stamp = StampOfTag(tag);
  base::MutexLock lock(&mutex_);
  tags_[PlaceOf(stamp)] = tag;
}

std::string EntityTags::Find(std::int64_t stamp) const {
  base::MutexLock lock(&mutex_);
  const std::string& tag = tags_[PlaceOf(stamp)];
  return !tag.empty() && StampOfTag(tag) == stamp ? tag : "";
}

}  // namespace forebay::storage::http
