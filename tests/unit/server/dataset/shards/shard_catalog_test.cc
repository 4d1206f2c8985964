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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

// A source that counts its reads.
class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource& source) : source_(source) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    reads += static_cast<int>(requests.size());
    ticket = requests.front().ticket;
    source_.Read(requests);
  }
  std::atomic<int> reads = 0;
  std::atomic<std::uint64_t> ticket = 0;  // of the latest read

 private:
  storage::ByteSource& source_;
};

class ShardCatalogTest {
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
    CHECK_THAT(dataset, IsOk());
    return dataset.ok() ? *dataset : nullptr;
  }

  std::string Directory() const { return tree_.path() + "/indexes"; }

  ScratchTree tree_;
  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::vector<Shard> shards_;
  std::vector<std::string> warnings_;
};

TEST_CASE_METHOD(
    ShardCatalogTest,
    "A shard dataset whose only field is an image may be read in a variant",
    "[shards][shard_catalog]") {
  ShardCatalog catalog("", base::AmpleBudget());
  const auto dataset = Open(catalog, Request({"jpg;jpeg;png"}));
  REQUIRE(dataset != nullptr);
  // A variant may be shorter than the image.
  const std::vector<std::uint8_t> variant(dataset->At(0).length - 1);
  std::vector<FieldValue> values(1);
  ValueBuffers buffers;
  const absl::Status status =
      dataset->ReadValues(0, variant, absl::MakeSpan(values), &buffers);
  CHECK_THAT(status, IsOk());
  CHECK(std::holds_alternative<FieldRange>(values[0]));
}

TEST_CASE_METHOD(ShardCatalogTest, "A shard dataset says where each field lies",
                 "[shards][shard_catalog]") {
  ShardCatalog catalog("", base::AmpleBudget());
  const auto dataset = Open(catalog, Request({"cls", "jpg;jpeg;png"}));
  REQUIRE(dataset != nullptr);
  REQUIRE(dataset->fields().size() == 2u);
  CHECK(dataset->fields()[0].name == "cls");
  CHECK(dataset->fields()[0].kind == proto::FieldKind::kLabel);
  CHECK(dataset->fields()[1].name == "jpg");
  CHECK(dataset->fields()[1].kind == proto::FieldKind::kImage);
  CHECK_THAT(dataset->classes(), IsEmpty());
  const std::string archive = GoldenFile("webdataset.tar");
  std::uint64_t largest = 0;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    const Sample sample = dataset->At(id);
    CHECK(sample.object == (id < dataset->size() / 2 ? "a.tar" : "b.tar"));
    largest = std::max(largest, sample.length);
    std::vector<FieldValue> values(2);
    dataset->ValuesOf(id, absl::MakeSpan(values));
    for (const FieldValue& value : values) {
      const FieldRange part = std::get<FieldRange>(value);
      CHECK(part.offset + part.length <= sample.length);
      // The tar header before this part has the member's name, which begins
      // with the sample's key.
      const std::string header =
          archive.substr(sample.offset + part.offset - 512, 512);
      UNSCOPED_INFO(dataset->NameOf(id));
      CHECK(header.starts_with(dataset->NameOf(id) + "."));
    }
  }
  CHECK(largest == dataset->largest_sample());
}

TEST_CASE_METHOD(ShardCatalogTest,
                 "Loaders share the shard index while the shards stay the same",
                 "[shards][shard_catalog]") {
  ShardCatalog catalog("", base::AmpleBudget());
  const auto one = Open(catalog, Request());
  const int reads = source_.reads;
  CHECK(reads > 0);
  const auto other = Open(catalog, Request());
  CHECK(source_.reads == reads);
  CHECK(one->version() == other->version());
  // A dataset of other fields has another version.
  const auto fewer = Open(catalog, Request({"cls"}));
  CHECK(source_.reads > reads);
  CHECK(fewer->version() != one->version());
}

// The index of one revision is not used for another revision.
TEST_CASE_METHOD(ShardCatalogTest,
                 "The shard catalog indexes a shard of another revision anew",
                 "[shards][shard_catalog]") {
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
    CHECK(source_.reads == reads);
    CHECK(after->version() == before->version());
    CHECK(after->At(0).version == shards_[0].version);
    ShardCatalog later(Directory(), base::AmpleBudget());
    CHECK(Open(later, Request())->At(0).version == shards_[0].version);
    CHECK(source_.reads == reads);
  }
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(
    ShardCatalogTest,
    "The shard catalog lists shards again that change between two looks",
    "[shards][shard_catalog]") {
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
  CHECK(Open(catalog, request) != nullptr);
  CHECK(lists == 2);
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token&) -> absl::StatusOr<std::vector<Shard>> {
    std::vector<Shard> shards = shards_;
    Put("b.tar", GoldenFile("webdataset.tar"));
    return shards;
  };
  CHECK_THAT(catalog.Open(request, &warnings_, {}),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

// The shard's revision changes in the middle of an epoch.
TEST_CASE_METHOD(ShardCatalogTest,
                 "A shard layout looks again at a shard that was touched",
                 "[shards][shard_catalog]") {
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
    sample.layout->Revalidate(read, source_,
                              [&](absl::StatusOr<storage::Revision> answer) {
                                now = std::move(answer);
                              });
    return now;
  };
  memory_.Rewrite("a.tar", archive, {1, 2});
  CHECK(*look() == storage::Revision{1, 2});
  // Readers that join this read also join the check.
  CHECK(source_.ticket == 7);
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
  // A read that failed before that check is answered without another check.
  const int reads = source_.reads;
  read.version.revision = {1, 1};
  dataset->At(0).layout->Revalidate(
      read, source_, [](const absl::StatusOr<storage::Revision>& now) {
        CHECK(*now == storage::Revision{1, 2});
      });
  CHECK(source_.reads == reads);
  // At the same offset, the shard has another member, or none.
  std::string other = archive;
  other[0] ^= 1;
  memory_.Rewrite("a.tar", other, {1, 3});
  CHECK(look().status().message() ==
        "a.tar: was rewritten since the dataset was indexed");
  memory_.Rewrite("a.tar", std::string(archive.size(), '\0'), {1, 4});
  CHECK_THAT(look(), HasCode(absl::StatusCode::kFailedPrecondition));
  memory_.Rewrite("a.tar", archive, {2, 4});
  CHECK(look().status().message() == "a.tar: is another file");
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
}

TEST_CASE_METHOD(
    ShardCatalogTest,
    "The shard catalog finds the index on disk until a shard changes",
    "[shards][shard_catalog]") {
  Version version;
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    version = Open(catalog, Request())->version();
  }
  const int reads = source_.reads;
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    CHECK(Open(catalog, Request())->version() == version);
    CHECK(source_.reads == reads);
  }
  Put("b.tar", GoldenFile("webdataset.tar"));
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    const auto dataset = Open(catalog, Request());
    CHECK(dataset->version() != version);
    CHECK(source_.reads > reads);
    shards_.pop_back();
    CHECK(Open(catalog, Request())->size() == dataset->size() / 2);
  }
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(ShardCatalogTest,
                 "The shard catalog builds a damaged index anew and says so",
                 "[shards][shard_catalog]") {
  {
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    Open(catalog, Request());
  }
  for (const auto& file : std::filesystem::directory_iterator(Directory())) {
    std::ofstream(file.path()) << "garbage";
  }
  ShardCatalog catalog(Directory(), base::AmpleBudget());
  CHECK(Open(catalog, Request()) != nullptr);
  CHECK_THAT(warnings_, ElementsAre(Contains("its index is built anew: ")));
}

TEST_CASE_METHOD(ShardCatalogTest,
                 "The shard catalog's errors name root and shard",
                 "[shards][shard_catalog]") {
  ShardCatalog catalog("", base::AmpleBudget());
  Put("c.tar", "no tar archive");
  const absl::Status broken = catalog.Open(Request(), &warnings_, {}).status();
  CHECK_THAT(broken, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(broken.message(), Contains(memory_.root()->uri() + ": c.tar: "));
  shards_.pop_back();
  CHECK(Open(catalog, Request()) != nullptr);
  const absl::Status lacks =
      catalog.Open(Request({"jpg", "wav"}), &warnings_, {}).status();
  CHECK_THAT(lacks.message(), Contains(" has no field wav; "));
}

TEST_CASE_METHOD(ShardCatalogTest,
                 "A shard dataset treats samples that lack a field as damaged",
                 "[shards][shard_catalog]") {
  Put("c.tar", GoldenFile("gnu_gnu.tar"));
  for (int i = 0; i < 2; ++i) {  // the second index is loaded from disk
    ShardCatalog catalog(Directory(), base::AmpleBudget());
    const auto dataset = Open(catalog, Request({"jpg", "cls"}));
    REQUIRE(dataset != nullptr);
    CHECK_THAT(warnings_,
               ElementsAre(Contains(" samples lack a field and count as ")));
    warnings_.clear();
    std::vector<FieldValue> values(2);
    ValueBuffers buffers;
    CHECK_THAT(dataset->ReadValues(0, {}, absl::MakeSpan(values), &buffers),
               IsOk());
    const absl::Status lacks = dataset->ReadValues(
        dataset->size() - 1, {}, absl::MakeSpan(values), &buffers);
    CHECK_THAT(lacks, HasCode(absl::StatusCode::kDataLoss));
    CHECK(lacks.message() == "has no field cls, which other samples have");
  }
}

TEST_CASE_METHOD(
    ShardCatalogTest,
    "A caller of the shard catalog who is stopped waits for nobody",
    "[shards][shard_catalog]") {
  ShardCatalog catalog("", base::AmpleBudget());
  std::stop_source impatience;
  ShardRequest request = Request();
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token& search) -> absl::StatusOr<std::vector<Shard>> {
    // Only this caller waits for the search, so the search stops with it.
    impatience.request_stop();
    CHECK(search.stop_requested());
    return absl::CancelledError("stopped");
  };
  CHECK_THAT(catalog.Open(request, &warnings_, impatience.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  CHECK(Open(catalog, Request()) != nullptr);
}

TEST_CASE_METHOD(ShardCatalogTest,
                 "Many opens of the same shards at once scan them once",
                 "[shards][shard_catalog]") {
  ShardCatalog catalog("", base::AmpleBudget());
  Open(catalog, Request());
  const int once = source_.reads;
  source_.reads = 0;
  std::vector<std::shared_ptr<const Dataset>> datasets(8);
  std::vector<std::jthread> threads;
  for (auto& dataset : datasets) {
    threads.emplace_back([&] {
      std::vector<std::string> warnings;
      auto opened = catalog.Open(Request(), &warnings, {});
      if (opened.ok()) dataset = *std::move(opened);
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(source_.reads % once == 0);
  CHECK(source_.reads == once);
  for (const auto& dataset : datasets) CHECK(dataset != nullptr);
}

}  // namespace
}  // namespace forebay::dataset::shards
