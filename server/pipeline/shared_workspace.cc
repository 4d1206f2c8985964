#include "server/pipeline/shared_workspace.h"

#include <utility>

namespace forebay::pipeline {

SharedWorkspace::Loan SharedWorkspace::Borrow(std::function<void()> retry) {
  base::MutexLock lock(&mutex_);
  if (lent_) {
    refused_.push_back(std::move(retry));
    return Loan(nullptr, {this});
  }
  lent_ = true;
  return Loan(&workspace_, {this});
}

void SharedWorkspace::TakeBack() {
  std::vector<std::function<void()>> refused;
  {
    base::MutexLock lock(&mutex_);
    lent_ = false;
    refused.swap(refused_);
  }
  // The calls are made without the lock, because they may call Borrow.
  for (const std::function<void()>& retry : refused) retry();
}

}  // namespace forebay::pipeline
