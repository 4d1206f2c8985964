#ifndef FOREBAY_SERVER_STREAM_STREAM_SPEC_H_
#define FOREBAY_SERVER_STREAM_STREAM_SPEC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "proto/job.pb.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/next_use_registry.h"
#include "server/cache/variant_store.h"
#include "server/dataset/dataset.h"
#include "server/executor/executor.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/shared_workspace.h"
#include "server/pipeline/workspace.h"
#include "server/sampler/sampler.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/coordinator.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// All that decides what a stream's batches contain: equal specs make equal
// batches.
struct StreamSpec {
  std::shared_ptr<const dataset::Dataset> dataset;
  sampler::Sampler sampler;
  std::shared_ptr<const pipeline::Pipeline> pipeline;  // null: no image
  std::vector<FieldType> fields;                       // the dataset's
  proto::BatchSpec batch;                              // validated
  std::uint64_t seed = 0;
  // Where the order is coordinated: the loader's place in it, which its
  // sampler draws from. Else null.
  std::shared_ptr<Coordinator::OrderMember> order_member;
};

// The collaborators that all streams share; outlives them all.
struct StreamDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  // One a worker of the executor, used by it alone.
  const std::vector<std::unique_ptr<pipeline::Workspace>>* workspaces = nullptr;
  // The larger one that they speak of. Null: there is none.
  pipeline::SharedWorkspace* shared_workspace = nullptr;
  base::MemoryBudget* budget = nullptr;
  const base::Clock* clock = nullptr;
  // Where streams offer what they make of what they read, for others. Null:
  // nowhere.
  cache::VariantStore* variant_store = nullptr;
  // Where streams say what they will read. Null: nobody wants to know.
  cache::NextUseRegistry* next_use_registry = nullptr;
  // Told when a file was not as the dataset's index says. May block a little.
  std::function<void(const dataset::Dataset&)> on_changed;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_SPEC_H_
