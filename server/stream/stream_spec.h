#ifndef FOREBAY_SERVER_STREAM_STREAM_SPEC_H_
#define FOREBAY_SERVER_STREAM_STREAM_SPEC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
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
#include "server/sampler/sampler.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/aside.h"
#include "server/stream/batch.h"
#include "server/stream/batch_room.h"
#include "server/stream/coordinator.h"
#include "server/stream/field_type.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/memory_watch.h"

namespace forebay::stream {

// The description of a stream's batches: equal specs make equal batches.
struct StreamSpec {
  std::shared_ptr<const dataset::Dataset> dataset;
  sampler::Sampler sampler;
  // The pipeline of a sample's first image; null if there is no image.
  std::shared_ptr<const pipeline::Pipeline> pipeline;
  // The types of the dataset's fields, in order.
  std::vector<FieldType> fields;
  // The place of fields that have a fixed size and are not `on_host`. If the
  // place is a GPU, all members are on GPUs.
  proto::Place place = proto::Place::kHost;
  BatchOptions batch;
  // The room of a batch's fields; nullopt if each sample has as much room as
  // the longest.
  std::optional<BatchRoom> room;
  // The memory reservation of the windows that a sampler by length keeps.
  std::shared_ptr<const base::MemoryReservation> windows;
  std::uint64_t seed = 0;
  // The loader's membership in a coordinated order, from which its sampler
  // draws; null in other orders.
  std::shared_ptr<Coordinator::OrderMember> order_member;

  // Returns the user's code in the pipeline; null if there is none.
  const pipeline::UserCode* user_code() const {
    return pipeline == nullptr ? nullptr : pipeline->user_code();
  }
  // Whether user code writes its results into the rows of the slot, not into
  // user-code buffers.
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
  // Whether any field has arrays that are decoded in scratch memory.
  bool decodes_arrays() const {
    return std::any_of(fields.begin(), fields.end(),
                       [](const FieldType& field) {
                         return field.is_clip() || field.is_tiff;
                       });
  }
  // Returns the number of the first field that is an image. There must be one.
  std::size_t image_field() const {
    const auto image =
        std::find_if(fields.begin(), fields.end(), [](const FieldType& field) {
          return field.kind == proto::FieldKind::kImage;
        });
    return static_cast<std::size_t>(image - fields.begin());
  }
  // Whether workers write device parts, in staging memory, as well as slots.
  bool workers_stage() const {
    return dataset->is_produced() && place == proto::Place::kDevice;
  }
  // Whether samples of the types `wanted` have room in a slot; always true if
  // the dataset is not live.
  bool HasRoomFor(absl::Span<const FieldType> wanted) const {
    return !dataset->is_live() ||
           std::equal(wanted.begin(), wanted.end(), fields.begin(),
                      fields.end(),
                      [](const FieldType& one, const FieldType& field) {
                        return one.value.bytes <= field.value.bytes;
                      });
  }
  // Whether workers make samples, or run user code of the pipeline.
  bool needs_workers() const {
    return dataset->is_produced() || user_code() != nullptr;
  }
};

// The collaborators of streams. All streams share them, and they outlive all
// streams.
struct StreamDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  // A workspace for each place of the executor; only the task at that place
  // uses it.
  const std::vector<std::unique_ptr<pipeline::Workspace>>* workspaces = nullptr;
  // The workspace for images that need more memory; null if there is none.
  pipeline::SharedWorkspace* shared_workspace = nullptr;
  base::MemoryBudget* budget = nullptr;
  const base::Clock* clock = nullptr;
  // The cache that takes the variants that streams offer; null if there is
  // none.
  cache::VariantStore* variant_store = nullptr;
  // Waits for workers and worker pools; null if the dataset needs none.
  worker::AnswerWaiter* answer_waiter = nullptr;
  // Limits the memory of workers; null if there is no limit.
  worker::MemoryWatch* memory_watch = nullptr;
  // The registry of the next uses of streams' members; null if there is none.
  cache::NextUseRegistry* next_use_registry = nullptr;
  // Runs work on threads that may hang; null to do it at once (Aside).
  Aside::Run aside;
  // Called when a file differs from what the dataset's index says. Must not
  // block.
  std::function<void(const dataset::Dataset&)> on_changed;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_SPEC_H_
