#include "server/storage/local/crossings.h"

namespace forebay::storage::local {
namespace {

std::string_view DirectoryOf(std::string_view object) {
  const std::size_t slash = object.rfind('/');
  return slash == object.npos ? std::string_view() : object.substr(0, slash);
}

}  // namespace

std::optional<std::uint64_t> Crossings::Find(std::string_view object) const {
  if (!any_.load(std::memory_order_acquire)) return std::nullopt;
  base::MutexLock lock(&mutex_);
  const auto found = directories_.find(DirectoryOf(object));
  if (found != directories_.end()) return found->second.device;
  if (directories_.size() >= kMost) return kUnknownDevice;
  return std::nullopt;
}

void Crossings::Add(std::string_view object) {
  base::MutexLock lock(&mutex_);
  if (directories_.size() >= kMost) return;
  directories_.emplace(DirectoryOf(object), Directory());
  any_.store(true, std::memory_order_release);
}

void Crossings::Found(std::string_view object, std::uint64_t device) {
  if (!any_.load(std::memory_order_acquire)) return;
  base::MutexLock lock(&mutex_);
  const auto found = directories_.find(DirectoryOf(object));
  if (found == directories_.end()) return;
  Directory& directory = found->second;
  if (directory.is_mixed || directory.device == device) return;
  directory.is_mixed = directory.device != kUnknownDevice;
  directory.device = directory.is_mixed ? kUnknownDevice : device;
}

}  // namespace forebay::storage::local
