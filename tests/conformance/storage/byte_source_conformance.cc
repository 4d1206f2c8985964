#include "tests/conformance/storage/byte_source_conformance.h"

#include <atomic>
#include <future>
#include <latch>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {
namespace {

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

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ByteSourceConformanceTest);

absl::StatusOr<ReadResult> ByteSourceConformanceTest::Read(
    ReadRequest request) {
  std::promise<absl::StatusOr<ReadResult>> promise;
  auto result = promise.get_future();
  request.done = [&](absl::StatusOr<ReadResult> result) {
    promise.set_value(std::move(result));
  };
  harness_->source().Read({&request, 1});
  return result.get();
}

absl::StatusCode ByteSourceConformanceTest::ErrorOf(ReadRequest request) {
  const std::string object = request.object;
  const absl::Status status = Read(std::move(request)).status();
  EXPECT_NE(std::string(status.message()).find(object), std::string::npos)
      << status;
  return status.code();
}

TEST_P(ByteSourceConformanceTest, GivesWholeObjects) {
  for (std::size_t length : {0, 1, 4095, 4096, 4097, 47'000, 3'000'000}) {
    const std::string content = RandomText(length, length);
    const ObjectVersion version = harness_->Put("class a/ü.jpg", content);
    const auto read = Read(Request("class a/ü.jpg", version));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Text(read->bytes), content);
  }
}

TEST_P(ByteSourceConformanceTest, GivesRanges) {
  const std::string content = RandomText(10'000, 1);
  const ObjectVersion version = harness_->Put("a", content);
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 1}, {1, 1}, {4096, 4096}, {9999, 1}, {10'000, 0}, {17, 9000}}) {
    ReadRequest request = Request("a", version);
    request.offset = offset;
    request.length = length;
    const auto read = Read(std::move(request));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Text(read->bytes), content.substr(offset, length));
  }
}

TEST_P(ByteSourceConformanceTest, RefusesRangesOutside) {
  const ObjectVersion version = harness_->Put("object", "12345");
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 6}, {5, 1}, {6, 0}, {UINT64_MAX, 2}, {1, UINT64_MAX}}) {
    ReadRequest request = Request("object", version);
    request.offset = offset;
    request.length = length;
    EXPECT_EQ(ErrorOf(std::move(request)), absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(ByteSourceConformanceTest, NamesWhatIsGone) {
  const ObjectVersion version = harness_->Put("object", "12345");
  harness_->Remove("object");
  EXPECT_EQ(ErrorOf(Request("object", version)), absl::StatusCode::kNotFound);
}

TEST_P(ByteSourceConformanceTest, RefusesAnotherVersion) {
  const ObjectVersion first = harness_->Put("object", "12345");
  const ObjectVersion second = harness_->Put("object", "54321");
  EXPECT_EQ(ErrorOf(Request("object", first)),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Text(Read(Request("object", second))->bytes), "54321");
}

TEST_P(ByteSourceConformanceTest, RefusesARootOfAnotherKind) {
  ReadRequest request = Request("object", harness_->Put("object", "1"));
  request.root = FakeRoot::Make({.uri = "strange:"});
  EXPECT_EQ(ErrorOf(std::move(request)), absl::StatusCode::kInvalidArgument);
}

TEST_P(ByteSourceConformanceTest, OneBadReadSpoilsNoOther) {
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
  EXPECT_EQ(good, 5);
}

TEST_P(ByteSourceConformanceTest, BytesOutliveTheSource) {
  const std::string content = RandomText(50'000, 2);
  const auto read = Read(Request("a", harness_->Put("a", content)));
  ASSERT_TRUE(read.ok());
  harness_->DestroySource();
  EXPECT_EQ(Text(read->bytes), content);
}

TEST_P(ByteSourceConformanceTest, ServesManyThreads) {
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
  EXPECT_EQ(wrong, 0);
}

// Every `done` is called once, with the right bytes or CANCELLED, also when the
// source goes away.
TEST_P(ByteSourceConformanceTest, DestructionAnswersEveryRead) {
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
  for (const std::atomic<int>& count : answers) EXPECT_EQ(count, 1);
  EXPECT_EQ(wrong, 0);
}

}  // namespace forebay::storage
