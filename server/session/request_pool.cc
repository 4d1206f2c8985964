#include "server/session/request_pool.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "server/base/clock.h"
#include "server/base/start_thread.h"
#include "spdlog/spdlog.h"

namespace forebay::session {
namespace {

// How the pool works.
//
// A request begins when its key may run one more (MayBeginLocked); it then
// waits in `begun_` for a thread. A request that may not begin waits in its
// key's queue, and the key waits in `turns_`. When a request ends, the keys in
// `turns_` are tried in order. A key that may begin goes to the end, so that
// all keys get their turns.
//
// The thresholds compare the number of a key's running requests with the number
// of free threads, not of all threads. The more threads hang, the fewer a key
// may thus take. The last free threads are left for keys without running
// requests. With f free threads, a key that has r running requests begins
// another while 8 r < f, and a group while 2 r < f.
//
// Threads are made on demand. Idle threads sleep in a stack, and the last one
// to fall asleep is woken first, so that the others end after Options::idle. A
// thread that ends cannot join itself. The thread therefore moves itself to
// `ended_threads_`, which later calls and the destructor join.

// The thresholds. A key begins a request while it has fewer running requests
// than an eighth of the number of free threads. For a group, the limit is half
// of that number.
constexpr std::size_t kPartOfKey = 8;
constexpr std::size_t kPartOfGroup = 2;

}  // namespace

RequestPool::~RequestPool() {
  TakeWaiting().clear();
  {
    base::MutexLock lock(&mutex_);
    while (!threads_.empty()) ended_.Wait(&mutex_);
  }
  JoinEnded();
}

void RequestPool::Run(const RequestKey& key, Request request) {
  JoinEnded();
  base::MutexLock lock(&mutex_);
  if (stopping_) return;
  AddLocked(FindOrAddLocked(key), std::move(request));
}

bool RequestPool::TryRun(const RequestKey& key, Request request) {
  JoinEnded();
  base::MutexLock lock(&mutex_);
  if (stopping_) return false;
  const Keys::iterator entry = FindOrAddLocked(key);
  if (!entry->second.waiting.empty() || !MayBeginLocked(entry->second)) {
    EraseIfUnusedLocked(entry);
    return false;
  }
  AddLocked(entry, std::move(request));
  return true;
}

void RequestPool::StartMissing() {
  base::MutexLock lock(&mutex_);
  StartThreadsLocked();
}

RequestPool::Keys::iterator RequestPool::FindOrAddLocked(
    const RequestKey& key) {
  const auto [entry, is_new] = keys_.try_emplace(key.name);
  if (is_new) {
    for (const std::string& name : key.groups) {
      const auto group = groups_.try_emplace(name).first;
      ++group->second.keys;
      entry->second.groups.push_back(group);
    }
  }
  return entry;
}

void RequestPool::EraseIfUnusedLocked(Keys::iterator entry) {
  const Key& key = entry->second;
  if (key.running > 0 || !key.waiting.empty()) return;
  for (const Groups::iterator group : key.groups)
    if (--group->second.keys == 0) groups_.erase(group);
  keys_.erase(entry);
}

void RequestPool::AddLocked(Keys::iterator entry, Request request) {
  Key& key = entry->second;
  key.waiting.push_back(std::move(request));
  if (key.waiting.size() > 1) return;
  if (MayBeginLocked(key)) {
    BeginNextLocked(entry);
    StartThreadsLocked();
  } else {
    turns_.push_back(entry);
  }
}

bool RequestPool::MayBeginLocked(const Key& key) const {
  const std::size_t free = options_.max_threads - running_;
  if (free == 0 || key.running * kPartOfKey >= free) return false;
  return std::all_of(key.groups.begin(), key.groups.end(),
                     [free](const Groups::iterator& group) {
                       return group->second.running * kPartOfGroup < free;
                     });
}

void RequestPool::BeginNextLocked(Keys::iterator entry) {
  Key& key = entry->second;
  ++running_;
  ++key.running;
  for (const Groups::iterator group : key.groups) ++group->second.running;
  begun_.push_back({entry, std::move(key.waiting.front())});
  key.waiting.pop_front();
}

void RequestPool::BeginWaitingLocked() {
  // Each request that begins leaves fewer free threads. A key that may not
  // begin a request now therefore may not begin one before another request
  // ends.
  for (std::size_t looks = turns_.size(); looks > 0; --looks) {
    const Keys::iterator entry = turns_.front();
    turns_.pop_front();
    if (!MayBeginLocked(entry->second)) {
      turns_.push_back(entry);
      continue;
    }
    BeginNextLocked(entry);
    if (entry->second.waiting.empty()) continue;
    turns_.push_back(entry);
    ++looks;
  }
  StartThreadsLocked();
}

void RequestPool::StartThreadsLocked() {
  while (!asleep_.empty() && begun_.size() > idle_ - asleep_.size())
    WakeLastLocked();
  while (begun_.size() > idle_ && threads_.size() < options_.max_threads) {
    const auto self = threads_.emplace(threads_.end());
    *self = base::StartThread([this, self] { Work(self); });
    if (!self->joinable()) {
      threads_.erase(self);
      spdlog::warn("a request waits for a thread: the system gives none");
      return;
    }
    pthread_setname_np(self->native_handle(), "forebay-request");
    // The thread counts as idle until it takes its request.
    ++idle_;
  }
}

void RequestPool::WakeLastLocked() {
  IdleThread* const last = asleep_.back();
  asleep_.pop_back();
  last->is_woken = true;
  last->wake.NotifyOne();
}

bool RequestPool::TakeLocked(Begun* request) {
  bool has_time = true;
  while (begun_.empty() && !stopping_ && has_time) {
    IdleThread self;
    asleep_.push_back(&self);
    while (!self.is_woken && has_time)
      has_time = self.wake.WaitFor(&mutex_, options_.idle);
    if (!self.is_woken) std::erase(asleep_, &self);
  }
  --idle_;
  if (begun_.empty()) return false;
  *request = std::move(begun_.front());
  begun_.pop_front();
  return true;
}

void RequestPool::RemoveLocked(const Begun& request) {
  Key& key = request.key->second;
  --running_;
  --key.running;
  for (const Groups::iterator group : key.groups) --group->second.running;
  EraseIfUnusedLocked(request.key);
}

void RequestPool::Work(std::list<std::thread>::iterator self) {
  while (true) {
    Begun request;
    {
      base::MutexLock lock(&mutex_);
      if (!TakeLocked(&request)) {
        ended_threads_.splice(ended_threads_.end(), threads_, self);
        ended_.NotifyAll();
        return;
      }
    }
    request.run();
    // Freeing the request may take long, so the mutex is not held.
    request.run = nullptr;
    base::MutexLock lock(&mutex_);
    RemoveLocked(request);
    ++idle_;
    BeginWaitingLocked();
    ended_.NotifyAll();
  }
}

std::vector<RequestPool::Request> RequestPool::TakeWaiting() {
  std::vector<Request> taken;
  base::MutexLock lock(&mutex_);
  stopping_ = true;
  for (const Keys::iterator entry : turns_) {
    for (Request& request : entry->second.waiting)
      taken.push_back(std::move(request));
    entry->second.waiting.clear();
    EraseIfUnusedLocked(entry);
  }
  turns_.clear();
  for (Begun& begun : begun_) {
    taken.push_back(std::move(begun.run));
    RemoveLocked(begun);
  }
  begun_.clear();
  while (!asleep_.empty()) WakeLastLocked();
  return taken;
}

// Dropped requests are destroyed without the mutex, because they own objects
// whose destruction may block.
std::vector<std::string> RequestPool::Stop(std::chrono::nanoseconds wait) {
  TakeWaiting().clear();
  const base::Clock& clock = *base::Clock::Monotonic();
  const std::int64_t end = clock.NowNanos() + wait.count();
  base::MutexLock lock(&mutex_);
  while (running_ > 0) {
    const std::chrono::nanoseconds left(end - clock.NowNanos());
    if (left.count() <= 0 || !ended_.WaitFor(&mutex_, left)) break;
  }
  std::vector<std::string> names;
  for (const auto& [name, key] : keys_)
    if (key.running > 0) names.push_back(name);
  return names;
}

std::size_t RequestPool::threads() const {
  base::MutexLock lock(&mutex_);
  return threads_.size();
}

void RequestPool::JoinEnded() {
  std::list<std::thread> ended;
  {
    base::MutexLock lock(&mutex_);
    ended.swap(ended_threads_);
  }
  for (std::thread& thread : ended) thread.join();
}

}  // namespace forebay::session
