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

// Looks at objects below a root: one by one while they are few, then in one
// list of all that lies there, where one is to be had, for a request tells of a
// thousand.
//
// Thread-safe. Lister and budget must outlive it. At blocks for the network,
// and for another's list, but not for long once `stop` is requested. Errors:
// those of the lister, which name the object; NOT_FOUND; RESOURCE_EXHAUSTED:
// the budget has no room for the list.
class ObjectVersionLookup {
 public:
  // `asked`: how many objects are asked for one by one. The list is counted in
  // the budget.
  ObjectVersionLookup(storage::ObjectLister* lister,
                      std::shared_ptr<const storage::Root> root,
                      base::MemoryBudget* budget, std::stop_token stop,
                      std::size_t asked = 500)
      : lister_(lister),
        root_(std::move(root)),
        stop_(std::move(stop)),
        memory_(budget, "the list of its objects"),
        left_(asked) {}

  absl::StatusOr<storage::ObjectVersion> Find(const std::string& object);

 private:
  using Versions = std::unordered_map<std::string, storage::ObjectVersion>;

  // Null: there is no list.
  absl::StatusOr<const Versions*> List();

  storage::ObjectLister* const lister_;
  const std::shared_ptr<const storage::Root> root_;
  const std::stop_token stop_;

  base::WorkingMemory memory_;
  base::Mutex mutex_;
  base::CondVar changed_;
  std::size_t left_ ABSL_GUARDED_BY(mutex_);  // that are still asked for
  bool listing_ ABSL_GUARDED_BY(mutex_) = false;
  bool listed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // of the list
  Versions versions_;  // written before `listed_` is set
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_VERSION_LOOKUP_H_
