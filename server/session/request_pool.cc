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

// The thresholds: a key runs on less than this part of the free threads.
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
  AddLocked(key, std::move(request));
}

bool RequestPool::TryRun(const RequestKey& key, Request request) {
  JoinEnded();
  base::MutexLock lock(&mutex_);
  if (stopping_) return false;
  const auto found = keys_.find(key.name);
  if ((found != keys_.end() && !found->second.waiting.empty()) ||
      !MayBegin(key.name, key.groups))
    return false;
  AddLocked(key, std::move(request));
  return true;
}

void RequestPool::StartMissing() {
  base::MutexLock lock(&mutex_);
  StartThreadsLocked();
}

void RequestPool::AddLocked(const RequestKey& key, Request request) {
  const auto [entry, is_new] = keys_.try_emplace(key.name);
  if (is_new) entry->second.groups = key.groups;
  if (entry->second.waiting.empty()) turns_.push_back(entry);
  entry->second.waiting.push_back(std::move(request));
  BeginLocked();
}

bool RequestPool::MayBegin(const std::string& name,
                           const std::vector<std::string>& groups) const {
  const std::size_t free = options_.max_threads - running_;
  const auto key = keys_.find(name);
  if (key != keys_.end() && key->second.running * kPartOfKey >= free)
    return false;
  for (const std::string& group : groups) {
    const auto counted = groups_.find(group);
    if (counted != groups_.end() && counted->second * kPartOfGroup >= free)
      return false;
  }
  return free > 0;
}

void RequestPool::BeginLocked() {
  // Each request that begins leaves fewer free threads: a key that may not
  // begin stays so until a request ends.
  for (std::size_t looks = turns_.size(); looks > 0; --looks) {
    const Keys::iterator entry = turns_.front();
    turns_.pop_front();
    Key& key = entry->second;
    if (!MayBegin(entry->first, key.groups)) {
      turns_.push_back(entry);
      continue;
    }
    ++running_;
    ++key.running;
    for (const std::string& group : key.groups) ++groups_[group];
    begun_.push_back({entry, std::move(key.waiting.front())});
    key.waiting.pop_front();
    if (key.waiting.empty()) continue;
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
  --running_;
  Key& key = request.key->second;
  for (const std::string& group : key.groups)
    if (--groups_[group] == 0) groups_.erase(group);
  if (--key.running == 0 && key.waiting.empty()) keys_.erase(request.key);
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
    // To free the request may take long.
    request.run = nullptr;
    base::MutexLock lock(&mutex_);
    RemoveLocked(request);
    ++idle_;
    BeginLocked();
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
    if (entry->second.running == 0) keys_.erase(entry);
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
