#include "server/storage/local/crossings.h"

namespace forebay::storage::local {
namespace {

// Returns the object's directory, which is "" for the root itself.
std::string_view DirectoryOf(std::string_view object) {
  const std::size_t slash = object.rfind('/');
  return slash == object.npos ? std::string_view() : object.substr(0, slash);
}

}  // namespace

bool Crossings::Contains(std::string_view object) const {
  if (!any_.load(std::memory_order_acquire)) return false;
  base::MutexLock lock(&mutex_);
  return directories_.size() >= kMost ||
         directories_.contains(DirectoryOf(object));
}

void Crossings::Add(std::string_view object) {
  base::MutexLock lock(&mutex_);
  if (directories_.size() >= kMost) return;
  directories_.emplace(DirectoryOf(object));
  any_.store(true, std::memory_order_release);
}

}  // namespace forebay::storage::local
