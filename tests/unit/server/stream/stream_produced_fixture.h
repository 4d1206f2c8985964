#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_PRODUCED_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_PRODUCED_FIXTURE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/mutex.h"
#include "server/stream/stream.h"
#include "server/worker/answer_waiter.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"
#include "tests/unit/server/stream/fake_workers.h"

namespace forebay::stream {

// The number of samples in the dataset.
constexpr std::uint64_t kSamples = 40;
constexpr std::int64_t kSecond = 1'000'000'000;

// A dataset whose samples are made by workers.
class WorkerDataset final : public NumberedDataset {
 public:
  using NumberedDataset::NumberedDataset;
  bool is_produced() const override { return true; }
};

// A stream, its members and their fake workers.
class StreamProducedTest {
 protected:
  explicit StreamProducedTest(proto::Place place = proto::Place::kHost)
      : stream_(MakeStream(place)) {}
  ~StreamProducedTest() {
    clients_.clear();
    for (device::FakeDevice* const on : {&a_, &b_}) on->copier->RunAll();
    workers_.reset();
    // The waiter's callbacks may hold the stream until they end.
    Settle();
    stream_.reset();
    RunAside();
  }

  std::shared_ptr<Stream> MakeStream(proto::Place place) {
    StreamSpec spec = FakeStreamSpec(kSamples, /*batch_size=*/4);
    spec.dataset = std::make_shared<WorkerDataset>(kSamples);
    spec.place = place;
    StreamDeps deps = production_.deps();
    deps.answer_waiter = &waiter_;
    deps.aside = [this](const std::string&, std::function<void()> work) {
      if (!keeps_aside_) return;  // destroys the objects that the work holds
      base::MutexLock lock(&aside_mutex_);
      aside_.push_back(std::move(work));
    };
    return *Stream::Create(std::move(spec), deps);
  }
  FakeClient& Join(const DevicePtr& device = nullptr) {
    clients_.push_back(std::make_unique<FakeClient>(
        stream_.get(), static_cast<schedule::Flow>(clients_.size() + 1),
        /*depth=*/0, device));
    return *clients_.back();
  }
  void StartWorkers(const FakeClient& owner, std::uint32_t most = 2,
                    bool are_persistent = false) {
    workers_ = std::make_unique<FakeWorkers>(
        *stream_->StartWorkers(owner.member(), most, are_persistent, "job a"));
  }

  // Runs the work that was set aside. Later work that would be set aside is
  // dropped.
  void RunAside() {
    keeps_aside_ = false;
    std::vector<std::function<void()>> works;
    {
      base::MutexLock lock(&aside_mutex_);
      works.swap(aside_);
    }
    for (const auto& work : works) work();
  }
  // Waits until the waiter has finished what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }
  // Runs all work that comes, until the condition is true.
  void RunUntil(const std::function<bool()>& condition) {
    while (!condition()) {
      production_.RunAll();
      for (device::FakeDevice* const on : {&a_, &b_}) on->copier->RunAll();
      std::this_thread::yield();
    }
  }
  // Waits for the next entry, and takes it.
  proto::ReadyEntry Next(FakeClient& client) {
    std::optional<proto::ReadyEntry> entry;
    RunUntil([&] { return (entry = client.Take()).has_value(); });
    return *entry;
  }
  // Takes batches until the epoch ends, and returns the samples.
  std::vector<std::uint64_t> ReadAll(FakeClient& client) {
    std::vector<std::uint64_t> ids;
    for (;;) {
      const proto::ReadyEntry entry = Next(client);
      CAPTURE(client.error());
      CHECK(entry.kind != proto::ReadyKind::kError);
      if (entry.kind != proto::ReadyKind::kBatch) break;
      const auto batch = client.Read(entry);
      ids.insert(ids.end(), batch.begin(), batch.end());
      CHECK_THAT(client.Release(entry), tests::IsOk());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  // Lets `seconds` seconds pass. Meanwhile the trainers of the clients in
  // `waiting` wait for batches.
  void PassSeconds(int seconds, const std::vector<FakeClient*>& waiting) {
    for (int i = 0; i < seconds; ++i) {
      production_.clock().Advance(kSecond);
      for (FakeClient* const client : waiting)
        client->release_ring().wait_nanos += kSecond;
      production_.RunAll();
      stream_->ReleaseIdleMemory();
    }
  }

  static std::vector<std::uint64_t> All() {
    std::vector<std::uint64_t> ids(kSamples);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }

  std::atomic<bool> keeps_aside_ = false;
  base::Mutex aside_mutex_;
  std::vector<std::function<void()>> aside_;
  device::FakeDevice a_{0};
  device::FakeDevice b_{1};
  FakeProduction production_{7};
  worker::AnswerWaiter waiter_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<FakeWorkers> workers_;
  std::vector<std::unique_ptr<FakeClient>> clients_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_PRODUCED_FIXTURE_H_
