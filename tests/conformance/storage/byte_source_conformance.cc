#include "tests/conformance/storage/byte_source_conformance.h"

#include <atomic>
#include <future>
#include <latch>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {
namespace {

using tests::Contains;
using tests::IsOk;

std::string Text(const base::Bytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string RandomText(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

}  // namespace

absl::StatusOr<ReadResult> ByteSourceConformance::Read(ReadRequest request) {
  std::promise<absl::StatusOr<ReadResult>> promise;
  auto result = promise.get_future();
  request.done = [&](absl::StatusOr<ReadResult> result) {
    promise.set_value(std::move(result));
  };
  harness_->source().Read({&request, 1});
  return result.get();
}

absl::StatusCode ByteSourceConformance::ErrorOf(ReadRequest request) {
  const std::string object = request.object;
  const absl::Status status = Read(std::move(request)).status();
  CAPTURE(status);
  CHECK_THAT(status.message(), Contains(object));
  return status.code();
}

SUITE_CASE(ByteSourceConformance, "A byte source gives whole objects",
           "[storage][byte_source_conformance]") {
  for (std::size_t length : {0, 1, 4095, 4096, 4097, 47'000, 3'000'000}) {
    const std::string content = RandomText(length, length);
    const ObjectVersion version = harness_->Put("class a/ü.jpg", content);
    const auto read = Read(Request("class a/ü.jpg", version));
    REQUIRE_THAT(read, IsOk());
    CHECK(Text(read->bytes) == content);
  }
}

SUITE_CASE(ByteSourceConformance, "A byte source gives ranges of objects",
           "[storage][byte_source_conformance]") {
  const std::string content = RandomText(10'000, 1);
  const ObjectVersion version = harness_->Put("a", content);
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 1}, {1, 1}, {4096, 4096}, {9999, 1}, {10'000, 0}, {17, 9000}}) {
    ReadRequest request = Request("a", version);
    request.offset = offset;
    request.length = length;
    const auto read = Read(std::move(request));
    REQUIRE_THAT(read, IsOk());
    CHECK(Text(read->bytes) == content.substr(offset, length));
  }
}

SUITE_CASE(ByteSourceConformance,
           "A byte source refuses ranges outside an object",
           "[storage][byte_source_conformance]") {
  const ObjectVersion version = harness_->Put("object", "12345");
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 6}, {5, 1}, {6, 0}, {UINT64_MAX, 2}, {1, UINT64_MAX}}) {
    ReadRequest request = Request("object", version);
    request.offset = offset;
    request.length = length;
    CHECK(ErrorOf(request) == absl::StatusCode::kInvalidArgument);
  }
}

SUITE_CASE(ByteSourceConformance, "A byte source names an object that is gone",
           "[storage][byte_source_conformance]") {
  const ObjectVersion version = harness_->Put("object", "12345");
  harness_->Remove("object");
  CHECK(ErrorOf(Request("object", version)) == absl::StatusCode::kNotFound);
}

SUITE_CASE(ByteSourceConformance,
           "A byte source refuses another version than the object has",
           "[storage][byte_source_conformance]") {
  const ObjectVersion first = harness_->Put("object", "12345");
  const ObjectVersion second = harness_->Put("object", "54321");
  CHECK(ErrorOf(Request("object", first)) ==
        absl::StatusCode::kFailedPrecondition);
  CHECK(Text(Read(Request("object", second))->bytes) == "54321");
}

SUITE_CASE(ByteSourceConformance,
           "A byte source refuses a root of another kind",
           "[storage][byte_source_conformance]") {
  ReadRequest request = Request("object", harness_->Put("object", "1"));
  request.root = FakeRoot::Make({.uri = "strange:"});
  CHECK(ErrorOf(request) == absl::StatusCode::kInvalidArgument);
}

SUITE_CASE(ByteSourceConformance,
           "A bad read of a byte source spoils no other read",
           "[storage][byte_source_conformance]") {
  const ObjectVersion version = harness_->Put("good", "good");
  std::latch done(10);
  std::atomic<int> good = 0;
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 10; ++i) {
    requests.push_back(Request(i % 2 == 0 ? "good" : "missing", version));
    requests.back().done = [&](absl::StatusOr<ReadResult> result) {
      if (result.ok() && Text(result->bytes) == "good") ++good;
      done.count_down();
    };
  }
  harness_->source().Read(absl::MakeSpan(requests));
  done.wait();
  CHECK(good == 5);
}

SUITE_CASE(ByteSourceConformance,
           "Bytes outlive the byte source that gave them",
           "[storage][byte_source_conformance]") {
  const std::string content = RandomText(50'000, 2);
  const auto read = Read(Request("a", harness_->Put("a", content)));
  REQUIRE_THAT(read, IsOk());
  harness_->DestroySource();
  CHECK(Text(read->bytes) == content);
}

SUITE_CASE(ByteSourceConformance, "A byte source serves many threads",
           "[storage][byte_source_conformance]") {
  constexpr int kThreads = 4;
  constexpr int kReads = 300;
  std::vector<std::string> contents;
  std::vector<ObjectVersion> versions;
  for (int i = 0; i < 10; ++i) {
    contents.push_back(RandomText(1000 * i, i));
    versions.push_back(harness_->Put("o" + std::to_string(i), contents[i]));
  }
  std::latch done(kThreads * kReads);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      std::vector<ReadRequest> requests;
      for (int i = 0; i < kReads; ++i) {
        const int object = (thread + i) % 10;
        requests.push_back(
            Request("o" + std::to_string(object), versions[object]));
        requests.back().purpose = {static_cast<std::uint64_t>(thread),
                                   static_cast<std::uint64_t>(i % 7),
                                   INT64_MAX};
        requests.back().done = [&, object](absl::StatusOr<ReadResult> result) {
          if (!result.ok() || Text(result->bytes) != contents[object]) ++wrong;
          done.count_down();
        };
      }
      harness_->source().Read(absl::MakeSpan(requests));
    });
  done.wait();
  CHECK(wrong == 0);
}

// Every `done` is called once, with the right bytes or CANCELLED, even if the
// source is destroyed first.
SUITE_CASE(ByteSourceConformance,
           "Destruction of a byte source answers every read",
           "[storage][byte_source_conformance]") {
  constexpr int kReads = 200;
  const std::string content = RandomText(20'000, 3);
  const ObjectVersion version = harness_->Put("a", content);
  std::vector<std::atomic<int>> answers(kReads);
  std::atomic<int> wrong = 0;
  std::vector<ReadRequest> requests;
  for (int i = 0; i < kReads; ++i) {
    requests.push_back(Request("a", version));
    requests.back().done = [&, i](absl::StatusOr<ReadResult> result) {
      ++answers[i];
      if (result.ok() ? Text(result->bytes) != content
                      : result.status().code() != absl::StatusCode::kCancelled)
        ++wrong;
    };
  }
  harness_->source().Read(absl::MakeSpan(requests));
  harness_->DestroySource();
  for (const std::atomic<int>& count : answers) CHECK(count == 1);
  CHECK(wrong == 0);
}

}  // namespace forebay::storage
