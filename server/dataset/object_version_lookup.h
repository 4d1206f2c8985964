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

// Finds the versions of objects below a root. For each of the first objects,
// the lookup sends a request. Then it reads a list of all objects below the
// root, if the lister can make lists. A list costs one request for each
// thousand objects.
//
// Thread-safe. Owns the list. The lister and the budget outlive the lookup.
// Find blocks for the network, and while another caller reads the list, but
// returns soon after `stop` is requested. NOT_FOUND: there is no such object.
// RESOURCE_EXHAUSTED: the budget has no room for the list. Others: those of the
// lister, which name the object.
class ObjectVersionLookup {
 public:
  // The first `max_asked` objects are looked up by a request each. The list's
  // memory is counted in `budget`.
  ObjectVersionLookup(storage::ObjectLister* lister,
                      std::shared_ptr<const storage::Root> root,
                      base::MemoryBudget* budget, std::stop_token stop,
                      std::size_t max_asked = 500)
      : lister_(lister),
        root_(std::move(root)),
        stop_(std::move(stop)),
        memory_(budget, "the list of its objects"),
        left_(max_asked) {}

  // Returns the present version of the object named `object`.
  absl::StatusOr<storage::ObjectVersion> Find(const std::string& object);

 private:
  using Versions = std::unordered_map<std::string, storage::ObjectVersion>;

  // Returns the list, which the first caller reads. Returns null if the lister
  // makes no lists.
  absl::StatusOr<const Versions*> List();

  storage::ObjectLister* const lister_;
  const std::shared_ptr<const storage::Root> root_;
  const std::stop_token stop_;

  base::WorkingMemory memory_;
  base::Mutex mutex_;
  base::CondVar changed_;
  // How many more objects may be looked up by a request each.
  std::size_t left_ ABSL_GUARDED_BY(mutex_);
  bool listing_ ABSL_GUARDED_BY(mutex_) = false;
  bool listed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // error of listing
  Versions versions_;  // written before `listed_` is set
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_VERSION_LOOKUP_H_
