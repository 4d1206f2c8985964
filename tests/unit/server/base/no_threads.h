#ifndef FOREBAY_TESTS_UNIT_SERVER_BASE_NO_THREADS_H_
#define FOREBAY_TESTS_UNIT_SERVER_BASE_NO_THREADS_H_

#include <pthread.h>

#include <cstddef>

#include "tests/catch/catch.h"

namespace forebay::base {

// While the object lives, no thread can be started, because the system has no
// memory for a new thread's stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&usual_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    CHECK(pthread_setattr_default_np(&huge) == 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&usual_);
    pthread_attr_destroy(&usual_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_;
};

}  // namespace forebay::base

#endif  // FOREBAY_TESTS_UNIT_SERVER_BASE_NO_THREADS_H_
