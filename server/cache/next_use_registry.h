#ifndef FOREBAY_SERVER_CACHE_NEXT_USE_REGISTRY_H_
#define FOREBAY_SERVER_CACHE_NEXT_USE_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"
#include "server/cache/loader_next_use.h"
#include "server/cache/next_use.h"

namespace forebay::cache {

// Tells when a sample is wanted next by asking all registered loaders of its
// dataset: the soonest answer counts. The answer is kNever if the dataset has
// no loader, and kUnknown if the sample has no dataset (0).
//
// Thread-safe. The daemon owns it; it outlives all registrations. Never blocks:
// no lock is held while a loader is asked. Has no errors.
class NextUseRegistry final : public NextUse {
 public:
  // Registers a loader until destruction. A registration without a registry
  // (null) or a dataset (0) does nothing.
  class Registration {
   public:
    Registration(NextUseRegistry* next_use_registry, std::uint64_t dataset,
                 std::shared_ptr<const LoaderNextUse> loader);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    NextUseRegistry* const next_use_registry_;
    const std::uint64_t dataset_;
    const std::shared_ptr<const LoaderNextUse> loader_;
  };

  void Ask(std::int64_t now_nanos, absl::Span<const storage::SampleRef> samples,
           absl::Span<std::int64_t> nanos) const override;

 private:
  using Loaders = std::vector<std::shared_ptr<const LoaderNextUse>>;

  void Add(std::uint64_t dataset, std::shared_ptr<const LoaderNextUse> loader);
  void Remove(std::uint64_t dataset, const LoaderNextUse* loader);
  // Returns the loaders of a dataset; null if it has none.
  std::shared_ptr<const Loaders> Of(std::uint64_t dataset) const;

  mutable base::Mutex mutex_;
  // The loaders by dataset. Ask uses a list without the lock, so a list is
  // replaced by another, never changed.
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<const Loaders>> datasets_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_NEXT_USE_REGISTRY_H_
