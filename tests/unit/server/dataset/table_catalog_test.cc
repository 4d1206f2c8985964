// Tests how the catalog opens tables in memory.

#include <string>
#include <string_view>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/dataset/catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

using tests::IsEmpty;
using tests::StartsWith;

constexpr std::string_view kTable = "image,label\nb/2.jpg,7\na/1.jpg,-1\n";

class TableCatalogTest {
 protected:
  TableCatalogTest() : catalog_(Options()) {
    tree_.Write("data/a/1.jpg", "x");
    tree_.Write("data/b/2.jpg", "xy");
  }

  static CatalogOptions Options() {
    CatalogOptions options;
    options.scan_threads = 2;
    options.budget = base::AmpleBudget();
    options.wall_clock = [] { return std::int64_t{0}; };
    return options;
  }

  absl::StatusOr<std::shared_ptr<const Dataset>> Open(std::string_view table) {
    proto::DatasetSpec spec;
    for (const char* const name : {"image", "label"}) {
      proto::FieldColumn* const column = spec.mutable_manifest()->add_columns();
      column->set_field(name);
      column->set_column(name);
    }
    return catalog_.Open(tree_.Root("data"), spec, source_, &warnings_, {},
                         table);
  }

  ScratchTree tree_;
  storage::MemorySource source_;  // the test reads nothing from it
  Catalog catalog_;
  std::vector<std::string> warnings_;
};

TEST_CASE_METHOD(TableCatalogTest,
                 "A table dataset has the images of its rows in their order",
                 "[dataset][table_catalog]") {
  const auto dataset = *Open(kTable);
  REQUIRE(dataset->size() == 2);
  CHECK(dataset->At(0).object == "b/2.jpg");
  CHECK(dataset->At(0).length == 2);
  std::vector<FieldValue> values(2);
  dataset->ValuesOf(0, absl::MakeSpan(values));
  CHECK(std::get<std::int64_t>(values[1]) == 7);
  dataset->ValuesOf(1, absl::MakeSpan(values));
  CHECK(std::get<std::int64_t>(values[1]) == -1);
  CHECK(dataset->uri() == tree_.path() + "/data");
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(TableCatalogTest,
                 "Equal tables are shared while their images are the same",
                 "[dataset][table_catalog]") {
  const auto one = *Open(kTable);
  CHECK(&(*Open(kTable))->classes() == &one->classes());
  const auto other = *Open("image,label\nb/2.jpg,8\na/1.jpg,-1\n");
  CHECK(&other->classes() != &one->classes());
  CHECK(other->version() != one->version());
  tree_.Write("data/b/2.jpg", "xyz");
  catalog_.MarkStale(*one);
  const auto again = *Open(kTable);
  CHECK(again->version() != one->version());
  CHECK(again->At(0).length == 3);
}

TEST_CASE_METHOD(TableCatalogTest, "A table's errors name the row",
                 "[dataset][table_catalog]") {
  const std::string begin = tree_.path() + "/data: the table: ";
  const auto message = [&](std::string_view table) {
    return std::string(Open(table).status().message());
  };
  CHECK_THAT(message("image,label\na/1.jpg,0\nc.jpg,1\n"),
             StartsWith(begin + "line 3: c.jpg: "));
  CHECK_THAT(message("image,label\n/etc/passwd,0\n"),
             StartsWith(begin + "line 2: /etc/passwd: "));
  CHECK_THAT(message("image\na/1.jpg\n"), StartsWith(begin));
  CHECK(message("") == begin + "has no line of column names");
  CHECK(message("image,label\n") == begin + "has no rows");
}

}  // namespace
}  // namespace forebay::dataset
