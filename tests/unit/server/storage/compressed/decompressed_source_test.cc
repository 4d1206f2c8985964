#include "server/storage/compressed/decompressed_source.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/compressed/decompressed_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::storage::compressed {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

class DecompressedSourceTest {
 protected:
  DecompressedSourceTest() {
    compressed_version_ = memory_.Put("a.gz", compressed_);
    plain_version_ = memory_.Put("b", "plain");
    root_ = WithPoints(memory_.root(), points_);
  }

  DecompressedSource::RunTask AtOnce() {
    return [this](const ReadPurpose& purpose, std::int64_t,
                  const std::function<void()>& task) {
      const auto payers = PayersOf(purpose);
      payers_.assign(payers.begin(), payers.end());
      if (!drops_) task();
    };
  }

  ReadRequest Request(std::uint64_t offset, std::uint64_t length) const {
    ReadRequest request;
    request.root = root_;
    request.object = "a.gz";
    request.version = compressed_version_;
    request.version.size = text_.size();
    request.offset = offset;
    request.length = length;
    return request;
  }

  // Returns the text, which is made once for all tests.
  static const std::string& Text() {
    static const std::string text = Prose(5'000'000, 1) + Noise(3'000'000, 2);
    return text;
  }
  static const std::string& Compressed() {
    static const std::string compressed = Gzip(Text());
    return compressed;
  }
  static std::shared_ptr<const FilePoints> Points() {
    static const auto points = PointsOfFiles({{"a.gz", Compressed()}});
    return points;
  }

  const std::string& text_ = Text();
  const std::string& compressed_ = Compressed();
  const std::shared_ptr<const FilePoints> points_ = Points();
  MemorySource memory_;
  NotingSource below_{&memory_};
  ObjectVersion compressed_version_;
  ObjectVersion plain_version_;
  std::shared_ptr<const Root> root_;
  std::vector<std::uint64_t> payers_;
  bool drops_ = false;
  DecompressedSource source_{&below_, AtOnce(), 0};
};

TEST_CASE_METHOD(
    DecompressedSourceTest,
    "The decompressed source gives the decompressed bytes of a gzip file",
    "[compressed][decompressed_source]") {
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random() % (text_.size() + 1);
    const std::uint64_t length = std::min<std::uint64_t>(
        i % 10 == 0 ? 4'000'000 : random() % 100'000, text_.size() - offset);
    const auto read = ReadText(source_, Request(offset, length));
    REQUIRE_THAT(read, IsOk());
    REQUIRE(*read == text_.substr(offset, length));
  }
  const auto all = ReadText(source_, Request(0, text_.size()));
  REQUIRE_THAT(all, IsOk());
  CHECK(*all == text_);
}

TEST_CASE_METHOD(
    DecompressedSourceTest,
    "The decompressed source reads no more of a gzip file than it needs",
    "[compressed][decompressed_source]") {
  for (const std::uint64_t offset : {0, 100'000, 4'500'000, 7'990'000}) {
    const std::size_t before = below_.noted().size();
    REQUIRE_THAT(ReadText(source_, Request(offset, 1000)), IsOk());
    std::uint64_t bytes = 0;
    for (std::size_t i = before; i < below_.noted().size(); ++i)
      bytes += below_.noted()[i].length;
    CHECK(bytes <= DecompressedSource::kMostRead + 2 * (16 << 10));
    CHECK(below_.noted().size() - before <= 2);
  }
}

TEST_CASE_METHOD(DecompressedSourceTest,
                 "The decompressed source passes what is not compressed",
                 "[compressed][decompressed_source]") {
  ReadRequest request = Request(0, 5);
  request.object = "b";
  request.version = plain_version_;
  CHECK(*ReadText(source_, request) == "plain");
}

TEST_CASE_METHOD(
    DecompressedSourceTest,
    "The decompressed source gives nothing to a reader that has the bytes",
    "[compressed][decompressed_source]") {
  const Revision revision = {.inode = 5, .ctime_nanos = 7};
  memory_.Rewrite("a.gz", compressed_, revision);
  ReadRequest request = Request(1000, 10);
  request.unless = revision;
  Revision seen;
  CHECK_THAT(*ReadText(source_, request, &seen), Catch::Equals(""));
  CHECK(seen == revision);
  request = Request(1000, 10);
  request.unless = Revision{.inode = 6};
  CHECK(*ReadText(source_, request, &seen) == text_.substr(1000, 10));
  CHECK(seen == revision);
}

TEST_CASE_METHOD(
    DecompressedSourceTest,
    "The decompressed source refuses ranges and versions other than the file's",
    "[compressed][decompressed_source]") {
  CHECK_THAT(ReadText(source_, Request(text_.size(), 1)),
             HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(ReadText(source_, Request(1, UINT64_MAX)),
             HasCode(absl::StatusCode::kInvalidArgument));
  ReadRequest request = Request(0, 1);
  ++request.version.size;
  CHECK_THAT(ReadText(source_, std::move(request)),
             HasCode(absl::StatusCode::kFailedPrecondition));
  memory_.Put("a.gz", compressed_);  // with another modification time
  CHECK_THAT(ReadText(source_, Request(0, 1)),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(DecompressedSourceTest,
                 "The decompressed source tells of damage",
                 "[compressed][decompressed_source]") {
  std::string damaged = compressed_;
  for (std::size_t i = 1000; i < damaged.size(); i += 64) damaged[i] ^= 0x55;
  memory_.Rewrite("a.gz", damaged, {});
  const absl::Status status =
      ReadText(source_, Request(300'000, 1000)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("a.gz: "));
}

TEST_CASE_METHOD(DecompressedSourceTest,
                 "The decompressed source charges all jobs that share a read",
                 "[compressed][decompressed_source]") {
  ReadRequest request = Request(0, 7'000'000);
  request.purpose.job = 1;
  request.ticket = 9;
  // Job 2 joins during the second read.
  below_.set_on_read([this, reads = 0]() mutable {
    if (++reads == 2) source_.Share(9, {.job = 2});
  });
  REQUIRE_THAT(ReadText(source_, std::move(request)), IsOk());
  CHECK_THAT(payers_, ElementsAre(1, 2));
  CHECK(below_.sharers().size() >= 2);
  for (const auto& noted : below_.noted()) CHECK(noted.ticket == 9);
}

TEST_CASE_METHOD(
    DecompressedSourceTest,
    "The decompressed source cancels what is dropped or comes too late",
    "[compressed][decompressed_source]") {
  drops_ = true;
  CHECK_THAT(ReadText(source_, Request(0, 10)),
             HasCode(absl::StatusCode::kCancelled));
  drops_ = false;
  source_.Stop();
  CHECK_THAT(ReadText(source_, Request(0, 10)),
             HasCode(absl::StatusCode::kCancelled));
}

// Three kinds of zstd files, which are read in different ways. Short frames are
// read from their beginning. Other frames are too long for that, or their
// window needs too much memory.
class ZstdSourceTest {
 protected:
  struct File {
    std::string text;
    std::string compressed;
    ObjectVersion version = {};
  };
  using Files = std::map<std::string, File>;

  ZstdSourceTest() {
    for (auto& [name, file] : files_)
      file.version = memory_.Put(name, file.compressed);
    root_ = WithPoints(memory_.root(), Points());
  }

  // Returns the files and their points, which are made once for all tests.
  static const Files& AllFiles() {
    static const Files files = [] {
      const std::string text =
          Prose(9'000'000, 1) + Noise(1'500'000, 2) + Prose(2'000'000, 3);
      const std::string one = Zstd(text);
      return Files{
          {"frames", {text, ManyZstd(text, 700'000)}},
          {"one", {text, one}},
          {"wide", {text, Zstd(text, {.window_log = 24})}},
          {"mixed",
           {text + text + text,
            one + Zstd(text.substr(0, 5'000'000)) +
                Zstd(text.substr(5'000'000), {.window_log = 25}) + one}}};
    }();
    return files;
  }
  static std::shared_ptr<const FilePoints> Points() {
    static const auto points = [] {
      std::map<std::string, std::string> compressed;
      for (const auto& [name, file] : AllFiles())
        compressed[name] = file.compressed;
      return PointsOfFiles(compressed, Compression::kZstd);
    }();
    return points;
  }

  ReadRequest Request(const std::string& name, std::uint64_t offset,
                      std::uint64_t length) {
    ReadRequest request;
    request.root = root_;
    request.object = name;
    request.version = files_[name].version;
    request.version.size = files_[name].text.size();
    request.offset = offset;
    request.length = length;
    return request;
  }

  Files files_ = AllFiles();
  MemorySource memory_;
  NotingSource below_{&memory_};
  std::shared_ptr<const Root> root_;
  DecompressedSource source_{&below_,
                             [](const ReadPurpose&, std::int64_t,
                                const std::function<void()>& task) { task(); },
                             0};
};

TEST_CASE_METHOD(
    ZstdSourceTest,
    "The decompressed source gives the decompressed bytes of zstd files",
    "[compressed][decompressed_source]") {
  std::mt19937 random(1);
  for (const auto& [name, file] : files_) {
    const std::uint64_t size = file.text.size();
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t offset = random() % (size + 1);
      const std::uint64_t length = std::min<std::uint64_t>(
          i % 10 == 0 ? 4'000'000 : random() % 200'000, size - offset);
      const auto read = ReadText(source_, Request(name, offset, length));
      REQUIRE_THAT(read, IsOk());
      UNSCOPED_INFO(name << ' ' << offset << '+' << length);
      REQUIRE(*read == file.text.substr(offset, length));
    }
    const auto all = ReadText(source_, Request(name, 0, size));
    REQUIRE_THAT(all, IsOk());
    CAPTURE(name);
    CHECK(*all == file.text);
  }
}

TEST_CASE_METHOD(
    ZstdSourceTest,
    "The decompressed source reads no more of a zstd file than it needs",
    "[compressed][decompressed_source]") {
  for (const std::uint64_t offset : {0, 100'000, 7'500'000, 12'400'000}) {
    const std::size_t before = below_.noted().size();
    REQUIRE_THAT(ReadText(source_, Request("frames", offset, 1000)), IsOk());
    std::uint64_t bytes = 0;
    for (std::size_t i = before; i < below_.noted().size(); ++i)
      bytes += below_.noted()[i].length;
    CHECK(bytes <= 3 << 20);
    CHECK(below_.noted().size() - before <= 3);
  }
}

TEST_CASE_METHOD(ZstdSourceTest,
                 "The decompressed source asks whether the zstd file of a kept "
                 "piece is the same",
                 "[compressed][decompressed_source]") {
  REQUIRE_THAT(ReadText(source_, Request("one", 11'000'000, 1000)), IsOk());
  REQUIRE(below_.noted().size() == 1);
  CHECK(below_.noted()[0].length == 0);
  // The new object has another modification time.
  memory_.Put("one", files_["one"].compressed);
  CHECK_THAT(ReadText(source_, Request("one", 11'000'000, 1000)),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(ZstdSourceTest,
                 "The decompressed source gives nothing of a zstd piece to a "
                 "reader that has the bytes",
                 "[compressed][decompressed_source]") {
  const Revision revision = {.inode = 5, .ctime_nanos = 7};
  memory_.Rewrite("wide", files_["wide"].compressed, revision);
  ReadRequest request = Request("wide", 1000, 10);
  request.unless = revision;
  Revision seen;
  CHECK_THAT(*ReadText(source_, request, &seen), Catch::Equals(""));
  CHECK(seen == revision);
  request = Request("wide", 1000, 10);
  request.unless = Revision{.inode = 6};
  CHECK(*ReadText(source_, request, &seen) ==
        files_["wide"].text.substr(1000, 10));
  CHECK(seen == revision);
}

TEST_CASE_METHOD(ZstdSourceTest,
                 "The decompressed source knows which reads are of zstd files",
                 "[compressed][decompressed_source]") {
  CHECK(DecompressedSource::IsOfZstd(Request("one", 0, 1)));
  ReadRequest request = Request("one", 0, 1);
  request.object = "another";
  CHECK_FALSE(DecompressedSource::IsOfZstd(request));
  request.root = memory_.root();
  CHECK_FALSE(DecompressedSource::IsOfZstd(request));
}

TEST_CASE_METHOD(DecompressedSourceTest,
                 "The decompressed source has a root of its own",
                 "[compressed][decompressed_source]") {
  CHECK(DecompressedSource::Leads(*root_));
  CHECK_FALSE(DecompressedSource::Leads(*memory_.root()));
  CHECK(*root_->identity() != *memory_.root()->identity());
  CHECK(root_->uri() == memory_.root()->uri());
  CHECK(WithPoints(memory_.root(), nullptr) == memory_.root());
}

}  // namespace
}  // namespace forebay::storage::compressed
