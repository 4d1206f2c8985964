#include "server/dataset/object_version_lookup.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/object_listing.h"

namespace forebay::dataset {
namespace {

// Bytes of memory that an object in the list takes in addition to its name: a
// node of the map, and its entry in the map's table, which grows.
constexpr std::uint64_t kBytesEach = sizeof(std::string) +
                                     sizeof(storage::ObjectVersion) +
                                     2 * base::HeapBytes(0) + 32;

}  // namespace

absl::StatusOr<storage::ObjectVersion> ObjectVersionLookup::Find(
    const std::string& object) {
  // Whether to look up this object by a request of its own.
  bool ask = false;
  {
    base::MutexLock lock(&mutex_);
    ask = left_ > 0;
    if (ask) --left_;
  }
  if (!ask) {
    FOREBAY_ASSIGN_OR_RETURN(const Versions* const versions, List());
    if (versions != nullptr) {
      const auto found = versions->find(object);
      if (found != versions->end()) return found->second;
      return absl::NotFoundError(
          absl::StrCat(object, ": there is no such object"));
    }
  }
  return lister_->Stat(*root_, object, stop_);
}

absl::StatusOr<const ObjectVersionLookup::Versions*>
ObjectVersionLookup::List() {
  {
    base::MutexLock lock(&mutex_);
    // A list takes many requests, so one caller makes it and the others wait.
    while (listing_) changed_.Wait(&mutex_);
    if (listed_ && absl::IsUnimplemented(status_)) return nullptr;
    FOREBAY_RETURN_IF_ERROR(status_);
    if (listed_) return &versions_;
    listing_ = true;
  }
  Versions versions;
  const absl::Status status =
      TakeObjects(*lister_, *root_, stop_, [&](storage::ListedObject object) {
        FOREBAY_RETURN_IF_ERROR(memory_.Grow(kBytesEach + object.name.size()));
        versions.emplace(std::move(object.name), object.version);
        return absl::OkStatus();
      });
  base::MutexLock lock(&mutex_);
  listing_ = false;
  listed_ = true;
  status_ = status;
  versions_ = std::move(versions);
  changed_.NotifyAll();
  if (absl::IsUnimplemented(status)) return nullptr;
  FOREBAY_RETURN_IF_ERROR(status);
  return &versions_;
}

}  // namespace forebay::dataset
