#ifndef FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// Lends the one workspace for large images to one borrower at a time.
// Thread-safe. Owns the workspace; outlives all loans. Never blocks: a borrower
// that is refused is told when to ask again. No errors.
class SharedWorkspace {
 public:
  explicit SharedWorkspace(const WorkspaceLimits& limits)
      : workspace_(limits) {}

  struct GiveBack {
    SharedWorkspace* owner;
    void operator()(Workspace*) const { owner->TakeBack(); }
  };
  // Gives the workspace back when it is destroyed.
  using Loan = std::unique_ptr<Workspace, GiveBack>;

  // Returns null while the workspace is lent. Then it calls `retry` once, as
  // soon as the workspace is back, on the thread that gave it back. It calls
  // all that were refused; the first to ask again gets the workspace.
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
