#include "server/job/coordinator_directory.h"

#include "server/sample/sample_identity.h"
#include "server/stream/cached_decoder.h"

namespace forebay::job {

std::shared_ptr<stream::Coordinator> CoordinatorDirectory::For(
    std::uint32_t uid, const stream::StreamSpec& stream_spec,
    std::uint64_t room, base::MemoryBudget* budget) {
  const std::uint64_t dataset = sample::DatasetNumber(*stream_spec.dataset);
  const auto make = [&] {
    return std::make_shared<stream::Coordinator>(
        stream_spec.dataset->size(), room, stream_spec.seed, budget);
  };
  // A dataset without a number is shared with no other loader.
  if (dataset == 0) return make();
  base::MutexLock lock(&mutex_);
  std::erase_if(coordinators_,
                [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<stream::Coordinator>& known =
      coordinators_[{uid, dataset, stream::VariantNumber(stream_spec)}];
  std::shared_ptr<stream::Coordinator> coordinator = known.lock();
  if (coordinator == nullptr) known = coordinator = make();
  return coordinator;
}

}  // namespace forebay::job
