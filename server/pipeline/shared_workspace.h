#ifndef FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// The one workspace that is large enough for large images, lent to one borrower
// at a time. Thread-safe. Owns the workspace; outlives all loans. Never blocks:
// nobody waits here, but is told when to ask again. No errors.
class SharedWorkspace {
 public:
  explicit SharedWorkspace(const WorkspaceLimits& limits)
      : workspace_(limits) {}

  struct GiveBack {
    SharedWorkspace* owner;
    void operator()(Workspace*) const { owner->TakeBack(); }
  };
  // The borrower's until it is destroyed.
  using Loan = std::unique_ptr<Workspace, GiveBack>;

  // Null while it is lent: then `retry` is called once, as soon as it is back,
  // on the thread of who had it. All who were refused are called; the first to
  // ask again gets it.
  Loan Borrow(std::function<void()> retry);

 private:
  void TakeBack();

  Workspace workspace_;
  base::Mutex mutex_;
  bool lent_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> refused_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_
