#ifndef FOREBAY_SERVER_DATASET_OBJECT_VERSION_LOOKUP_H_
#define FOREBAY_SERVER_DATASET_OBJECT_VERSION_LOOKUP_H_

#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/base/working_memory.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

// Finds the versions of objects below a root. Asks for the first objects one by
// one. Later it makes one list of all objects there, where the lister can,
// since a request for a list tells of a thousand objects.
//
// Thread-safe. Lister and budget must outlive it. Find blocks for the network,
// and for another caller's list, but returns soon after `stop` is requested.
// Errors: those of the lister, which name the object; NOT_FOUND;
// RESOURCE_EXHAUSTED: the budget has no room for the list.
class ObjectVersionLookup {
 public:
  // Asks for `max_asked` objects one by one. Counts the list in the budget.
  ObjectVersionLookup(storage::ObjectLister* lister,
                      std::shared_ptr<const storage::Root> root,
                      base::MemoryBudget* budget, std::stop_token stop,
                      std::size_t max_asked = 500)
      : lister_(lister),
        root_(std::move(root)),
        stop_(std::move(stop)),
        memory_(budget, "the list of its objects"),
        left_(max_asked) {}

  absl::StatusOr<storage::ObjectVersion> Find(const std::string& object);

 private:
  using Versions = std::unordered_map<std::string, storage::ObjectVersion>;

  // Returns null if the lister makes no lists.
  absl::StatusOr<const Versions*> List();

  storage::ObjectLister* const lister_;
  const std::shared_ptr<const storage::Root> root_;
  const std::stop_token stop_;

  base::WorkingMemory memory_;
  base::Mutex mutex_;
  base::CondVar changed_;
  std::size_t left_ ABSL_GUARDED_BY(mutex_);  // to be asked for one by one
  bool listing_ ABSL_GUARDED_BY(mutex_) = false;
  bool listed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // of the list
  Versions versions_;  // written before `listed_` is set
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_VERSION_LOOKUP_H_
