#include "server/dataset/records/record_catalog.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/tfrecord/example_choice.h"
#include "server/dataset/tfrecord/tfrecord_files.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::records {
namespace {

using storage::ListedObject;
using testing::HasSubstr;
using testing::IsEmpty;
using tfrecord::Frame;

// Counts reads.
class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource& source) : source_(source) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    reads += static_cast<int>(requests.size());
    source_.Read(requests);
  }
  std::atomic<int> reads = 0;

 private:
  storage::ByteSource& source_;
};

class RecordCatalogTest : public testing::Test {
 protected:
  void Put(const std::string& path, std::string content) {
    const storage::ObjectVersion version =
        memory_.Put(path, std::move(content));
    std::erase_if(files_,
                  [&](const ListedObject& file) { return file.name == path; });
    files_.push_back({path, version});
  }

  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const std::vector<std::string>& names = {},
      const std::vector<std::string>& types = {}) {
    RecordRequest request;
    request.root = memory_.root();
    request.name = "*.tfrecord";
    request.list = [this](base::WorkingMemory&, const std::stop_token&)
        -> absl::StatusOr<RecordRequest::Files> { return files_; };
    request.source = &source_;
    const auto choice = tfrecord::ExampleChoice::Create(names, types);
    EXPECT_TRUE(choice.ok()) << choice.status();
    warnings_.clear();
    choice->Complete(tfrecord::TfrecordFiles(), nullptr, &request, &warnings_);
    return catalog_->Open(request, &warnings_, {});
  }

  void Restart() {
    catalog_.emplace(absl::StrCat(tree_.path(), "/indexes"),
                     base::AmpleBudget());
  }

  std::vector<std::filesystem::path> Saved() const {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(
             absl::StrCat(tree_.path(), "/indexes")))
      files.push_back(file.path());
    return files;
  }

  ScratchTree tree_;
  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::vector<ListedObject> files_;
  std::vector<std::string> warnings_;
  std::optional<RecordCatalog> catalog_{std::in_place,
                                        absl::StrCat(tree_.path(), "/indexes"),
                                        base::AmpleBudget()};
};

TEST_F(RecordCatalogTest, RecordsOfAllFilesAreSamples) {
  Put("a", Frame("1") + Frame("22"));
  Put("none", "");
  Put("b", Frame("333"));
  const auto dataset = Open({""}, {"bytes"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ((*dataset)->size(), 3);
  EXPECT_TRUE((*dataset)->is_self_describing());
  EXPECT_EQ((*dataset)->fields()[0].name, "record");
  EXPECT_EQ((*dataset)->fields()[0].longest, 3);
  EXPECT_EQ((*dataset)->largest_sample(), 19);
  const Sample sample = (*dataset)->At(2);
  EXPECT_EQ(sample.object, "b");
  EXPECT_EQ(sample.offset, 0);
  EXPECT_EQ(sample.length, 19);
  EXPECT_NE(sample.layout, nullptr);
  EXPECT_EQ((*dataset)->NameOf(1), "record 1");
  const std::string bytes = Frame("333") + "pixels of a variant";
  FieldValue value;
  MadeValues made;
  ASSERT_TRUE((*dataset)
                  ->ReadValues(2, tfrecord::AsBytes(bytes), {&value, 1}, &made)
                  .ok());
  const auto range = std::get<FieldRange>(value);
  EXPECT_EQ(bytes.substr(range.offset, range.length), "333");
}

TEST_F(RecordCatalogTest, ARecordThatIsShorterOrLongerIsTold) {
  Put("a", Frame("1") + Frame("22"));
  const auto dataset = Open({""}, {"bytes"});
  ASSERT_TRUE(dataset.ok());
  FieldValue value;
  MadeValues made;
  EXPECT_EQ((*dataset)->ReadValues(1, tfrecord::AsBytes(Frame("1")),
                                   {&value, 1}, &made),
            absl::DataLossError("has only 17 of 18 bytes"));
}

TEST_F(RecordCatalogTest, ValuesThatAreLongerThanIndexedAreTold) {
  const std::string before =
      tfrecord::Example({{"a", tfrecord::Int64Feature({300, 300})}});
  const std::string after =
      tfrecord::Example({{"a", tfrecord::Int64Feature({1, 2, 3, 4})}});
  ASSERT_EQ(before.size(), after.size());
  Put("a", Frame(before));
  const auto dataset = Open({"a"}, {"int64[n]"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  FieldValue value;
  MadeValues made;
  EXPECT_TRUE(
      (*dataset)
          ->ReadValues(0, tfrecord::AsBytes(Frame(before)), {&value, 1}, &made)
          .ok());
  EXPECT_EQ((*dataset)->ReadValues(0, tfrecord::AsBytes(Frame(after)),
                                   {&value, 1}, &made),
            absl::DataLossError(
                "a: has 32 bytes, but when it was indexed at most 16"));
}

TEST_F(RecordCatalogTest, AnIndexIsSharedAndKept) {
  Put("a", Frame("1") + Frame("22"));
  const auto first = Open({""}, {"bytes"});
  ASSERT_TRUE(first.ok());
  const int reads = source_.reads;
  const auto second = Open({""}, {"bytes"});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(source_.reads, reads);
  EXPECT_EQ((*first)->index(), (*second)->index());
  Restart();
  const auto third = Open({""}, {"bytes"});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(source_.reads, reads);
  EXPECT_EQ((*third)->version(), (*first)->version());
  EXPECT_THAT(warnings_, IsEmpty());
  // Another type is another dataset.
  const auto other = Open({""}, {"text"});
  ASSERT_TRUE(other.ok());
  EXPECT_NE((*other)->version(), (*first)->version());
}

TEST_F(RecordCatalogTest, AChangedFileIsScannedAnew) {
  Put("a", Frame("1"));
  ASSERT_TRUE(Open({""}, {"bytes"}).ok());
  Put("a", Frame("1") + Frame("22"));
  const auto dataset = Open({""}, {"bytes"});
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ((*dataset)->size(), 2);
}

TEST_F(RecordCatalogTest, ADamagedIndexIsBuiltAnew) {
  Put("a", Frame("1"));
  ASSERT_TRUE(Open({""}, {"bytes"}).ok());
  ASSERT_EQ(Saved().size(), 1);
  std::ofstream(Saved()[0]) << "garbage";
  Restart();
  const auto dataset = Open({""}, {"bytes"});
  ASSERT_TRUE(dataset.ok());
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_THAT(warnings_[0], HasSubstr("its index is built anew"));
}

TEST_F(RecordCatalogTest, AGuessIsKeptWithTheIndex) {
  Put("a", Frame(tfrecord::Example(
               {{"label", tfrecord::Int64Feature({1})},
                {"several", tfrecord::BytesFeature({"a", "b"})}})));
  const auto first = Open();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ((*first)->fields().size(), 1);
  EXPECT_EQ((*first)->fields()[0].name, "label");
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_THAT(warnings_[0], HasSubstr("is read without a field: feature "
                                      "several is a list of bytes"));
  const int reads = source_.reads;
  Restart();
  const auto second = Open();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(source_.reads, reads);
  EXPECT_EQ((*second)->fields()[0].name, "label");
}

TEST_F(RecordCatalogTest, GuessesOfAFirstRecordOfAnySize) {
  Put("none", "");
  Put("a", Frame(std::string(5 << 20, 'x')) + Frame("y"));
  const auto dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->fields()[0].kind, proto::FieldKind::kBytes);
  EXPECT_EQ((*dataset)->size(), 2);
}

TEST_F(RecordCatalogTest, ErrorsNameRootAndFile) {
  Put("a", Frame("1") + "rest");
  for (const auto& types :
       {std::vector<std::string>{"bytes"}, std::vector<std::string>{}}) {
    const auto failed = types.empty() ? Open() : Open({""}, types);
    EXPECT_EQ(failed.status(),
              absl::DataLossError(absl::StrCat(
                  memory_.root()->uri(),
                  ": a: at byte 17: is truncated: 4 bytes are left, which are "
                  "no record")));
  }
  files_.clear();
  EXPECT_TRUE(absl::IsNotFound(Open({""}, {"bytes"}).status()));
}

TEST_F(RecordCatalogTest, FilesWithoutRecordsHaveNoSamples) {
  Put("a", "");
  const auto dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), 0);
  EXPECT_EQ((*dataset)->largest_sample(), 0);
}

}  // namespace
}  // namespace forebay::dataset::records
