#include "server/dataset/shards/shard_scan.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// A source that counts the bytes read, and may call the test before each read.
class WatchedSource final : public storage::ByteSource {
 public:
  explicit WatchedSource(storage::ByteSource& source) : source_(source) {}

  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (const storage::ReadRequest& request : requests) {
      ++reads;
      bytes += request.length;
      longest = std::max(longest, request.length);
    }
    if (before_read) before_read();
    source_.Read(requests);
  }

  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  std::uint64_t longest = 0;
  std::function<void()> before_read;

 private:
  storage::ByteSource& source_;
};

class ShardScanTest {
 protected:
  Shard Put(const std::string& path, std::string content) {
    return {path, memory_.Put(path, std::move(content))};
  }

  absl::StatusOr<std::shared_ptr<const ShardIndex>> Scan(
      const std::vector<Shard>& shards,
      const std::vector<std::string>& fields = {"jpg", "cls"},
      const ShardScanOptions& options = {}) {
    return ScanShards(source_, memory_.root(), shards,
                      *FieldChoice::Create(fields), options, working_memory_);
  }

  storage::MemorySource memory_;
  base::WorkingMemory working_memory_{base::AmpleBudget(), "shards"};
  WatchedSource source_{memory_};
};

// Returns a tar member: a header, the content, and padding.
std::string Member(const std::string& name, const std::string& content,
                   char type = '0') {
  std::string member(512, '\0');
  member.replace(0, name.size(), name);
  char size[12];
  std::snprintf(size, sizeof(size), "%011o",
                static_cast<unsigned>(content.size()));
  member.replace(124, sizeof(size), size, sizeof(size));
  member.replace(148, 8, 8, ' ');
  member[156] = type;
  unsigned sum = 0;
  for (const char byte : member) sum += static_cast<unsigned char>(byte);
  char digits[8];
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  member.replace(148, sizeof(digits), digits, sizeof(digits));
  return member + content + std::string((512 - content.size() % 512) % 512, 0);
}

// Returns a shard of `samples` samples, each with an image of `size` bytes and
// a label.
std::string Archive(int samples, std::size_t size) {
  std::string archive;
  for (int i = 0; i < samples; ++i) {
    archive += Member(absl::StrCat(i, ".jpg"), std::string(size, 'x')) +
               Member(absl::StrCat(i, ".cls"), absl::StrCat(i));
  }
  return archive + std::string(1024, '\0');
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan finds the samples that webdataset does",
                 "[shards][shard_scan]") {
  std::vector<Shard> shards;
  std::vector<const GoldenSample*> expected;
  const std::vector<GoldenShard> golden = GoldenShards();
  for (const GoldenShard& shard : golden) {
    const bool fits = std::all_of(
        shard.samples.begin(), shard.samples.end(), [](const auto& sample) {
          return std::any_of(
              sample.fields.begin(), sample.fields.end(),
              [](const auto& field) { return field.extension == "jpg"; });
        });
    if (!fits || !shard.duplicate_key.empty()) continue;
    shards.push_back(Put(shard.name, GoldenFile(shard.name)));
    for (const GoldenSample& sample : shard.samples)
      expected.push_back(&sample);
  }
  REQUIRE(expected.size() > 15u);
  for (const std::size_t at_once : {1, 3, 100}) {
    ShardScanOptions options;
    options.shards_at_once = at_once;
    options.read_sizes = {512 * at_once, 1024 * at_once};
    const auto index = Scan(shards, {"jpg"}, options);
    REQUIRE_THAT(index, IsOk());
    REQUIRE((*index)->size() == expected.size());
    for (std::uint64_t id = 0; id < expected.size(); ++id) {
      const Shard shard = (*index)->ShardAt((*index)->ShardOf(id));
      const ChosenMember image = (*index)->MemberOf(id, 0);
      const auto field = std::find_if(
          expected[id]->fields.begin(), expected[id]->fields.end(),
          [](const auto& field) { return field.extension == "jpg"; });
      CAPTURE(shard.name);
      REQUIRE(image.offset == field->offset);
      REQUIRE(image.length == field->length);
      const std::string bytes =
          GoldenFile(shard.name).substr(image.offset, image.length);
      CHECK(crc32(0, AsBytes(bytes).data(), static_cast<uInt>(bytes.size())) ==
            field->crc);
    }
    CHECK((*index)->IsOf(*FieldChoice::Create({"jpg"}), shards));
  }
}

TEST_CASE_METHOD(ShardScanTest, "A shard scan steps over large files",
                 "[shards][shard_scan]") {
  const std::string archive = Archive(50, 200000);
  const auto index = Scan({Put("0.tar", archive)});
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->size() == 50u);
  // Each read gets both a label and the header of the next image.
  CHECK(source_.reads <= 52u);
  CHECK(source_.bytes <= 52u * 4096);
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan reads small files in large pieces",
                 "[shards][shard_scan]") {
  const std::string archive = Archive(1000, 3000);
  const auto index = Scan({Put("0.tar", archive)});
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->size() == 1000u);
  CHECK(source_.longest == std::uint64_t{1} << 18);
  CHECK(source_.reads <= 7 + archive.size() / (1 << 18) + 1);
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan finds the same in compressed shards",
                 "[shards][shard_scan]") {
  const std::string archive = Archive(40, 70'000);
  const std::string compressed = storage::compressed::Gzip(archive);
  const Shard plain = Put("0.tar", archive);
  const Shard shard = Put("1.tar.gz", compressed);
  const auto index = Scan({plain, shard});
  REQUIRE_THAT(index, IsOk());
  REQUIRE((*index)->size() == 80u);
  for (std::uint64_t id = 0; id < 40; ++id) {
    CHECK((*index)->ExtentOf(id).offset == (*index)->ExtentOf(id + 40).offset);
    CHECK((*index)->KeyOf(id) == (*index)->KeyOf(id + 40));
  }
  CHECK((*index)->ShardAt(1).version.size == archive.size());
  REQUIRE((*index)->points() != nullptr);
  CHECK((*index)->points()->Find("0.tar") == nullptr);
  CHECK((*index)->points()->Find("1.tar.gz") != nullptr);
  const FieldChoice fields = (*index)->fields();
  CHECK((*index)->IsOf(fields, std::vector<Shard>{plain, shard}));
  Shard other = shard;
  other.version.size = archive.size();
  CHECK_FALSE((*index)->IsOf(fields, std::vector<Shard>{plain, other}));
  // The checksum of the pieces tells whether a touched file is still the same.
  const auto crc32c = (*index)->points()->Find("1.tar.gz")->pieces_crc32c;
  CHECK((*index)->AcceptCompressed("1.tar.gz", {.ctime_nanos = 5}, crc32c));
  CHECK((*index)->RevisionOf("1.tar.gz").ctime_nanos == 5);
  CHECK_FALSE(
      (*index)->AcceptCompressed("1.tar.gz", {.ctime_nanos = 6}, crc32c + 1));
  CHECK_FALSE((*index)->AcceptCompressed("0.tar", {.ctime_nanos = 6}, crc32c));
  CHECK(Scan({plain})->get()->points() == nullptr);
}

// The end of a gzip member lies right before the next header, so finding the
// member's length needs no further read.
TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan finds the decompressed lengths of members that "
                 "are compressed",
                 "[shards][shard_scan]") {
  const std::string text = storage::compressed::Prose(30'000, 1);
  const std::string compressed = storage::compressed::Gzip(text);
  const std::string archive =
      Member("1.TXT.GZ", compressed) + Member("1.cls", "1") +
      Member("2.txt", text) + Member("2.cls", "2") + Member("3.cls", "3") +
      Member("3.txt.gz", compressed + "\xff\xff\xff\xff") +
      Member("4.cls", "4") + Member("4.txt.gz", "abc") + Member("5.cls", "5") +
      Member("5.txt.gz", compressed);
  for (const std::string& content : {archive, archive + std::string(1024, 0)}) {
    for (const bool compressed : {false, true}) {
      const std::string name = compressed ? "0.tar.gz" : "0.tar";
      source_.reads = 0;
      const auto index =
          Scan({Put(name,
                    compressed ? storage::compressed::Gzip(content) : content)},
               {"txt;txt.gz", "cls"}, {.read_sizes = {512, 512}});
      REQUIRE_THAT(index, IsOk());
      REQUIRE((*index)->size() == 5);
      CHECK((*index)->BytesOf(0, 0) == text.size());
      CHECK((*index)->BytesOf(1, 0) == text.size());
      // The numbers at these ends cannot be the members' decompressed lengths.
      CHECK((*index)->BytesOf(2, 0) == 0);
      CHECK((*index)->BytesOf(3, 0) == 0);
      CHECK((*index)->BytesOf(4, 0) == text.size());
      CHECK((*index)->BytesOf(4, 1) == 1);
      CHECK(source_.reads <= (compressed ? 200 : 24));
    }
  }
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan finds no samples where there are no shards",
                 "[shards][shard_scan]") {
  const auto index = Scan({});
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->size() == 0u);
}

TEST_CASE_METHOD(ShardScanTest, "A shard scan's errors name the shard",
                 "[shards][shard_scan]") {
  const Shard good = Put("good.tar", Archive(3, 1000));
  const std::map<std::string, Shard> broken = {
      {"broken.tar: at byte 4096: there is no tar header",
       Put("broken.tar",
           Archive(2, 10).substr(0, 4096) + std::string(1024, 'x'))},
      {"twice.tar: sample 1: two members have the extension cls",
       Put("twice.tar", Member("1.cls", "x") + Member("1.CLS", "y"))},
      {"tiny.tar: is not a tar archive", Put("tiny.tar", "x")},
      {"gone.tar: is gone", Shard{"gone.tar", {10240, 1}}},
      {"changed.tar: was replaced", Shard{"changed.tar", {10240, 1}}},
  };
  Put("changed.tar", Archive(1, 1));
  for (const auto& [message, shard] : broken) {
    const absl::Status status = Scan({good, shard, good}).status();
    CAPTURE(message);
    CHECK_FALSE(status.ok());
    CHECK_THAT(status.message(), Contains(message));
  }
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan accepts that some samples lack a field",
                 "[shards][shard_scan]") {
  const Shard good = Put("good.tar", Archive(3, 1000));
  const Shard lacks =
      Put("lacks.tar", Member("1.jpg", "x") + Member("2.txt", "y") +
                           Member("3.jpg", "z") + Member("3.cls", "3"));
  const auto index = Scan({good, lacks}, {"jpg;png", "cls"});
  REQUIRE_THAT(index, IsOk());
  REQUIRE((*index)->size() == 6u);
  CHECK((*index)->lacking_samples() == 2u);
  CHECK((*index)->first_lacking() == 3u);
  CHECK((*index)->ShortestOf(0) == 1u);
  CHECK((*index)->MemberOf(3, 0).is_there());
  CHECK_FALSE((*index)->MemberOf(3, 1).is_there());
  CHECK((*index)->ExtentOf(3).offset == 512u);
  CHECK((*index)->ExtentOf(3).length == 1u);
  CHECK((*index)->ExtentOf(4).length == 0u);
  CHECK((*index)->MemberOf(5, 1).is_there());
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan refuses a field that the first sample lacks",
                 "[shards][shard_scan]") {
  const Shard good = Put("good.tar", Archive(3, 1000));
  const Shard lacks = Put("lacks.tar", Member("1.jpg", "x"));
  const Shard empty = Put("empty.tar", std::string(1024, '\0'));
  for (const std::vector<Shard>& shards :
       {std::vector<Shard>{lacks, good}, {empty, lacks, good}}) {
    const absl::Status status = Scan(shards).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(status.message(),
               Contains("lacks.tar: sample 1 has no field cls; it has jpg"));
  }
}

TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan notes links that stand for missing members",
                 "[shards][shard_scan]") {
  const Shard good = Put("good.tar", Archive(1, 1000));
  const Shard links =
      Put("links.tar", Member("1.jpg", "", '1') + Member("0.png", "", '2') +
                           Member("1.cls", "1") + Member("2.cls", "2") +
                           Member("3.jpg", "", '2') + Member("2.jpg", "", '1') +
                           Member("4.jpg", "x") + Member("4.cls", "4"));
  const auto index = Scan({good, links});
  REQUIRE_THAT(index, IsOk());
  REQUIRE((*index)->size() == 4u);
  CHECK((*index)->lacking_samples() == 2u);
  CHECK((*index)->MemberOf(1, 0).is_link);
  CHECK((*index)->MemberOf(2, 0).is_link);
  CHECK((*index)->BytesOf(2, 0) == 0u);
  CHECK((*index)->MemberOf(3, 0).is_there());
}

TEST_CASE_METHOD(ShardScanTest, "A shard scan stops when it is told to stop",
                 "[shards][shard_scan]") {
  std::stop_source stop;
  ShardScanOptions options;
  options.stop = stop.get_token();
  source_.before_read = [&] {
    if (source_.reads == 3) stop.request_stop();
  };
  const Shard shard = Put("0.tar", Archive(50, 100000));
  CHECK_THAT(Scan({shard}, {"jpg"}, options),
             HasCode(absl::StatusCode::kCancelled));
  CHECK(source_.reads <= 4u);
}

// Without the error, an index of some shards would be used as an index of all.
TEST_CASE_METHOD(ShardScanTest,
                 "A shard scan that is told to stop begins no further shard",
                 "[shards][shard_scan]") {
  std::stop_source stop;
  ShardScanOptions options;
  options.stop = stop.get_token();
  options.shards_at_once = 1;
  const std::vector<Shard> shards = {Put("0.tar", Archive(1, 1)),
                                     Put("1.tar", Archive(1, 1))};
  source_.before_read = [&] { stop.request_stop(); };
  CHECK_THAT(Scan(shards, {"jpg"}, options),
             HasCode(absl::StatusCode::kCancelled));
  CHECK(source_.reads == 1u);
  CHECK_THAT(Scan(shards, {"jpg"}, options),
             HasCode(absl::StatusCode::kCancelled));
  CHECK(source_.reads == 1u);
  CHECK_THAT(Scan({}, {"jpg"}, options), IsOk());
}

}  // namespace
}  // namespace forebay::dataset::shards
