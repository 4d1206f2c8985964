#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_FAULT_CHOICE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_FAULT_CHOICE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {

// Lets a test's function choose the fault of each answer. The function may
// block. Thread-safe. Must outlive its scopes.
class FaultChoice {
 public:
  using Choose = std::function<Fault(const HttpServer::Asked&)>;

  // While it lives, the test's function is called. Its destructor waits for
  // calls in progress: clients may no longer wait for those answers, and the
  // function may use variables of the test.
  class [[nodiscard]] Scope {
   public:
    explicit Scope(FaultChoice* choice) : choice_(choice) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { choice_->Clear(); }

   private:
    FaultChoice* const choice_;
  };

  // Begins a scope. Only one scope may exist at a time.
  Scope Set(Choose choose) {
    base::MutexLock lock(&mutex_);
    choose_ = std::move(choose);
    return Scope(this);
  }

  Fault For(const HttpServer::Asked& asked) {
    Choose choose;
    {
      base::MutexLock lock(&mutex_);
      choose = choose_;
      ++calls_;
    }
    const Fault fault = choose ? choose(asked) : Fault::kNone;
    base::MutexLock lock(&mutex_);
    --calls_;
    done_.NotifyAll();
    return fault;
  }

 private:
  void Clear() {
    base::MutexLock lock(&mutex_);
    choose_ = nullptr;
    while (calls_ > 0) done_.Wait(&mutex_);
  }

  base::Mutex mutex_;
  base::CondVar done_;
  Choose choose_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // calls in progress
};

// Returns a function that spoils the first two answers to each request. If it
// spoilt a fixed pattern of all requests, two threads that take turns might get
// only spoilt answers.
inline FaultChoice::Choose FirstAnswersSpoilt() {
  struct State {
    base::Mutex mutex;
    std::map<std::string, int> asked ABSL_GUARDED_BY(mutex);  // by target
  };
  return [state = std::make_shared<State>()](const HttpServer::Asked& asked) {
    base::MutexLock lock(&state->mutex);
    const int before = state->asked[asked.target]++;
    if (before == 0) return Fault::k503;
    return before == 1 ? Fault::kTruncate : Fault::kNone;
  };
}

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_FAULT_CHOICE_H_
