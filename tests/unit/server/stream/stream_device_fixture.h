#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_DEVICE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_DEVICE_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {

// A stream with two GPUs, whose work is done in any order.
class StreamDeviceTest {
 protected:
  static StreamSpec DeviceSpec(std::uint64_t samples,
                               std::uint32_t batch_size) {
    StreamSpec spec = FakeStreamSpec(samples, batch_size);
    spec.place = proto::Place::kDevice;
    return spec;
  }

  void Make(std::uint32_t seed, std::uint64_t samples = 103) {
    stream_.reset();
    production_ = std::make_unique<FakeProduction>(seed);
    random_.seed(seed);
    spec_ = DeviceSpec(samples, 10);
    stream_ = *Stream::Create(spec_, production_->deps());
  }
  ~StreamDeviceTest() {
    for (device::FakeDevice* const on : {&a_, &b_}) on->copier->RunAll();
    if (production_ != nullptr) production_->RunAll();
  }

  std::vector<std::uint64_t> Expected(std::uint64_t epoch,
                                      std::uint64_t first = 0) const {
    std::vector<std::uint64_t> ids;
    for (auto i = first; i < spec_.sampler.samples_per_epoch(); ++i)
      ids.push_back(spec_.sampler.Epoch(epoch).SampleAt(i));
    return ids;
  }
  // Does one random piece of the work that is left. Returns false if there is
  // none.
  bool Step() {
    const std::size_t on_a = a_.copier->waiting();
    const std::size_t on_b = b_.copier->waiting();
    const std::size_t drawn = random_() % (on_a + on_b + 8);
    if (drawn < on_a) {
      a_.copier->Step(drawn);
    } else if (drawn < on_a + on_b) {
      b_.copier->Step(drawn - on_a);
    } else if (!production_->Step()) {
      if (on_a + on_b == 0) return false;
      device::FakeCopier* const copier = on_a > 0 ? a_.copier : b_.copier;
      copier->Step(0);
    }
    return true;
  }
  void RunAll() {
    while (Step()) {
    }
  }
  // Takes and releases batches until the closing entry, and returns that entry.
  proto::ReadyEntry Drain(FakeClient& client, std::vector<std::uint64_t>* ids) {
    for (;;) {
      RunAll();
      const auto entry = client.Take();
      if (!entry.has_value()) {
        FAIL_CHECK("the stream has dried up");
        return {};
      }
      if (entry->kind != proto::ReadyKind::kBatch) return *entry;
      const auto batch = client.Read(*entry);
      ids->insert(ids->end(), batch.begin(), batch.end());
      CHECK_THAT(client.Release(*entry), tests::IsOk());
    }
  }

  device::FakeDevice a_{0};
  device::FakeDevice b_{1};
  std::mt19937 random_;
  std::unique_ptr<FakeProduction> production_;
  StreamSpec spec_ = DeviceSpec(103, 10);
  std::shared_ptr<Stream> stream_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_DEVICE_FIXTURE_H_
