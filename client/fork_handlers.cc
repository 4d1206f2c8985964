#include "client/fork_handlers.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <set>

#include "client/link.h"

namespace forebay::client {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<Link*> links;
};

// Never destroyed: batches may be released while the process exits.
Registry& GlobalRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

std::atomic<std::uint64_t> forks{0};

void Prepare() {
  Registry& registry = GlobalRegistry();
  registry.mutex.lock();
  for (Link* link : registry.links) link->BeforeFork();
}

void Parent() {
  Registry& registry = GlobalRegistry();
  for (Link* link : registry.links) link->AfterForkInParent();
  registry.mutex.unlock();
}

void Child() {
  forks.fetch_add(1);
  Registry& registry = GlobalRegistry();
  for (Link* link : registry.links) link->AfterForkInChild();
  registry.mutex.unlock();
}

}  // namespace

void ForkHandlers::Add(Link* link) {
  static const int registered = pthread_atfork(Prepare, Parent, Child);
  (void)registered;
  Registry& registry = GlobalRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.links.insert(link);
}

void ForkHandlers::Remove(Link* link) {
  Registry& registry = GlobalRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.links.erase(link);
}

std::uint64_t ForkHandlers::Forks() { return forks.load(); }

}  // namespace forebay::client
