#include "client/base/fork_handlers.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <set>

namespace forebay::client {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<ForkListener*> listeners;
};

// Never destroyed, as batches may be released while the process exits.
Registry& GlobalRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

std::atomic<std::uint64_t> forks{0};

void Prepare() {
  Registry& registry = GlobalRegistry();
  registry.mutex.lock();
  for (ForkListener* listener : registry.listeners) listener->BeforeFork();
}

void Parent() {
  Registry& registry = GlobalRegistry();
  for (ForkListener* listener : registry.listeners)
    listener->AfterForkInParent();
  registry.mutex.unlock();
}

void Child() {
  forks.fetch_add(1);
  Registry& registry = GlobalRegistry();
  for (ForkListener* listener : registry.listeners)
    listener->AfterForkInChild();
  registry.mutex.unlock();
}

}  // namespace

void ForkHandlers::Add(ForkListener* listener) {
  static const int registered = pthread_atfork(Prepare, Parent, Child);
  (void)registered;
  Registry& registry = GlobalRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.listeners.insert(listener);
}

void ForkHandlers::Remove(ForkListener* listener) {
  Registry& registry = GlobalRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.listeners.erase(listener);
}

std::uint64_t ForkHandlers::Forks() { return forks.load(); }

}  // namespace forebay::client
