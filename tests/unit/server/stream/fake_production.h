#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_PRODUCTION_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_PRODUCTION_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/mutex.h"
#include "server/stream/field_type.h"
#include "server/stream/stream_spec.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::stream {

// A dataset of `size` samples of `bytes` bytes. Sample i is object "i", with
// the label 10 * i.
class NumberedDataset : public dataset::FakeDataset {
 public:
  explicit NumberedDataset(std::uint64_t size, std::uint64_t bytes = 100,
                           std::shared_ptr<const storage::Root> root =
                               storage::FakeRoot::Make({.uri = "/data",
                                                        .identity = "/data"}))
      : FakeDataset({.size = size,
                     .fields = {{"image", proto::FieldKind::kImage, 100},
                                {"label", proto::FieldKind::kLabel, 0}},
                     .largest_sample = bytes,
                     .classes = {"a", "b"},
                     .root = std::move(root)}),
        bytes_(bytes) {}

  dataset::Sample At(std::uint64_t id) const override {
    dataset::Sample sample;
    sample.object = absl::StrCat(id);
    sample.length = sample.version.size = bytes_;
    return sample;
  }
  void ValuesOf(std::uint64_t id,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = dataset::FieldRange{0, 100};
    values[1] = static_cast<std::int64_t>(id) * 10;
  }

 private:
  const std::uint64_t bytes_;
};

// A pipeline whose "image" consists of two numbers: the sample's id and its
// epoch.
class FakePipeline : public pipeline::Pipeline {
 public:
  const pipeline::TensorType& output() const override { return output_; }
  const pipeline::Tail* tail() const override { return nullptr; }
  absl::Status Run(absl::Span<const std::uint8_t> encoded,
                   const pipeline::SampleKey& key, pipeline::Workspace&,
                   absl::Span<std::uint8_t> out) const override {
    if (encoded.empty()) return absl::DataLossError("the file is empty");
    const std::uint64_t pixels[2] = {key.sample, key.epoch};
    std::memcpy(out.data(), pixels, sizeof(pixels));
    return absl::OkStatus();
  }

  std::uint64_t variant() const override { return 1; }
  absl::Status RunFromVariant(absl::Span<const std::uint8_t> variant,
                              const pipeline::SampleKey& key,
                              pipeline::Workspace& workspace,
                              absl::Span<std::uint8_t> out) const override {
    return Run(variant, key, workspace, out);
  }
  absl::Status RunAndKeep(absl::Span<const std::uint8_t> encoded,
                          const pipeline::SampleKey& key,
                          pipeline::Workspace& workspace,
                          absl::Span<std::uint8_t> out,
                          pipeline::VariantTarget& /*target*/) const override {
    return Run(encoded, key, workspace, out);
  }

 private:
  const pipeline::TensorType output_ = {
      .dtype = proto::DType::kInt64, .shape = {2}, .bytes = 16};
};

// A source and an executor. The test completes reads and tasks in any order, on
// its own thread. Any thread may start more.
class FakeProduction final : public storage::ByteSource,
                             public executor::Executor {
 public:
  explicit FakeProduction(std::uint32_t seed) : random_(seed) {
    workspaces_.push_back(
        std::make_unique<pipeline::Workspace>(pipeline::WorkspaceLimits{}));
  }

  // Completes the reads in flight, because every source must.
  ~FakeProduction() override {
    for (auto* reads : {&reads_, &hanging_}) {
      while (!reads->empty()) {
        storage::ReadRequest request = std::move(reads->front());
        reads->pop_front();
        request.done(absl::CancelledError("the source ends"));
      }
    }
  }

  // Answers for reads of these objects, instead of the default answers.
  std::map<std::string, absl::StatusOr<storage::ReadResult>> answers;
  // Objects whose reads hang.
  std::set<std::string> hangs;

  // From now on, tasks or reads wait if only flows with caps want them. They go
  // on when another flow wants them, too, or after LiftCaps().
  void CapTasks(schedule::Flow flow) { capped_tasks_.insert(flow); }
  void CapReads(schedule::Flow flow) { capped_reads_.insert(flow); }
  void LiftCaps() {
    base::MutexLock lock(&mutex_);
    capped_tasks_.clear();
    capped_reads_.clear();
    for (auto& request : std::exchange(hanging_, {})) Ask(std::move(request));
    for (auto& task : std::exchange(held_tasks_, {}))
      tasks_.push_back(std::move(task));
  }

  StreamDeps deps() {
    return {.source = this,
            .executor = this,
            .workspaces = &workspaces_,
            .budget = &budget_,
            .clock = &clock_,
            .next_use_registry = &next_use_registry_,
            .aside = nullptr,
            .on_changed = [this](const dataset::Dataset&) { ++changes_; }};
  }
  base::MemoryBudget& budget() { return budget_; }
  base::FakeClock& clock() { return clock_; }
  const cache::NextUseRegistry& next_use_registry() const {
    return next_use_registry_;
  }
  int changes() const { return changes_; }
  std::size_t reads() const {
    base::MutexLock lock(&mutex_);
    return reads_.size();
  }
  const storage::ReadRequest& first_read() const { return reads_.front(); }
  std::size_t tasks() const {
    base::MutexLock lock(&mutex_);
    return tasks_.size();
  }
  // Returns the flows to which the latest submitted task is charged.
  const std::vector<schedule::Flow>& flows() const { return flows_; }

  // Returns how often each object was requested.
  const std::map<std::string, int>& asked() const { return asked_; }

  void Read(absl::Span<storage::ReadRequest> requests) override {
    base::MutexLock lock(&mutex_);
    for (storage::ReadRequest& request : requests) {
      ++asked_[request.object];
      // Reads of one object are joined: if one of them may go on, all may.
      const auto joins = [&](const storage::ReadRequest& other) {
        return other.object == request.object;
      };
      auto joined = std::stable_partition(hanging_.begin(), hanging_.end(),
                                          std::not_fn(joins));
      std::deque<storage::ReadRequest> together(
          std::make_move_iterator(joined),
          std::make_move_iterator(hanging_.end()));
      hanging_.erase(joined, hanging_.end());
      const bool holds =
          AreAmong(storage::PayersOf(request.purpose), capped_reads_);
      together.push_back(std::move(request));
      for (storage::ReadRequest& one : together) {
        if (holds) {
          hanging_.push_back(std::move(one));
        } else {
          Ask(std::move(one));
        }
      }
    }
  }
  int cpus() const override { return 1; }
  int places() const override { return 1; }
  void AddCpu(int, std::int64_t) override {}
  void SubmitFor(absl::Span<const schedule::Flow> flows,
                 const executor::Demand&, Task task) override {
    base::MutexLock lock(&mutex_);
    flows_.assign(flows.begin(), flows.end());
    (AreAmong(flows, capped_tasks_) ? held_tasks_ : tasks_)
        .push_back(std::move(task));
  }

  // Completes one read or one task, drawn at random. Returns false if there is
  // none.
  bool Step() {
    clock_.Advance(1000);
    const std::size_t reads = this->reads();
    const std::size_t all = reads + tasks();
    if (all == 0) return false;
    const std::size_t drawn = random_() % all;
    if (drawn < reads) {
      CompleteRead(drawn);
    } else {
      RunTask(drawn - reads);
    }
    return true;
  }
  // Completes all reads, and then the oldest task, as on a host whose only
  // bottleneck is threads. Returns false if there is neither.
  bool StepInOrder() {
    clock_.Advance(1000);
    CompleteReads();
    if (tasks() == 0) return false;
    RunTask(0);
    return true;
  }
  void RunAll() {
    while (Step()) {
    }
  }
  void CompleteReads() {
    while (reads() > 0) CompleteRead(0);
  }
  // Completes the oldest read if it was started at least `nanos` nanoseconds
  // ago. Returns whether it did.
  bool CompleteReadAfter(std::int64_t nanos) {
    {
      base::MutexLock lock(&mutex_);
      if (reads_.empty() || clock_.NowNanos() - asked_at_nanos_[0] < nanos)
        return false;
    }
    CompleteRead(0);
    return true;
  }
  void RunTasks() {
    while (tasks() > 0) RunTask(0);
  }

 private:
  static bool AreAmong(absl::Span<const schedule::Flow> flows,
                       const std::set<schedule::Flow>& those) {
    return std::all_of(flows.begin(), flows.end(), [&](schedule::Flow flow) {
      return those.contains(flow);
    });
  }
  void Ask(storage::ReadRequest request) {
    if (hangs.contains(request.object)) {
      hanging_.push_back(std::move(request));
      return;
    }
    reads_.push_back(std::move(request));
    asked_at_nanos_.push_back(clock_.NowNanos());
  }
  void CompleteRead(std::size_t index) {
    storage::ReadRequest request;
    {
      base::MutexLock lock(&mutex_);
      request = std::move(reads_[index]);
      reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
      asked_at_nanos_.erase(asked_at_nanos_.begin() +
                            static_cast<std::ptrdiff_t>(index));
    }
    const auto answer = answers.find(request.object);
    if (answer != answers.end()) {
      request.done(answer->second);
    } else {
      request.done(Plain());
    }
  }
  void RunTask(std::size_t index) {
    Task task;
    {
      base::MutexLock lock(&mutex_);
      task = std::move(tasks_[index]);
      tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    task(0);
  }
  static storage::ReadResult Plain() {
    auto bytes = std::make_shared<std::vector<std::uint8_t>>(100);
    return {.bytes = base::Bytes(bytes, *bytes)};
  }

  std::mt19937 random_;
  std::map<std::string, int> asked_;
  base::FakeClock clock_;
  cache::NextUseRegistry next_use_registry_;
  base::MemoryBudget budget_{std::uint64_t{1} << 30};
  std::vector<std::unique_ptr<pipeline::Workspace>> workspaces_;
  mutable base::Mutex mutex_;  // guards the members below, except changes_
  std::deque<storage::ReadRequest> reads_;
  std::deque<storage::ReadRequest> hanging_;
  std::deque<Task> held_tasks_;
  std::set<schedule::Flow> capped_tasks_;
  std::set<schedule::Flow> capped_reads_;
  // Start times of the reads in reads_.
  std::deque<std::int64_t> asked_at_nanos_;
  std::deque<Task> tasks_;
  std::vector<schedule::Flow> flows_;
  int changes_ = 0;
};

inline StreamSpec FakeStreamSpec(
    std::uint64_t dataset_size, std::uint32_t batch_size,
    const std::function<void(proto::LoaderSpec&)>& change =
        [](proto::LoaderSpec&) {},
    std::uint64_t sample_bytes = 100) {
  proto::LoaderSpec spec;
  spec.mutable_batch()->set_batch_size(batch_size);
  spec.mutable_sampler()->set_order(proto::SamplerSpec::SHUFFLE);
  spec.mutable_sampler()->set_seed(7);
  change(spec);
  const auto dataset =
      std::make_shared<NumberedDataset>(dataset_size, sample_bytes);
  const auto pipeline = std::make_shared<FakePipeline>();
  dataset::ValueBuffers buffers;
  const auto room = [&](std::uint64_t bytes) { return buffers.Add(bytes); };
  return {.dataset = dataset,
          .sampler = *sampler::Sampler::Create(spec.sampler(), dataset_size),
          .pipeline = pipeline,
          .fields = *TypesOf(*dataset, {pipeline, nullptr}, {}, {}, room),
          .batch = {.size = spec.batch().batch_size(),
                    .drop_last = spec.batch().drop_last(),
                    .substitute = spec.batch().on_error() ==
                                  proto::BatchSpec::SUBSTITUTE},
          .room = std::nullopt,
          .windows = nullptr,
          .seed = spec.sampler().seed(),
          .order_member = nullptr};
}

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_PRODUCTION_H_
