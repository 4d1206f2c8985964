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
  // The narrowest resource, such as one host for one job. Requests with equal
  // names begin in the order of their arrival.
  std::string name;
  // Wider resources that the request may wait for too, such as the host for all
  // jobs, or the job.
  std::vector<std::string> groups = {};
};

// Runs requests that may block, or hang, on threads that are made on demand. A
// resource that hangs occupies a part of the threads, never all of them.
//
// A request begins if its key has fewer running requests than an eighth of the
// number of free threads. Each of the key's groups must have fewer than half of
// that number. If a key has no running request, its next request thus begins at
// once as long as one thread is free. A key that hangs can occupy 29 of 256
// threads, the next key that hangs 26, and so on. All other requests wait. The
// thread that became idle last runs the next request, so that threads that are
// not needed end after a while.
//
// Thread-safe. The caller owns it. Run and TryRun do not block. Destruction
// drops requests that have not begun, and waits for the others, for ever if
// they hang. A process that must end although requests hang calls Stop, and
// then _exit. Has no errors: if the system refuses a thread, requests wait for
// threads that exist, or for StartMissing.
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

  // Runs the request on a thread, as soon as its key allows. Does nothing after
  // Stop.
  void Run(const RequestKey& key, Request request);
  // Runs the request only if it can begin at once. Returns whether it can.
  bool TryRun(const RequestKey& key, Request request);

  // Starts threads that the system refused before. Call it about every second.
  void StartMissing();

  // Drops requests that have not begun, and all later ones. Waits until the
  // other requests have ended, but no longer than `wait`. Returns the names of
  // the keys whose requests still run.
  std::vector<std::string> Stop(std::chrono::nanoseconds wait);

  // Returns the number of threads that exist now.
  std::size_t threads() const;

 private:
  // The state of a group, which exists while keys with requests belong to the
  // group.
  struct Group {
    std::size_t keys = 0;     // the number of such keys
    std::size_t running = 0;  // requests of these keys that have begun
  };
  using Groups = std::map<std::string, Group>;

  // The state of a key, which exists while the key has requests.
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

  // Returns the key's entry, which is new if the key has no requests.
  Keys::iterator FindOrAddLocked(const RequestKey& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Erases a key that has no requests, and its groups that have no other keys.
  void EraseIfUnusedLocked(Keys::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins a request, or adds it to the waiting requests.
  void AddLocked(Keys::iterator entry, Request request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the key may begin one more request, by the rule of
  // RequestPool.
  bool MayBeginLocked(const Key& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins the key's first request.
  void BeginNextLocked(Keys::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins all requests that may begin, after one has ended.
  void BeginWaitingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes or starts as many threads as there are requests without one.
  void StartThreadsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stops counting a request that has ended or is dropped.
  void RemoveLocked(const Begun& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A thread that waits for a request.
  struct IdleThread {
    base::CondVar wake;
    bool is_woken = false;
  };

  // Wakes the thread that fell asleep last.
  void WakeLastLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for a request that has begun, and takes it. Returns false if the
  // thread is to end.
  bool TakeLocked(Begun* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Refuses all later requests. Removes and returns the requests that no thread
  // has taken.
  std::vector<Request> TakeWaiting();
  // The body of a thread.
  void Work(std::list<std::thread>::iterator self);
  // Joins the threads that have ended.
  void JoinEnded();

  const Options options_;

  mutable base::Mutex mutex_;
  base::CondVar ended_;  // notified when a request or a thread ends
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Groups groups_ ABSL_GUARDED_BY(mutex_);
  Keys keys_ ABSL_GUARDED_BY(mutex_);
  // The keys whose first waiting request may not begin yet, in the order in
  // which they are tried.
  std::deque<Keys::iterator> turns_ ABSL_GUARDED_BY(mutex_);
  std::size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Begun> begun_ ABSL_GUARDED_BY(mutex_);
  std::size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  // The idle threads that nobody has woken, in the order in which they fell
  // asleep.
  std::vector<IdleThread*> asleep_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> ended_threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_POOL_H_
