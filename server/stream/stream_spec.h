#ifndef FOREBAY_SERVER_STREAM_STREAM_SPEC_H_
#define FOREBAY_SERVER_STREAM_STREAM_SPEC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "proto/shm_layout.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/next_use_registry.h"
#include "server/cache/variant_store.h"
#include "server/dataset/dataset.h"
#include "server/executor/executor.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/shared_workspace.h"
#include "server/pipeline/user_code.h"
#include "server/pipeline/workspace.h"
#include "server/producer/answer_waiter.h"
#include "server/producer/memory_watch.h"
#include "server/sampler/sampler.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/aside.h"
#include "server/stream/batch.h"
#include "server/stream/batch_room.h"
#include "server/stream/coordinator.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// All that decides the contents of a stream's batches: equal specs make equal
// batches.
struct StreamSpec {
  std::shared_ptr<const dataset::Dataset> dataset;
  sampler::Sampler sampler;
  // Of the image, the first if a sample has several. Null without one.
  std::shared_ptr<const pipeline::Pipeline> pipeline;
  std::vector<FieldType> fields;  // the dataset's
  // Where fields of numbers lie; members are on GPUs if they lie there.
  proto::Place place = proto::Place::kHost;
  BatchOptions batch;
  // The room that a batch's fields have, if not each sample has as much as the
  // longest.
  std::optional<BatchRoom> room;
  // Of the windows by length that the sampler keeps.
  std::shared_ptr<const base::MemoryReservation> windows;
  std::uint64_t seed = 0;
  // The loader's membership in a coordinated order, which its sampler draws
  // from. Null in other orders.
  std::shared_ptr<Coordinator::OrderMember> order_member;

  // The user's code in the pipeline; null if there is none.
  const pipeline::UserCode* user_code() const {
    return pipeline == nullptr ? nullptr : pipeline->user_code();
  }
  // Whether the code's results lie in their rows, not on desks.
  bool code_fills_rows() const {
    return user_code() != nullptr && user_code()->after() == nullptr &&
           place == proto::Place::kHost;
  }
  // Whether several fields of a sample need scratch memory to be made.
  bool share_scratch() const {
    return std::count_if(fields.begin(), fields.end(),
                         [](const FieldType& field) {
                           return field.kind == proto::FieldKind::kImage ||
                                  (field.pipeline != nullptr &&
                                   field.pipeline->uses_scratch());
                         }) > 1;
  }
  // Whether fields are arrays that are decoded in scratch memory.
  bool decodes_arrays() const {
    return std::any_of(fields.begin(), fields.end(),
                       [](const FieldType& field) {
                         return field.is_clip() || field.is_tiff;
                       });
  }
  // The number of the first field that is an image. There must be one.
  std::size_t image_field() const {
    const auto image =
        std::find_if(fields.begin(), fields.end(), [](const FieldType& field) {
          return field.kind == proto::FieldKind::kImage;
        });
    return static_cast<std::size_t>(image - fields.begin());
  }
  // Whether producers write device parts, in staging memory, not slots alone.
  bool producers_stage() const {
    return dataset->is_produced() && place == proto::Place::kDevice;
  }
  // Whether producers have a part in the samples.
  bool needs_producers() const {
    return dataset->is_produced() || user_code() != nullptr;
  }
};

// The collaborators that all streams share; outlives them all.
struct StreamDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  // One for each worker of the executor, which alone uses it.
  const std::vector<std::unique_ptr<pipeline::Workspace>>* workspaces = nullptr;
  // For images that need a larger workspace. Null if there is none.
  pipeline::SharedWorkspace* shared_workspace = nullptr;
  base::MemoryBudget* budget = nullptr;
  const base::Clock* clock = nullptr;
  // Takes the variants that streams offer for others. Null if none does.
  cache::VariantStore* variant_store = nullptr;
  // Waits for producers and their hosts. Null if the dataset needs none.
  producer::AnswerWaiter* answer_waiter = nullptr;
  // Limits the memory of producers, unless null.
  producer::MemoryWatch* memory_watch = nullptr;
  // Streams register their members' next uses here, unless null.
  cache::NextUseRegistry* next_use_registry = nullptr;
  // Ends memory on threads that may hang. Null: at once.
  Aside::Run aside;
  // Called when a file was not as the dataset's index says. Does not block.
  std::function<void(const dataset::Dataset&)> on_changed;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_SPEC_H_
