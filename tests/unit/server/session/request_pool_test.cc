#include "server/session/request_pool.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "tests/catch/catch.h"

namespace forebay::session {
namespace {

// Waits until the condition holds, without a timeout, because the test's own
// limit ends a hang.
void Until(const std::function<bool()>& condition) {
  while (!condition()) sched_yield();
}

// A resource that hangs until the test releases it.
class Hang {
 public:
  ~Hang() { Go(); }

  // Waits for the resource.
  void Await() {
    base::MutexLock lock(&mutex_);
    ++held_;
    while (hangs_) changed_.Wait(&mutex_);
  }
  void Go() {
    base::MutexLock lock(&mutex_);
    hangs_ = false;
    changed_.NotifyAll();
  }
  // Returns the number of calls that have begun.
  int held() const {
    base::MutexLock lock(&mutex_);
    return held_;
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = true;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_CASE("The request pool runs requests of one key side by side",
          "[session][request_pool]") {
  RequestPool pool;
  // Each request waits for the others, so a single thread would never end them.
  std::latch together(3);
  std::latch done(3);
  for (int i = 0; i < 3; ++i) {
    pool.Run({"key"}, [&] {
      together.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
  CHECK(done.try_wait());
}

TEST_CASE("The request pool has no thread without requests",
          "[session][request_pool]") {
  RequestPool pool({.max_threads = 4, .idle = std::chrono::nanoseconds(0)});
  CHECK(pool.threads() == 0);
  std::latch done(1);
  std::size_t threads = 0;
  pool.Run({"key"}, [&] {
    threads = pool.threads();
    done.count_down();
  });
  done.wait();
  CHECK(threads == 1);
  Until([&] { return pool.threads() == 0; });
}

TEST_CASE("The request pool uses idle threads again",
          "[session][request_pool]") {
  RequestPool pool({.idle = std::chrono::hours(1)});
  for (int i = 0; i < 200; ++i) {
    std::latch done(1);
    pool.Run({absl::StrCat("key ", i)}, [&] { done.count_down(); });
    done.wait();
  }
  // When the next requests come, some threads may not be idle yet.
  CHECK(pool.threads() < 100);
}

TEST_CASE(
    "Threads of the request pool that are not needed end though requests come",
    "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.idle = std::chrono::milliseconds(100)});
  for (int i = 0; i < 8; ++i)
    pool.Run({absl::StrCat("key ", i)}, [&] { hang.Await(); });
  Until([&] { return hang.held() == 8; });
  hang.Go();
  // If all threads took turns, none would be idle for so long.
  Until([&] {
    std::latch done(1);
    pool.Run({"tick"}, [&] { done.count_down(); });
    done.wait();
    return pool.threads() <= 2;
  });
  CHECK(pool.threads() <= 2);
}

TEST_CASE("A request key that hangs leaves threads to other keys",
          "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.max_threads = 32});
  for (int i = 0; i < 1000; ++i)
    pool.Run({"hangs", {"group"}}, [&] { hang.Await(); });
  std::latch done(1);
  pool.Run({"works", {"group"}}, [&] { done.count_down(); });
  done.wait();
  // The key may begin one more request while it has fewer than an eighth of the
  // other threads.
  Until([&] { return hang.held() == 4; });
  CHECK(pool.threads() <= 5);
  pool.Stop(std::chrono::nanoseconds(0));
  hang.Go();
}

TEST_CASE(
    "Many request keys that hang leave a thread for a key that runs nothing",
    "[session][request_pool]") {
  constexpr int kKeys = 20;
  Hang hang;
  RequestPool pool;
  for (int key = 0; key < kKeys; ++key)
    for (int i = 0; i < 100; ++i)
      pool.Run({absl::StrCat("hangs ", key)}, [&] { hang.Await(); });
  std::latch done(1);
  pool.Run({"works"}, [&] { done.count_down(); });
  done.wait();
  CHECK(hang.held() >= kKeys);
  CHECK(pool.threads() <= RequestPool::Options().max_threads);
  pool.Stop(std::chrono::nanoseconds(0));
  hang.Go();
}

TEST_CASE("A group of request keys that hangs leaves threads to other groups",
          "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.max_threads = 32});
  for (int i = 0; i < 100; ++i)
    pool.Run({absl::StrCat("hangs ", i), {"job"}}, [&] { hang.Await(); });
  std::latch done(1);
  pool.Run({"works", {"another job"}}, [&] { done.count_down(); });
  done.wait();
  Until([&] { return hang.held() == 11; });
  CHECK(pool.threads() <= 12);
  pool.Stop(std::chrono::nanoseconds(0));
  hang.Go();
}

TEST_CASE("The request pool never has more threads than it may have",
          "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.max_threads = 3});
  for (int i = 0; i < 100; ++i)
    pool.Run({absl::StrCat("key ", i)}, [&] { hang.Await(); });
  Until([&] { return hang.held() == 3; });
  CHECK(pool.threads() == 3);
  // At last all other requests run.
  hang.Go();
  Until([&] { return hang.held() == 100; });
}

TEST_CASE("Requests of one key begin in their order in the request pool",
          "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.max_threads = 1});
  pool.Run({"hangs"}, [&] { hang.Await(); });
  std::vector<int> order;
  std::latch done(5);
  for (int i = 0; i < 5; ++i) {
    pool.Run({"key"}, [&, i] {
      order.push_back(i);
      done.count_down();
    });
  }
  hang.Go();
  done.wait();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("Request keys take turns in the request pool",
          "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.max_threads = 1});
  pool.Run({"hangs"}, [&] { hang.Await(); });
  std::string order;
  std::latch done(5);
  for (const char* const key : {"a", "a", "a", "a", "b"}) {
    pool.Run({key}, [&, key] {
      order += key;
      done.count_down();
    });
  }
  hang.Go();
  done.wait();
  CHECK(order == "abaaa");
}

TEST_CASE(
    "A try to run a request succeeds only if the request can begin at once",
    "[session][request_pool]") {
  Hang hang;
  RequestPool pool({.max_threads = 16});
  int begun = 0;
  while (pool.TryRun({"hangs"}, [&] { hang.Await(); })) ++begun;
  CHECK(begun == 2);
  CHECK(pool.TryRun({"works"}, [] {}));
  Until([&] { return hang.held() == begun; });
  hang.Go();
}

TEST_CASE("A request pool that ends waits for what runs and drops the rest",
          "[session][request_pool]") {
  std::atomic<int> ran = 0;
  {
    RequestPool pool({.max_threads = 1});
    std::latch begun(1);
    std::latch may_end(1);
    pool.Run({"key"}, [&] {
      begun.count_down();
      may_end.wait();
      ++ran;
    });
    pool.Run({"key"}, [&] { ++ran; });
    begun.wait();
    CHECK(pool.Stop(std::chrono::nanoseconds(0)) ==
          std::vector<std::string>{"key"});
    pool.Run({"key"}, [&] { ++ran; });
    may_end.count_down();
  }
  CHECK(ran == 1);
}

TEST_CASE("The request pool says what hangs when it stops",
          "[session][request_pool]") {
  Hang hang;
  RequestPool pool;
  pool.Run({"hangs"}, [&] { hang.Await(); });
  pool.Run({"hangs"}, [&] { hang.Await(); });
  pool.Run({"hangs, too"}, [&] { hang.Await(); });
  Until([&] { return hang.held() == 3; });
  CHECK(pool.Stop(std::chrono::nanoseconds(0)) ==
        std::vector<std::string>{"hangs", "hangs, too"});
  hang.Go();
  CHECK(pool.Stop(std::chrono::hours(1)).empty());
}

// A request may hold the last reference to an object. The object's destructor
// may then submit another request.
TEST_CASE("A request's end may ask the request pool for another request",
          "[session][request_pool]") {
  std::latch done(1);
  RequestPool pool;
  struct Owner {
    std::function<void()> at_end;
    ~Owner() { at_end(); }
  };
  auto owner = std::make_shared<Owner>();
  owner->at_end = [&] { pool.Run({"key"}, [&] { done.count_down(); }); };
  pool.Run({"key"}, [owner = std::move(owner)]() mutable { owner = nullptr; });
  done.wait();
  CHECK(done.try_wait());
}

}  // namespace
}  // namespace forebay::session
