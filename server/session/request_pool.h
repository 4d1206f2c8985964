#ifndef FOREBAY_SERVER_SESSION_REQUEST_POOL_H_
#define FOREBAY_SERVER_SESSION_REQUEST_POOL_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::session {

// The resources that a request may wait for.
struct RequestKey {
  // The narrowest one, such as one host for one job. Requests with equal names
  // begin in the order of their arrival.
  std::string name;
  // Wider ones that the request counts for as well, such as the host for all
  // jobs, and the job.
  std::vector<std::string> groups = {};
};

// Runs requests that may block, or hang, on threads that are made on demand. A
// resource that hangs holds a part of the threads, never all of them.
//
// A request begins if its key runs on fewer than an eighth as many threads as
// are still free, and each of its groups on fewer than half as many. So a key
// that runs nothing begins at once as long as one thread is free, while a key
// that hangs can hold 29 of 256 threads, the next such key 26, and so on. Other
// requests wait. The thread that became idle last runs the next request, so
// that those that are not needed end after a while.
//
// Thread-safe; the caller owns it. Run and TryRun do not block. Destruction
// drops requests that have not begun, and waits for the others, for ever if
// they hang: a process that must end all the same calls Stop, and leaves by
// _exit. No errors: where the system gives no thread, requests wait for those
// that exist, or for StartMissing.
class RequestPool {
 public:
  using Request = std::function<void()>;

  struct Options {
    std::size_t max_threads = 256;
    // The time after which a thread without a request ends.
    std::chrono::nanoseconds idle = std::chrono::seconds(10);
  };

  RequestPool() : RequestPool(Options()) {}
  explicit RequestPool(const Options& options) : options_(options) {}
  ~RequestPool();

  void Run(const RequestKey& key, Request request);
  // Runs the request only if it can begin at once. Returns whether it does.
  bool TryRun(const RequestKey& key, Request request);

  // Starts threads that the system refused before. Call it now and then.
  void StartMissing();

  // Drops requests that have not begun, and all later ones. Waits until the
  // others have ended, but no longer than `wait`. Returns the names of the keys
  // of those that still run.
  std::vector<std::string> Stop(std::chrono::nanoseconds wait);

  // The number of threads that exist now.
  std::size_t threads() const;

 private:
  // A group that keys which have requests belong to.
  struct Group {
    std::size_t keys = 0;
    std::size_t running = 0;
  };
  using Groups = std::map<std::string, Group>;

  // A key that has requests.
  struct Key {
    std::vector<Groups::iterator> groups;
    std::size_t running = 0;
    std::deque<Request> waiting;
  };
  using Keys = std::map<std::string, Key>;

  // A request that has begun: it has a thread, or waits for one.
  struct Begun {
    Keys::iterator key;
    Request run;
  };

  Keys::iterator FindOrAddLocked(const RequestKey& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EraseIfUnusedLocked(Keys::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddLocked(Keys::iterator entry, Request request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayBeginLocked(const Key& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins the key's first request.
  void BeginNextLocked(Keys::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins all requests that may, after one has ended.
  void BeginWaitingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartThreadsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the request, which has ended or is dropped, off the books.
  void RemoveLocked(const Begun& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A thread that waits for a request.
  struct IdleThread {
    base::CondVar wake;
    bool is_woken = false;
  };

  void WakeLastLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a request that has begun. Returns false if the thread is to end.
  bool TakeLocked(Begun* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stops, and takes the requests that no thread has.
  std::vector<Request> TakeWaiting();
  void Work(std::list<std::thread>::iterator self);
  void JoinEnded();

  const Options options_;

  mutable base::Mutex mutex_;
  base::CondVar ended_;  // a request or a thread
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Groups groups_ ABSL_GUARDED_BY(mutex_);
  Keys keys_ ABSL_GUARDED_BY(mutex_);
  // The keys with waiting requests, none of which may begin, in the order of
  // their turns.
  std::deque<Keys::iterator> turns_ ABSL_GUARDED_BY(mutex_);
  std::size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Begun> begun_ ABSL_GUARDED_BY(mutex_);
  std::size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  // The idle threads that nobody has woken, in the order of their going to
  // sleep.
  std::vector<IdleThread*> asleep_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> ended_threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_POOL_H_
