// Tests of ranges of objects, on a source of invented objects.
#include "server/fetch/object_reader.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::fetch {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kBlock = std::uint64_t{64} << 10;

std::string Content(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(i * 131 % 251);
  return bytes;
}

// A source of objects by name, which checks versions as real sources do.
class Objects final : public storage::ByteSource {
 public:
  struct Object {
    std::string bytes;
    std::int64_t stamp = 1;
  };

  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      extents.emplace_back(request.offset, request.length);
      CHECK(request.purpose.job == 7);
      if (request.object == "held") {
        held_.push_back(std::move(request.done));
      } else {
        request.done(Give(request));
      }
    }
    if (after_read) after_read();
  }
  absl::StatusOr<storage::ObjectVersion> Find(const std::string& name) {
    ++looks;
    const auto found = objects.find(name);
    if (found == objects.end())
      return absl::NotFoundError(name + ": does not exist");
    return storage::ObjectVersion{found->second.bytes.size(),
                                  found->second.stamp};
  }
  void LetGo() {
    for (auto& done : held_) done(absl::CancelledError("let go of"));
    held_.clear();
  }

  std::map<std::string, Object> objects;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  std::function<void()> after_read;
  int looks = 0;

 private:
  absl::StatusOr<storage::ReadResult> Give(
      const storage::ReadRequest& request) const {
    const auto found = objects.find(request.object);
    if (found == objects.end())
      return absl::NotFoundError(request.object + ": does not exist");
    const Object& object = found->second;
    if (object.bytes.size() != request.version.size ||
        object.stamp != request.version.stamp)
      return absl::FailedPreconditionError("was replaced");
    const auto bytes = std::make_shared<const std::string>(
        object.bytes.substr(request.offset, request.length));
    return storage::ReadResult{base::Bytes(
        bytes,
        {reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()})};
  }

  std::vector<storage::ReadDone> held_;
};

class ObjectReaderTest {
 protected:
  ~ObjectReaderTest() {
    objects_.LetGo();
    Unmap();
  }

  ObjectRange Range(const std::string& name, std::uint64_t offset,
                    std::uint64_t length) {
    return {.root = root_,
            .object = name,
            .version = objects_.Find(name).value(),
            .offset = offset,
            .length = length,
            .block_bytes = kBlock};
  }
  ObjectRange AsItIs(const std::string& name, std::uint64_t length) {
    return {.root = root_,
            .object = name,
            .version = std::nullopt,
            .length = length,
            .block_bytes = kBlock};
  }
  // Returns the bytes of a range that must be readable.
  std::string Bytes(const ObjectRange& range) {
    auto read = reader_->Read(range, {});
    CHECK_THAT(read, IsOk());
    if (!read.ok()) return "";
    if (read->window) {
      Unmap();
      window_bytes_ = read->window_bytes;
      window_ = mmap(nullptr, window_bytes_, PROT_READ, MAP_SHARED,
                     read->window.get(), 0);
    }
    if (read->bytes == 0) return "";
    return std::string(static_cast<const char*>(window_), read->bytes);
  }
  absl::Status Error(const ObjectRange& range) {
    return reader_->Read(range, {}).status();
  }
  void Unmap() {
    if (window_ != nullptr) munmap(window_, window_bytes_);
    window_ = nullptr;
  }
  void Reset() { reader_.reset(); }

  base::MemoryBudget budget_{64 << 20};
  Objects objects_;
  const std::shared_ptr<const storage::Root> root_ =
      storage::FakeRoot::Make({.uri = "root", .identity = "root"});
  std::unique_ptr<ObjectReader> reader_ = std::make_unique<ObjectReader>(
      ObjectDeps{
          .source = &objects_,
          .budget = &budget_,
          .find_version =
              [this](const storage::Root&, const std::string& name,
                     const std::stop_token&) { return objects_.Find(name); }},
      7);
  void* window_ = nullptr;
  std::uint64_t window_bytes_ = 0;
};

TEST_CASE_METHOD(ObjectReaderTest,
                 "The object reader reads an object in blocks",
                 "[fetch][object_reader]") {
  const std::string content = Content(3 * kBlock + 5);
  objects_.objects["a"] = {content};
  CHECK(Bytes(Range("a", 0, content.size())) == content);
  CHECK(Bytes(Range("a", kBlock, 2 * kBlock)) ==
        content.substr(kBlock, 2 * kBlock));
  CHECK(Bytes(Range("a", 3 * kBlock, 5)) == content.substr(3 * kBlock));
  CHECK_THAT(Bytes(Range("a", 3 * kBlock, 0)), Catch::Equals(""));
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
      {0, kBlock},     {kBlock, kBlock}, {2 * kBlock, kBlock},
      {3 * kBlock, 5}, {kBlock, kBlock}, {2 * kBlock, kBlock},
      {3 * kBlock, 5}};
  CHECK(objects_.extents == expected);
}

TEST_CASE_METHOD(ObjectReaderTest,
                 "The object reader reads a small object as it is",
                 "[fetch][object_reader]") {
  objects_.objects["small"] = {Content(kBlock)};
  objects_.objects["empty"] = {""};
  objects_.objects["large"] = {Content(kBlock + 1)};
  CHECK(Bytes(AsItIs("small", kBlock)) == Content(kBlock));
  CHECK_THAT(Bytes(AsItIs("empty", kBlock)), Catch::Equals(""));
  const auto large = reader_->Read(AsItIs("large", kBlock), {});
  REQUIRE_THAT(large, IsOk());
  CHECK(large->version.size == kBlock + 1);
  CHECK(large->bytes == 0);
  CHECK(objects_.extents.size() == 1);
}

TEST_CASE_METHOD(ObjectReaderTest,
                 "The object reader reports a changed object as an error",
                 "[fetch][object_reader]") {
  objects_.objects["a"] = {Content(2 * kBlock)};
  const ObjectRange range = Range("a", 0, kBlock);
  Bytes(range);
  objects_.objects["a"].stamp = 2;
  CHECK(Error(range) == absl::FailedPreconditionError(
                            "root: a: was changed, replaced or removed since "
                            "it was opened"));
  objects_.objects.clear();
  CHECK_THAT(Error(range), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(Error(AsItIs("a", kBlock)) ==
        absl::NotFoundError("root: a: does not exist"));
}

TEST_CASE_METHOD(
    ObjectReaderTest,
    "The object reader looks again at an object that is written meanwhile",
    "[fetch][object_reader]") {
  objects_.objects["a"] = {"short"};
  objects_.objects["b"] = {"b"};
  int left = 2;
  auto reader =
      ObjectReader({.source = &objects_,
                    .budget = &budget_,
                    .find_version =
                        [&](const storage::Root&, const std::string& name,
                            const std::stop_token&) {
                          auto found = objects_.Find(name);
                          if (left-- > 0) objects_.objects[name].stamp += 1;
                          return found;
                        }},
                   7);
  CHECK_THAT(reader.Read(AsItIs("a", kBlock), {}), IsOk());
  CHECK(objects_.looks == 3);
  left = 100;
  CHECK_THAT(reader.Read(AsItIs("b", kBlock), {}),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(ObjectReaderTest,
                 "The object reader refuses ranges that are not valid",
                 "[fetch][object_reader]") {
  constexpr std::uint64_t kHuge = UINT64_MAX - kBlock + 1;
  objects_.objects["a"] = {Content(3 * kBlock + 5)};
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, kBlock},
                                                            {0, kBlock - 1},
                                                            {0, 4 * kBlock},
                                                            {3 * kBlock, 6},
                                                            {4 * kBlock, 0},
                                                            {kHuge, kBlock},
                                                            {0, UINT64_MAX},
                                                            {kBlock, kHuge}}) {
    const absl::Status status = Error(Range("a", offset, length));
    UNSCOPED_INFO(status << offset);
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(status.message(), Contains("root: a: "));
  }
  ObjectRange range = Range("a", 0, kBlock);
  for (const std::uint64_t block :
       {std::uint64_t{0}, std::uint64_t{1}, kBlock / 2, kBlock + 1,
        ObjectReader::kMaxLength * 2, UINT64_MAX}) {
    range.block_bytes = block;
    CAPTURE(block);
    CHECK_THAT(Error(range), HasCode(absl::StatusCode::kInvalidArgument));
  }
  range = AsItIs("a", kBlock);
  range.offset = kBlock;
  CHECK_THAT(Error(range), HasCode(absl::StatusCode::kInvalidArgument));
  // A client may send any version, even one of 2^64 - 1 bytes.
  range = Range("a", 0, kBlock);
  range.version->size = UINT64_MAX;
  CHECK_THAT(Error(range), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(objects_.extents.size() == 1);
}

TEST_CASE_METHOD(ObjectReaderTest,
                 "The object reader reserves its memory and gives it back",
                 "[fetch][object_reader]") {
  objects_.objects["a"] = {Content(ObjectReader::kMaxLength)};
  Bytes(Range("a", 0, kBlock));
  const std::uint64_t used = budget_.used();
  CHECK(used == window_bytes_);
  {
    const auto rest = budget_.Reserve(budget_.limit() - used - 2 * kBlock, "");
    CHECK_THAT(Error(Range("a", 0, ObjectReader::kMaxLength)),
               HasCode(absl::StatusCode::kResourceExhausted));
    CHECK(Bytes(Range("a", kBlock, kBlock)).size() == kBlock);
  }
  CHECK(budget_.used() == used);
  CHECK(Bytes(Range("a", 0, ObjectReader::kMaxLength)).size() ==
        ObjectReader::kMaxLength);
  CHECK(window_bytes_ > used);
  Reset();
  CHECK(budget_.used() == 0);
}

TEST_CASE_METHOD(
    ObjectReaderTest,
    "The object reader gives the next client a window that an error kept back",
    "[fetch][object_reader]") {
  objects_.objects["a"] = {Content(kBlock)};
  ObjectRange changed = Range("a", 0, kBlock);
  changed.version->stamp = 5;
  CHECK_FALSE(Error(changed).ok());
  CHECK(Bytes(Range("a", 0, kBlock)) == Content(kBlock));
}

TEST_CASE_METHOD(ObjectReaderTest,
                 "The object reader returns when it is stopped",
                 "[fetch][object_reader]") {
  objects_.objects["held"] = {Content(kBlock)};
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  const ObjectRange range = Range("held", 0, kBlock);
  CHECK_THAT(reader_->Read(range, stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  stopper.join();
}

}  // namespace
}  // namespace forebay::fetch
