// Tests of single samples from memory and invented files, with real decoders.
#include "server/fetch/sample_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "proto/raw_image.h"
#include "proto/shm_fetch.h"
#include "server/executor/thread_pool_executor.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::fetch {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// For samples from number 39 on, this workspace is too small.
constexpr pipeline::WorkspaceLimits kSmallWorkspace = {
    .scratch_bytes = 1'000, .larger_scratch_bytes = 10'000};
constexpr std::uint64_t kSharedBytes = kSmallWorkspace.larger_scratch_bytes;

// Returns a raw image of `width` x 1 pixels with one gray value.
std::string RawImage(std::uint32_t width, char gray) {
  const proto::RawImageHeader header = {.magic = proto::kRawImageMagic,
                                        .width = width,
                                        .height = 1,
                                        .channels = 1};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  return bytes + std::string(width, gray);
}

// Sample i is a raw image of i + 1 pixels.
class RawDataset final : public dataset::FakeDataset {
 public:
  explicit RawDataset(std::uint64_t size)
      : FakeDataset({.size = size,
                     .fields = {{"image", proto::FieldKind::kImage, 0},
                                {"label", proto::FieldKind::kLabel, 0},
                                {"caption", proto::FieldKind::kText, 6}},
                     .largest_sample = size + 16,
                     .root = storage::FakeRoot::Make(
                         {.uri = "raw", .identity = "raw"})}) {}
  dataset::Sample At(std::uint64_t id) const override {
    dataset::Sample sample;
    sample.object = std::to_string(id);
    sample.length = RawImage(static_cast<std::uint32_t>(id + 1), 0).size();
    return sample;
  }
  void ValuesOf(std::uint64_t id,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = dataset::FieldRange{0, At(id).length};
    values[1] = static_cast<std::int64_t>(-5 * static_cast<int>(id));
    values[2] = std::string_view("a text");
  }
};

// Requests `stop` once `stop_at` tasks have been submitted. A thread that
// submits one may still be in this object when a read has returned.
class StoppingExecutor final : public executor::Executor {
 public:
  explicit StoppingExecutor(executor::Executor* inner) : inner_(inner) {}

  int cpus() const override { return inner_->cpus(); }
  int places() const override { return inner_->places(); }
  void AddCpu(int place, std::int64_t nanos) override {
    inner_->AddCpu(place, nanos);
  }
  void SubmitFor(absl::Span<const schedule::Flow> flows,
                 const executor::Demand& demand, Task task) override {
    inner_->SubmitFor(flows, demand, std::move(task));
    if (++tasks_ == stop_at) stop.request_stop();
  }

  std::atomic<std::size_t> stop_at = 0;
  std::stop_source stop;

 private:
  executor::Executor* const inner_;
  std::atomic<std::size_t> tasks_ = 0;
};

// Has sample i as the object with its number, and holds back the reads of "9".
class RawSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      if (request.object == "9") {
        held_.push_back(std::move(request.done));
      } else if (request.object == "6") {
        request.done(absl::NotFoundError("6: no such file"));
      } else {
        const auto bytes = std::make_shared<const std::string>(
            RawImage(static_cast<std::uint32_t>(std::stoul(request.object)) + 1,
                     request.object == "7" ? 0 : 'x'));
        const std::size_t size = request.object == "7" ? 9 : bytes->size();
        request.done(storage::ReadResult{base::Bytes(
            bytes,
            {reinterpret_cast<const std::uint8_t*>(bytes->data()), size})});
      }
    }
  }
  void LetGo() {
    for (auto& done : held_) done(absl::CancelledError("9: let go of"));
    held_.clear();
  }

 private:
  std::vector<storage::ReadDone> held_;
};

class SampleReaderTest {
 protected:
  SampleReaderTest() {
    for (int i = 0; i < executor_.places(); ++i) {
      workspaces_.push_back(
          std::make_unique<pipeline::Workspace>(pipeline::WorkspaceLimits{}));
    }
  }
  ~SampleReaderTest() {
    source_.LetGo();
    for (const auto& [window, bytes] : windows_) munmap(window, bytes);
  }

  std::unique_ptr<SampleReader> Open(bool decode, std::uint64_t size = 100) {
    return std::make_unique<SampleReader>(
        ReaderSpec{.dataset = std::make_shared<const RawDataset>(size),
                   .decode = decode,
                   .pipeline = nullptr},
        FetchDeps{
            .source = &source_,
            .executor = &stopping_,
            .workspaces = &workspaces_,
            .shared_workspace = &shared_,
            .budget = &budget_,
            .on_changed = [this](const dataset::Dataset&) { ++changes_; }},
        1);
  }

  void ShrinkWorkspaces() {
    for (auto& workspace : workspaces_)
      workspace = std::make_unique<pipeline::Workspace>(kSmallWorkspace);
  }

  Fetched Fetch(SampleReader& reader,
                const std::vector<std::uint64_t>& samples) {
    auto fetched = reader.Fetch(samples, {});
    CHECK_THAT(fetched, IsOk());
    if (fetched->window) {
      window_bytes_ = fetched->window_bytes;
      window_ = static_cast<std::uint8_t*>(mmap(nullptr, window_bytes_,
                                                PROT_READ, MAP_SHARED,
                                                fetched->window.get(), 0));
      windows_.emplace_back(window_, window_bytes_);
    }
    return *std::move(fetched);
  }
  proto::FetchedField Field(std::uint64_t sample, std::uint64_t field) const {
    proto::FetchedField found;
    std::memcpy(&found, window_ + proto::FetchedFieldOffset(sample, field, 3),
                sizeof(found));
    return found;
  }
  std::string Bytes(std::uint64_t sample, std::uint64_t field) const {
    const proto::FetchedField found = Field(sample, field);
    return std::string(reinterpret_cast<const char*>(window_) + found.offset,
                       found.bytes);
  }

  // When a read has returned, a thread may still hold the shared workspace.
  pipeline::SharedWorkspace::Loan BorrowShared() {
    while (true) {
      const auto back = std::make_shared<std::promise<void>>();
      auto loan = shared_.Borrow([back] { back->set_value(); });
      if (loan != nullptr) return loan;
      back->get_future().wait();
    }
  }

  base::MemoryBudget budget_{64 << 20};
  RawSource source_;
  std::vector<std::unique_ptr<pipeline::Workspace>> workspaces_;
  pipeline::SharedWorkspace shared_{{.scratch_bytes = kSharedBytes}};
  StoppingExecutor stopping_{&executor_};
  executor::ThreadPoolExecutor executor_{2, {}};
  int changes_ = 0;
  std::vector<std::pair<void*, std::uint64_t>> windows_;  // all windows so far
  std::uint8_t* window_ = nullptr;
  std::uint64_t window_bytes_ = 0;
};

TEST_CASE_METHOD(SampleReaderTest,
                 "The sample reader gives each sample its fields",
                 "[fetch][sample_reader]") {
  const auto reader = Open(true);
  CHECK(Fetch(*reader, {4, 0, 4}).failed.empty());
  proto::FetchHeader header;
  std::memcpy(&header, window_, sizeof(header));
  CHECK(header.magic == proto::kFetchMagic);
  CHECK(header.sample_count == 3);
  CHECK(header.field_count == 3);
  for (const std::uint64_t at : {0, 2}) {
    CHECK(Field(at, 0).rank == 3);
    CHECK(Field(at, 0).shape[0] == 1);
    CHECK(Field(at, 0).shape[1] == 5);
    CHECK(Field(at, 0).shape[2] == 3);
    CHECK(Bytes(at, 0) == std::string(15, 'x'));
    CHECK(Field(at, 1).rank == 0);
    std::int64_t label;
    std::memcpy(&label, Bytes(at, 1).data(), sizeof(label));
    CHECK(label == -20);
    CHECK(Bytes(at, 2) == "a text");
  }
  CHECK(Bytes(1, 0) == "xxx");
}

TEST_CASE_METHOD(
    SampleReaderTest,
    "The sample reader gives images as they are stored if it does not decode",
    "[fetch][sample_reader]") {
  const auto reader = Open(false);
  Fetch(*reader, {2});
  CHECK(Field(0, 0).rank == 1);
  CHECK(Bytes(0, 0) == RawImage(3, 'x'));
}

TEST_CASE_METHOD(SampleReaderTest,
                 "The sample reader's window grows with what is asked for",
                 "[fetch][sample_reader]") {
  const auto reader = Open(true, 2'000'000);
  CHECK(Fetch(*reader, {3}).window);
  CHECK_FALSE(Fetch(*reader, {5, 8}).window);
  const std::uint64_t before = window_bytes_;
  CHECK(Fetch(*reader, {1'500'000}).window);
  CHECK(window_bytes_ > before);
  CHECK(Bytes(0, 0) == std::string(4'500'003, 'x'));
  CHECK_FALSE(Fetch(*reader, {3}).window);
  CHECK(Bytes(0, 0) == std::string(12, 'x'));
}

TEST_CASE_METHOD(SampleReaderTest,
                 "A sample that others leave no memory for is not broken",
                 "[fetch][sample_reader]") {
  const auto reader = Open(true, 80'000'000);
  const auto rest =
      budget_.Reserve(budget_.limit() - budget_.used() - 4096, "");
  REQUIRE_THAT(rest, IsOk());
  CHECK_THAT(reader->Fetch(std::vector<std::uint64_t>{1'000'000}, {}).status(),
             HasCode(absl::StatusCode::kResourceExhausted));
  // This sample is larger than the whole memory.
  const absl::Status status =
      reader->Fetch(std::vector<std::uint64_t>{79'999'999}, {}).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("sample 79999999"));
  CHECK_THAT(status.message(), Contains("no memory"));
}

TEST_CASE_METHOD(SampleReaderTest,
                 "The sample reader reserves its memory and gives it back",
                 "[fetch][sample_reader]") {
  {
    const auto reader = Open(true, 2'000'000);
    Fetch(*reader, {3});
    const std::uint64_t used = budget_.used();
    CHECK(used >= window_bytes_);
    const std::vector<std::uint64_t> large(12, 1'200'000);
    const absl::Status status = reader->Fetch(large, {}).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
    CHECK(Fetch(*reader, {3}).failed.empty());
    CHECK(Bytes(0, 0) == std::string(12, 'x'));
    CHECK(budget_.used() == used);
  }
  CHECK(budget_.used() == 0);
}

TEST_CASE_METHOD(SampleReaderTest,
                 "A sample that fails harms no other sample of a fetch",
                 "[fetch][sample_reader]") {
  const auto reader = Open(true);
  const Fetched fetched = Fetch(*reader, {3, 7, 6, 4});
  REQUIRE(fetched.failed.size() == 2);
  CHECK(fetched.failed[0].index == 1);
  CHECK_THAT(fetched.failed[0].status, HasCode(absl::StatusCode::kDataLoss));
  CHECK(fetched.failed[0].status.message() ==
        "sample 7 of raw: 7: has only 9 of 24 bytes");
  CHECK(fetched.failed[1].index == 2);
  CHECK(fetched.failed[1].status.message() ==
        "sample 6 of raw: 6: no such file");
  CHECK(changes_ == 1);
  CHECK(Field(1, 0).bytes == 0);
  CHECK(Field(2, 2).rank == 0);
  CHECK(Bytes(0, 0) == std::string(12, 'x'));
  CHECK(Bytes(3, 0) == std::string(15, 'x'));
}

TEST_CASE_METHOD(SampleReaderTest,
                 "The sample reader refuses samples that do not exist and too "
                 "many or none at once",
                 "[fetch][sample_reader]") {
  const auto reader = Open(true);
  CHECK(reader->Fetch({{3, 100}}, {}).status().message() ==
        "sample 100 of raw, which has 100");
  CHECK_THAT(reader->Fetch({}, {}),
             HasCode(absl::StatusCode::kInvalidArgument));
  const std::vector<std::uint64_t> many(proto::kMaxFetch + 1);
  CHECK_THAT(reader->Fetch(many, {}),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(
    SampleReaderTest,
    "The sample reader lets images too large for a thread take turns",
    "[fetch][sample_reader]") {
  ShrinkWorkspaces();
  const auto reader = Open(true, 2'000);
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 10; i < 100; i += 3) samples.push_back(i);
  samples.push_back(1'000);
  const Fetched fetched = Fetch(*reader, samples);
  REQUIRE(fetched.failed.size() == 1);
  CHECK(fetched.failed[0].index == samples.size() - 1);
  const std::string message(fetched.failed[0].status.message());
  CHECK_THAT(message, Contains("image.scratch_limit"));
  samples.pop_back();
  CHECK(Fetch(*reader, samples).failed.empty());
  for (std::size_t i = 0; i < samples.size(); ++i)
    CHECK(Bytes(i, 0) == std::string(3 * (samples[i] + 1), 'x'));
}

TEST_CASE_METHOD(SampleReaderTest,
                 "The sample reader returns when stopped though a large image "
                 "waits for its turn",
                 "[fetch][sample_reader]") {
  ShrinkWorkspaces();
  const auto reader = Open(true);
  Fetch(*reader, {90});
  auto loan = BorrowShared();
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  CHECK_THAT(reader->Fetch({{3, 90}}, stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  stopper.join();
  loan.reset();
  const Fetched after = Fetch(*reader, {90, 3});
  CHECK(after.window);  // tasks may still write into the previous window
  CHECK(after.failed.empty());
  CHECK(Bytes(0, 0) == std::string(273, 'x'));
}

TEST_CASE_METHOD(
    SampleReaderTest,
    "The sample reader does not make large images that nobody waits for",
    "[fetch][sample_reader]") {
  ShrinkWorkspaces();
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 60; i < 100; ++i) samples.push_back(i);
  // A large image needs two tasks; the test stops at the last one.
  stopping_.stop_at = 2 + samples.size() + 1;
  const auto reader = Open(true);
  Fetch(*reader, {90});
  auto loan = BorrowShared();
  CHECK_THAT(reader->Fetch(samples, stopping_.stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  const auto stopped = absl::MakeConstSpan(window_, window_bytes_);
  loan.reset();
  // This sample is made after all tasks that those reads left behind.
  CHECK(Fetch(*reader, {90}).failed.empty());
  const auto behind = stopped.subspan(Field(0, 2).offset + 64);
  CHECK(std::count(behind.begin(), behind.end(), 'x') == 0);
}

TEST_CASE_METHOD(SampleReaderTest,
                 "The sample reader returns when it is stopped",
                 "[fetch][sample_reader]") {
  const auto reader = Open(true);
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  CHECK_THAT(reader->Fetch({{3, 9}}, stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  stopper.join();
}

}  // namespace
}  // namespace forebay::fetch
