#ifndef FOREBAY_SERVER_DATASET_LISTED_FOLDERS_H_
#define FOREBAY_SERVER_DATASET_LISTED_FOLDERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index.h"
#include "server/dataset/index_store.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

// The indexes of class folders in buckets, of which nothing tells whether they
// are still as they were but a new list. An index is used again, in memory or
// from disk, if its list is recent; or if there is no list to be had now, for
// then it still tells what was there, and reads refuse what is another version.
//
// Thread-safe; owns nothing that it hands out, and need not outlive it. Open
// blocks for the network, the disk and another Open of the same place, but not
// for long once its stop is requested; MarkStale blocks for the removal of one
// file.
class ListedFolders {
 public:
  // `store` may be null: nothing is kept on disk. A list is recent for
  // `recent_nanos` of `wall_clock`. All that is pointed at must outlive it.
  ListedFolders(storage::ObjectLister* lister, const IndexStore* store,
                std::function<std::int64_t()> wall_clock,
                std::int64_t recent_nanos, base::MemoryBudget* budget)
      : lister_(lister),
        store_(store),
        wall_clock_(std::move(wall_clock)),
        recent_nanos_(recent_nanos),
        budget_(budget) {}

  // The index of what lies below `root`, which must have an identity. What went
  // wrong without harm is added to `warnings`, a sentence each. Errors: those
  // of ListImageFolder; CANCELLED: stopped.
  absl::StatusOr<std::shared_ptr<const Index>> Open(
      const storage::Root& root, std::vector<std::string>* warnings,
      const std::stop_token& stop);

  // To be called when an object was not as an index of this version says: the
  // next Open lists.
  void MarkStale(const Version& version);

 private:
  struct Entry {
    std::weak_ptr<const Index> index;
    std::int64_t listed_at_nanos = 0;  // when the list that gave it began
    bool stale = false;                // whether a read found the index wrong
    bool busy = false;  // whether somebody looks with the mutex released
    int visitors = 0;   // those in Open
  };
  struct Found {
    std::shared_ptr<const Index> index;
    std::int64_t listed_at_nanos = 0;
    bool listed = false;
  };

  absl::StatusOr<Found> Find(const storage::Root& root, const IndexKey& key,
                             const Entry& before,
                             std::vector<std::string>* warnings,
                             const std::stop_token& stop) const;
  Found Load(const storage::Root& root, const IndexKey& key,
             std::vector<std::string>* warnings) const;

  storage::ObjectLister* const lister_;
  const IndexStore* const store_;
  const std::function<std::int64_t()> wall_clock_;
  const std::int64_t recent_nanos_;
  base::MemoryBudget* const budget_;

  base::Mutex mutex_;
  base::CondVar changed_;
  // Entries in use are not erased: their addresses stay.
  std::map<IndexKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_LISTED_FOLDERS_H_
