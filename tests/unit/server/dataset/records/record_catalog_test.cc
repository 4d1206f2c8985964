#include "server/dataset/records/record_catalog.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/dataset/tfrecord/example_choice.h"
#include "server/dataset/tfrecord/tfrecord_files.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::records {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

using storage::ListedObject;
using tfrecord::Frame;

// A source that counts its reads.
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

class RecordCatalogTest {
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
    CHECK_THAT(choice, IsOk());
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

TEST_CASE_METHOD(RecordCatalogTest,
                 "The record catalog makes the records of all files samples",
                 "[records][record_catalog]") {
  Put("a", Frame("1") + Frame("22"));
  Put("none", "");
  Put("b", Frame("333"));
  const auto dataset = Open({""}, {"bytes"});
  REQUIRE_THAT(dataset, IsOk());
  REQUIRE((*dataset)->size() == 3);
  CHECK((*dataset)->is_self_describing());
  CHECK((*dataset)->fields()[0].name == "record");
  CHECK((*dataset)->fields()[0].longest == 3);
  CHECK((*dataset)->largest_sample() == 19);
  const Sample sample = (*dataset)->At(2);
  CHECK(sample.object == "b");
  CHECK(sample.offset == 0);
  CHECK(sample.length == 19);
  CHECK(sample.layout != nullptr);
  CHECK((*dataset)->NameOf(1) == "record 1");
  const std::string bytes = Frame("333") + "pixels of a variant";
  FieldValue value;
  ValueBuffers buffers;
  REQUIRE_THAT((*dataset)->ReadValues(2, tfrecord::AsBytes(bytes), {&value, 1},
                                      &buffers),
               IsOk());
  const auto range = std::get<FieldRange>(value);
  CHECK(bytes.substr(range.offset, range.length) == "333");
}

TEST_CASE_METHOD(
    RecordCatalogTest,
    "A record dataset reports a record of another length than indexed",
    "[records][record_catalog]") {
  Put("a", Frame("1") + Frame("22"));
  const auto dataset = Open({""}, {"bytes"});
  REQUIRE_THAT(dataset, IsOk());
  FieldValue value;
  ValueBuffers buffers;
  CHECK((*dataset)->ReadValues(1, tfrecord::AsBytes(Frame("1")), {&value, 1},
                               &buffers) ==
        absl::DataLossError("has only 17 of 18 bytes"));
}

TEST_CASE_METHOD(RecordCatalogTest,
                 "A record dataset reports values that are longer than indexed",
                 "[records][record_catalog]") {
  const std::string before =
      tfrecord::Example({{"a", tfrecord::Int64Feature({300, 300})}});
  const std::string after =
      tfrecord::Example({{"a", tfrecord::Int64Feature({1, 2, 3, 4})}});
  REQUIRE(before.size() == after.size());
  Put("a", Frame(before));
  const auto dataset = Open({"a"}, {"int64[n]"});
  REQUIRE_THAT(dataset, IsOk());
  FieldValue value;
  ValueBuffers buffers;
  CHECK_THAT((*dataset)->ReadValues(0, tfrecord::AsBytes(Frame(before)),
                                    {&value, 1}, &buffers),
             IsOk());
  CHECK((*dataset)->ReadValues(0, tfrecord::AsBytes(Frame(after)), {&value, 1},
                               &buffers) ==
        absl::DataLossError(
            "a: has 32 bytes, but when it was indexed at most 16"));
}

TEST_CASE_METHOD(RecordCatalogTest,
                 "The record catalog shares an index and keeps it on disk",
                 "[records][record_catalog]") {
  Put("a", Frame("1") + Frame("22"));
  const auto first = Open({""}, {"bytes"});
  REQUIRE_THAT(first, IsOk());
  const int reads = source_.reads;
  const auto second = Open({""}, {"bytes"});
  REQUIRE_THAT(second, IsOk());
  CHECK(source_.reads == reads);
  CHECK((*first)->index() == (*second)->index());
  Restart();
  const auto third = Open({""}, {"bytes"});
  REQUIRE_THAT(third, IsOk());
  CHECK(source_.reads == reads);
  CHECK((*third)->version() == (*first)->version());
  CHECK_THAT(warnings_, IsEmpty());
  // A dataset of another type has another version.
  const auto other = Open({""}, {"text"});
  REQUIRE_THAT(other, IsOk());
  CHECK((*other)->version() != (*first)->version());
}

TEST_CASE_METHOD(RecordCatalogTest,
                 "The record catalog scans a changed file anew",
                 "[records][record_catalog]") {
  Put("a", Frame("1"));
  REQUIRE_THAT(Open({""}, {"bytes"}), IsOk());
  Put("a", Frame("1") + Frame("22"));
  const auto dataset = Open({""}, {"bytes"});
  REQUIRE_THAT(dataset, IsOk());
  CHECK((*dataset)->size() == 2);
}

TEST_CASE_METHOD(RecordCatalogTest,
                 "The record catalog builds a damaged index anew",
                 "[records][record_catalog]") {
  Put("a", Frame("1"));
  REQUIRE_THAT(Open({""}, {"bytes"}), IsOk());
  REQUIRE(Saved().size() == 1);
  std::ofstream(Saved()[0]) << "garbage";
  Restart();
  const auto dataset = Open({""}, {"bytes"});
  REQUIRE_THAT(dataset, IsOk());
  REQUIRE(warnings_.size() == 1);
  CHECK_THAT(warnings_[0], Contains("its index is built anew"));
}

TEST_CASE_METHOD(
    RecordCatalogTest,
    "The record catalog keeps a guess of the fields with the index",
    "[records][record_catalog]") {
  Put("a", Frame(tfrecord::Example(
               {{"label", tfrecord::Int64Feature({1})},
                {"several", tfrecord::BytesFeature({"a", "b"})}})));
  const auto first = Open();
  REQUIRE_THAT(first, IsOk());
  REQUIRE((*first)->fields().size() == 1);
  CHECK((*first)->fields()[0].name == "label");
  REQUIRE(warnings_.size() == 1);
  CHECK_THAT(warnings_[0], Contains("is read without a field: feature "
                                    "several is a list of bytes"));
  const int reads = source_.reads;
  Restart();
  const auto second = Open();
  REQUIRE_THAT(second, IsOk());
  CHECK(source_.reads == reads);
  CHECK((*second)->fields()[0].name == "label");
}

TEST_CASE_METHOD(
    RecordCatalogTest,
    "The record catalog guesses fields from a first record of any size",
    "[records][record_catalog]") {
  Put("none", "");
  Put("a", Frame(std::string(5 << 20, 'x')) + Frame("y"));
  const auto dataset = Open();
  REQUIRE_THAT(dataset, IsOk());
  CHECK((*dataset)->fields()[0].kind == proto::FieldKind::kBytes);
  CHECK((*dataset)->size() == 2);
}

TEST_CASE_METHOD(RecordCatalogTest,
                 "The record catalog's errors name root and file",
                 "[records][record_catalog]") {
  Put("a", Frame("1") + "rest");
  for (const auto& types :
       {std::vector<std::string>{"bytes"}, std::vector<std::string>{}}) {
    const auto failed = types.empty() ? Open() : Open({""}, types);
    CHECK(failed.status() ==
          absl::DataLossError(absl::StrCat(
              memory_.root()->uri(),
              ": a: at byte 17: is truncated: 4 bytes are left, which are "
              "not a record")));
  }
  files_.clear();
  CHECK_THAT(Open({""}, {"bytes"}), HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(RecordCatalogTest,
                 "The record catalog finds no samples in files without records",
                 "[records][record_catalog]") {
  Put("a", "");
  const auto dataset = Open();
  REQUIRE_THAT(dataset, IsOk());
  CHECK((*dataset)->size() == 0);
  CHECK((*dataset)->largest_sample() == 0);
}

}  // namespace
}  // namespace forebay::dataset::records
