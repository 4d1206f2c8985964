#include "server/dataset/listed_folders.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/image_folder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset {
namespace {

// No device has so large a number: what is kept for folders stays apart.
constexpr std::uint64_t kNoDevice = std::uint64_t{1} << 63;

IndexKey KeyOf(const storage::Root& root) {
  const auto identity = root.identity();
  FOREBAY_CHECK(identity != nullptr);
  const XXH128_hash_t hash = XXH3_128bits(identity->data(), identity->size());
  return {hash.high64 | kNoDevice, hash.low64,
          proto::DatasetSpec::IMAGE_FOLDER};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Index>> ListedFolders::Open(
    const storage::Root& root, std::vector<std::string>* warnings,
    const std::stop_token& stop) {
  const IndexKey key = KeyOf(root);
  Entry* entry = nullptr;
  Entry before;
  {
    const std::stop_callback on_stop(stop, [this] {
      base::MutexLock lock(&mutex_);
      changed_.NotifyAll();
    });
    base::MutexLock lock(&mutex_);
    std::erase_if(entries_, [](const auto& item) {
      return item.second.visitors == 0 && item.second.index.expired();
    });
    entry = &entries_[key];
    ++entry->visitors;
    while (entry->busy && !stop.stop_requested()) changed_.Wait(&mutex_);
    if (stop.stop_requested()) {
      --entry->visitors;
      return absl::CancelledError(
          absl::StrCat(root.uri(), ": was not looked into"));
    }
    entry->busy = true;
    before = *entry;
  }
  auto found = Find(root, key, before, warnings, stop);
  base::MutexLock lock(&mutex_);
  --entry->visitors;
  entry->busy = false;
  changed_.NotifyAll();
  FOREBAY_RETURN_IF_ERROR(found.status());
  entry->index = found->index;
  entry->listed_at_nanos = found->listed_at_nanos;
  if (found->listed) entry->stale = false;
  return std::move(found->index);
}

absl::StatusOr<ListedFolders::Found> ListedFolders::Find(
    const storage::Root& root, const IndexKey& key, const Entry& before,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  Found known = {before.index.lock(), before.listed_at_nanos};
  if (known.index == nullptr && !before.stale)
    known = Load(root, key, warnings);
  const bool usable = known.index != nullptr && !before.stale;
  const std::int64_t now = wall_clock_();
  const std::int64_t age = now - known.listed_at_nanos;
  if (usable && age >= 0 && age <= recent_nanos_) return known;

  ScanOptions options;
  options.now_nanos = now;
  options.stop = stop;
  options.budget = budget_;
  auto index = ListImageFolder(*lister_, root, options);
  if (usable && absl::IsUnavailable(index.status())) {
    warnings->push_back(
        absl::StrCat(index.status().message(),
                     ": the index of an earlier list is used instead"));
    return known;
  }
  FOREBAY_RETURN_IF_ERROR(index.status());
  if (store_ != nullptr) {
    const absl::Status kept = store_->Save(key, **index);
    if (!kept.ok()) {
      warnings->push_back(absl::StrCat(
          root.uri(), ": its index is kept in memory only: ", kept.message()));
    }
  }
  // One copy in memory where nothing has changed.
  if (known.index != nullptr && known.index->version() == (*index)->version())
    return Found{std::move(known.index), now, true};
  return Found{*std::move(index), now, true};
}

// Without an index if none can be used.
ListedFolders::Found ListedFolders::Load(
    const storage::Root& root, const IndexKey& key,
    std::vector<std::string>* warnings) const {
  if (store_ == nullptr) return {};
  auto index = store_->Load(key);
  if (!index.ok()) {
    if (!absl::IsNotFound(index.status())) {
      warnings->push_back(absl::StrCat(
          root.uri(), ": its index is built anew: ", index.status().message()));
    }
    return {};
  }
  const std::int64_t listed_at_nanos = (*index)->parts().scanned_at_nanos;
  return {*std::move(index), listed_at_nanos};
}

void ListedFolders::MarkStale(const Version& version) {
  std::vector<IndexKey> keys;
  {
    base::MutexLock lock(&mutex_);
    for (auto& [key, entry] : entries_) {
      const std::shared_ptr<const Index> index = entry.index.lock();
      if (index == nullptr || index->version() != version || entry.stale)
        continue;
      entry.stale = true;
      keys.push_back(key);
    }
  }
  if (store_ == nullptr) return;
  for (const IndexKey& key : keys) {
    // If it stays, a read will find it wrong again.
    store_->Remove(key).IgnoreError();
  }
}

}  // namespace forebay::dataset
