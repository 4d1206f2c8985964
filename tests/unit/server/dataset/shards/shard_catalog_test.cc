#include "server/dataset/shards/shard_catalog.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Counts reads.
class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource& source) : source_(source) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    reads += static_cast<int>(requests.size());
    ticket = requests.front().ticket;
    source_.Read(requests);
  }
  std::atomic<int> reads = 0;
  std::atomic<std::uint64_t> ticket = 0;  // of the last one

 private:
  storage::ByteSource& source_;
};

class ShardCatalogTest : public testing::Test {
 protected:
  ShardCatalogTest() {
    Put("a.tar", GoldenFile("webdataset.tar"));
    Put("b.tar", GoldenFile("webdataset.tar"));
  }

  void Put(const std::string& path, std::string content) {
    const storage::ObjectVersion version =
        memory_.Put(path, std::move(content));
    std::erase_if(shards_, [&](const Shard& s) { return s.name == path; });
    shards_.push_back({path, version});
    std::sort(shards_.begin(), shards_.end(),
              [](const Shard& a, const Shard& b) { return a.name < b.name; });
  }

  ShardRequest Request(const std::vector<std::string>& fields = {"jpg",
                                                                 "cls"}) {
    return {.root = memory_.root(),
            .name = "*.tar",
            .fields = *FieldChoice::Create(fields),
            .list = [this](base::WorkingMemory&, const std::stop_token&)
                -> absl::StatusOr<std::vector<Shard>> { return shards_; },
            .source = &source_};
  }

  std::shared_ptr<const Dataset> Open(ShardCatalog& catalog,
                                      const ShardRequest& request) {
    auto dataset = catalog.Open(request, &warnings_, {});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *dataset : nullptr;
  }

  std::string Directory() const { return tree_.path() + "/indexes"; }

  ScratchTree tree_;
  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::vector<Shard> shards_;
  std::vector<std::string> warnings_;
};

TEST_F(ShardCatalogTest, AnImageAloneMayBeReadInAVariant) {
  ShardCatalog catalog("", base::AmpleBudget());
  const auto dataset = Open(catalog, Request({"jpg;jpeg;png"}));
  ASSERT_NE(dataset, nullptr);
  // The variant is shorter than the image.
  const std::vector<std::uint8_t> variant(dataset->At(0).length - 1);
  std::vector<FieldValue> values(1);
  MadeValues made;
  const absl::Status status =
      dataset->ReadValues(0, variant, absl::MakeSpan(values), &made);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(std::holds_alternative<FieldRange>(values[0]));
}

TEST_F(ShardCatalogTest, SaysWhereEachFieldLies) {
  ShardCatalog catalog("", base::AmpleBudget());
  const auto dataset = Open(catalog, Request({"cls", "jpg;jpeg;png"}));
  ASSERT_NE(dataset, nullptr);
  ASSERT_EQ(dataset->fields().size(), 2u);
  EXPECT_EQ(dataset->fields()[0].name, "cls");
  EXPECT_EQ(dataset->fields()[0].kind, proto::FieldKind::kLabel);
  EXPECT_EQ(dataset->fields()[1].name, "jpg");
  EXPECT_EQ(dataset->fields()[1].kind, proto::FieldKind::kImage);
  EXPECT_THAT(dataset->classes(), IsEmpty());
  const std::string archive = GoldenFile("webdataset.tar");
  std::uint64_t largest = 0;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    const Sample sample = dataset->At(id);
    EXPECT_EQ(sample.object, id < dataset->size() / 2 ? "a.tar" : "b.tar");
    largest = std::max(largest, sample.length);
    std::vector<FieldValue> values(2);
    dataset->ValuesOf(id, absl::MakeSpan(values));
    for (const FieldValue& value : values) {
      const FieldRange part = std::get<FieldRange>(value);
      EXPECT_LE(part.offset + part.length, sample.length);
      // The header before it names the member, which begins with the key.
      const std::string header =
          archive.substr(sample.offset + part.offset - 512, 512);
      EXPECT_TRUE(header.starts_with(dataset->NameOf(id) + "."))
          << dataset->NameOf(id);
    }
  }
  EXPECT_EQ(largest, dataset->largest_sample());
}

TEST_F(ShardCatalogTest, LoadersShareTheIndexWhileShardsStay) {
  ShardCatalog catalog("", base::AmpleBudget());
  const auto one = Open(catalog, Request());
  const int reads = source_.reads;
  EXPECT_GT(reads, 0);
  const auto other = Open(catalog, Request());
  EXPECT_EQ(source_.reads, reads);
  EXPECT_EQ(one->version(), other->version());
  // Other fields are another dataset.
  const auto fewer = Open(catalog, Request({"cls"}));
  EXPECT_GT(source_.reads, reads);
  EXPECT_NE(fewer->version(), one->version());
}

// The index of one is not used for the other.
TEST_F(ShardCatalogTest, AShardOfAnotherRevisionIsIndexedAnew) {
  shards_[0].version.revision = {.inode = 1, .ctime_nanos = 1};
  memory_.Rewrite("a.tar", GoldenFile("webdataset.tar"), {1, 1});
  ShardCatalog catalog(Directory(), base::AmpleBudget());
  const auto before = Open(catalog, Request());
  const int reads = source_.reads;
  for (const storage::Revision& now :
       {storage::Revision{2, 1}, storage::Revision{2, 2}}) {
    shards_[0].version.revision = now;
    memory_.Rewrite("a.tar", GoldenFile("webdataset.tar"), now);
    source_.reads = 0;
    const auto after = Open(catalog, Request());
    EXPECT_EQ(source_.reads, reads);
    EXPECT_EQ(after->version(), before->version());
    EXPECT_EQ(after->At(0).version, shards_[0].version);
    ShardCatalog later(Directory(), base::AmpleBudget());
    EXPECT_EQ(Open(later, Request())->At(0).version, shards_[0].version);
    EXPECT_EQ(source_.reads, reads);
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ShardCatalogTest, ShardsThatChangeBetweenTwoLooksAreListedAgain) {
  ShardCatalog catalog("", base::AmpleBudget());
  ShardRequest request = Request();
  int lists = 0;
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token&) -> absl::StatusOr<std::vector<Shard>> {
    std::vector<Shard> shards = shards_;
    if (++lists == 1) Put("b.tar", GoldenFile("webdataset.tar"));
    return shards;
  };
  EXPECT_NE(Open(catalog, request), nullptr);
  EXPECT_EQ(lists, 2);
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token&) -> absl::StatusOr<std::vector<Shard>> {
    std::vector<Shard> shards = shards_;
    Put("b.tar", GoldenFile("webdataset.tar"));
    return shards;
  };
  EXPECT_EQ(catalog.Open(request, &warnings_, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// The shard is touched in the middle of an epoch.
TEST_F(ShardCatalogTest, ALayoutLooksAgainAtAShardThatWasTouched) {
  const std::string archive = GoldenFile("webdataset.tar");
  shards_[0].version.revision = {.inode = 1, .ctime_nanos = 1};
  memory_.Rewrite("a.tar", archive, {1, 1});
  ShardCatalog catalog("", base::AmpleBudget());
  const auto dataset = Open(catalog, Request());
  storage::ReadRequest read;
  read.root = memory_.root();
  read.object = "a.tar";
  read.ticket = 7;
  const auto look = [&] {
    const Sample sample = dataset->At(0);
    read.version = sample.version;
    absl::StatusOr<storage::Revision> now;
    sample.layout->LookAgain(read, source_,
                             [&](absl::StatusOr<storage::Revision> answer) {
                               now = std::move(answer);
                             });
    return now;
  };
  memory_.Rewrite("a.tar", archive, {1, 2});
  EXPECT_EQ(*look(), (storage::Revision{1, 2}));
  EXPECT_EQ(source_.ticket, 7);  // who joins the read joins the look
  EXPECT_EQ(dataset->At(0).version.revision, (storage::Revision{1, 2}));
  // A read that saw it before is answered without another rescan.
  const int reads = source_.reads;
  read.version.revision = {1, 1};
  dataset->At(0).layout->LookAgain(
      read, source_, [](const absl::StatusOr<storage::Revision>& now) {
        EXPECT_EQ(*now, (storage::Revision{1, 2}));
      });
  EXPECT_EQ(source_.reads, reads);
  // Other members, or none, in the same place.
  std::string other = archive;
  other[0] ^= 1;
  memory_.Rewrite("a.tar", other, {1, 3});
  EXPECT_EQ(look().status().message(),
            "a.tar: was rewritten since the dataset was indexed");
  memory_.Rewrite("a.tar", std::string(archive.size(), '\0'), {1, 4});
  EXPECT_EQ(look().status().code(), absl::StatusCode::kFailedPrecondition);
  memory_.Rewrite("a.tar", archive, {2, 4});
  EXPECT_EQ(look().status().message(), "a.tar: is another file");
  EXPECT_EQ(dataset->At(0).version.revision, (storage::Revision{1, 2}));
}

TEST_F(ShardCatalogTest, FindsTheIndexOnDiskUntilAShardChanges) {
  Version version;
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    version = Open(catalog, Request())->version();
  }
  const int reads = source_.reads;
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    EXPECT_EQ(Open(catalog, Request())->version(), version);
    EXPECT_EQ(source_.reads, reads);
  }
  Put("b.tar", GoldenFile("webdataset.tar"));
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    const auto dataset = Open(catalog, Request());
    EXPECT_NE(dataset->version(), version);
    EXPECT_GT(source_.reads, reads);
    shards_.pop_back();
    EXPECT_EQ(Open(catalog, Request())->size(), dataset->size() / 2);
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ShardCatalogTest, BuildsADamagedIndexAnewAndSaysSo) {
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    Open(catalog, Request());
  }
  for (const auto& file : std::filesystem::directory_iterator(Directory())) {
    std::ofstream(file.path()) << "garbage";
  }
  ShardCatalog catalog(Directory(), base::AmpleBudget());
  EXPECT_NE(Open(catalog, Request()), nullptr);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("its index is built anew: ")));
}

TEST_F(ShardCatalogTest, ErrorsNameRootAndShard) {
  ShardCatalog catalog("", base::AmpleBudget());
  Put("c.tar", "no tar archive");
  const absl::Status broken = catalog.Open(Request(), &warnings_, {}).status();
  EXPECT_EQ(broken.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(broken.message()),
              HasSubstr(memory_.root()->uri() + ": c.tar: "));
  shards_.pop_back();
  EXPECT_NE(Open(catalog, Request()), nullptr);
  const absl::Status lacks =
      catalog.Open(Request({"jpg", "wav"}), &warnings_, {}).status();
  EXPECT_THAT(std::string(lacks.message()), HasSubstr(" has no field wav; "));
}

TEST_F(ShardCatalogTest, SamplesThatLackAFieldAreDamaged) {
  Put("c.tar", GoldenFile("gnu_gnu.tar"));
  for (int i = 0; i < 2; ++i) {  // the second index comes from the disk
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    const auto dataset = Open(catalog, Request({"jpg", "cls"}));
    ASSERT_NE(dataset, nullptr);
    EXPECT_THAT(warnings_,
                ElementsAre(HasSubstr(" samples lack a field and count as ")));
    warnings_.clear();
    std::vector<FieldValue> values(2);
    MadeValues made;
    EXPECT_TRUE(dataset->ReadValues(0, {}, absl::MakeSpan(values), &made).ok());
    const absl::Status lacks = dataset->ReadValues(
        dataset->size() - 1, {}, absl::MakeSpan(values), &made);
    EXPECT_EQ(lacks.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(lacks.message(), "has no field cls, which other samples have");
  }
}

TEST_F(ShardCatalogTest, WhoIsStoppedWaitsForNobody) {
  ShardCatalog catalog("", base::AmpleBudget());
  std::stop_source impatience;
  ShardRequest request = Request();
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token& search) -> absl::StatusOr<std::vector<Shard>> {
    // This caller alone waits for the search, which stops with it.
    impatience.request_stop();
    EXPECT_TRUE(search.stop_requested());
    return absl::CancelledError("stopped");
  };
  EXPECT_EQ(
      catalog.Open(request, &warnings_, impatience.get_token()).status().code(),
      absl::StatusCode::kCancelled);
  EXPECT_NE(Open(catalog, Request()), nullptr);
}

TEST_F(ShardCatalogTest, ManyAtOnceScanOnce) {
  ShardCatalog catalog("", base::AmpleBudget());
  Open(catalog, Request());
  const int once = source_.reads;
  source_.reads = 0;
  std::vector<std::shared_ptr<const Dataset>> datasets(8);
  std::vector<std::thread> threads;
  for (auto& dataset : datasets) {
    threads.emplace_back([&] {
      std::vector<std::string> warnings;
      auto opened = catalog.Open(Request(), &warnings, {});
      if (opened.ok()) dataset = *std::move(opened);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(source_.reads % once, 0);
  EXPECT_EQ(source_.reads, once);
  for (const auto& dataset : datasets) EXPECT_NE(dataset, nullptr);
}

}  // namespace
}  // namespace forebay::dataset::shards
