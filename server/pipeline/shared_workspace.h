#ifndef FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// Lends the daemon's one workspace for large images to one borrower at a time.
// The daemon therefore holds at most one image of the largest size.
// Thread-safe. Owns the workspace, and must outlive all loans. Never blocks: if
// the workspace is lent, the borrower gets a call when it may ask again. No
// errors.
class SharedWorkspace {
 public:
  explicit SharedWorkspace(const WorkspaceLimits& limits)
      : workspace_(limits) {}

  // Returns a borrowed workspace to its owner.
  struct GiveBack {
    SharedWorkspace* owner;
    void operator()(Workspace*) const { owner->TakeBack(); }
  };
  // A borrowed workspace, which goes back when the loan is destroyed.
  using Loan = std::unique_ptr<Workspace, GiveBack>;

  // Lends the workspace, or returns null while it is lent. After null, `retry`
  // is called once, as soon as the workspace is back, on the thread that gives
  // it back. All borrowers that got null are called; the first to ask again
  // gets the workspace.
  Loan Borrow(std::function<void()> retry);

 private:
  // Marks the workspace free, and calls `retry` of all borrowers that got null.
  void TakeBack();

  Workspace workspace_;
  base::Mutex mutex_;
  // Whether the workspace is lent.
  bool lent_ ABSL_GUARDED_BY(mutex_) = false;
  // `retry` of each borrower that got null since the workspace was lent.
  std::vector<std::function<void()>> refused_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_SHARED_WORKSPACE_H_
