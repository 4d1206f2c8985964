#include "client/base/fork_handlers.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <set>

// A fork takes the registry's lock first and releases it last, so that the set
// of listeners is the same before and after. A forked child has only the thread
// that forked. That thread holds every lock that a listener took in BeforeFork,
// so the child can release it.

namespace forebay::client {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<ForkListener*> listeners;
};

// Returns the process's registry. It is never destroyed, because batches may be
// released while the process exits.
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
  // The handlers are registered once, and last as long as the process.
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
