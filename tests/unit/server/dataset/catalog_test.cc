#include "server/dataset/catalog.h"

#include <filesystem>
#include <fstream>

#include "proto/dataset.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/catalog_fixture.h"

namespace forebay::dataset {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;

TEST_CASE_METHOD(
    CatalogTest,
    "The catalog's loaders share a dataset's index but not its root",
    "[dataset][catalog]") {
  Catalog catalog(Options());
  const auto one = Open(catalog);
  const auto other = Open(catalog);
  CHECK(scans_ == 1);
  CHECK(&one->classes() == &other->classes());
  CHECK(one->root() != other->root());
  CHECK(one->size() == 2);
  CHECK(one->At(1).object == "b/2.jpg");
  CHECK(one->largest_sample() == 2);
  CHECK_THAT(one->classes(), ElementsAre("a", "b"));
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(CatalogTest, "The catalog finds the index on disk",
                 "[dataset][catalog]") {
  Version version;
  {
    Catalog catalog(Options());
    version = Open(catalog)->version();
    CHECK(scans_ == 1);
    // The index is loaded from disk, because no caller holds it.
    CHECK(Open(catalog)->version() == version);
    CHECK(scans_ == 1);
  }
  Catalog later(Options());
  const auto dataset = Open(later);
  CHECK(scans_ == 1);
  CHECK(dataset->version() == version);
  CHECK(dataset->At(0).object == "a/1.jpg");
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(CatalogTest,
                 "The catalog builds a damaged index anew with a warning",
                 "[dataset][catalog]") {
  {
    Catalog catalog(Options());
    Open(catalog);
  }
  for (const auto& file :
       std::filesystem::directory_iterator(tree_.path() + "/indexes")) {
    std::ofstream(file.path(), std::ios::app) << "garbage";
  }
  Catalog catalog(Options());
  CHECK(Open(catalog)->size() == 2);
  CHECK(scans_ == 2);
  REQUIRE(warnings_.size() == 1);
  CHECK_THAT(warnings_[0], Contains("its index is built anew: "));
  CHECK_THAT(warnings_[0], Contains("has counts that do not match its length"));
  Catalog again(Options());
  Open(again);
  CHECK(scans_ == 2);
}

TEST_CASE_METHOD(CatalogTest,
                 "The catalog warns of an index that cannot be kept",
                 "[dataset][catalog]") {
  tree_.Write("indexes", "a file in its place");
  Catalog catalog(Options());
  const auto dataset = Open(catalog);
  CHECK(dataset->size() == 2);
  CHECK(warnings_.size() == 2);
  CHECK_THAT(warnings_.back(), Contains("its index is kept in memory only"));
  const auto other = Open(catalog);
  CHECK(scans_ == 1);
}

TEST_CASE_METHOD(
    CatalogTest,
    "Links make the path of a dataset's root matter to the catalog",
    "[dataset][catalog]") {
  tree_.Link("data/b/3.jpg", tree_.path() + "/data/a/1.jpg");
  tree_.Link("other", "data");
  Catalog catalog(Options());
  const auto one = Open(catalog);
  CHECK(one->At(2).length == 1);
  const auto other = Open(catalog, "other");
  CHECK(scans_ == 2);
  CHECK(other->At(2).length == 0);  // the link leads outside of that root
}

TEST_CASE_METHOD(CatalogTest,
                 "The catalog refuses kinds and settings that it does not know",
                 "[dataset][catalog]") {
  Catalog catalog(Options());
  proto::DatasetSpec none, layout, content;
  layout.mutable_npy_folder()->set_layout(
      static_cast<proto::NpyFolder::Layout>(99));
  content.mutable_zip()->add_files("a.zip");
  content.mutable_zip()->set_content(static_cast<proto::Zip::Content>(99));
  for (const proto::DatasetSpec& spec : {none, layout, content}) {
    CHECK_THAT(
        catalog.Open(tree_.Root("data"), spec, source_, &warnings_).status(),
        HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE_METHOD(CatalogTest,
                 "The catalog refuses NPY files that are not there",
                 "[dataset][catalog]") {
  Catalog catalog(Options());
  proto::DatasetSpec spec;
  spec.mutable_npy_folder();
  const auto refusal = [&] {
    return catalog.Open(tree_.Root("data"), spec, source_, &warnings_).status();
  };
  CHECK(refusal() ==
        absl::NotFoundError(tree_.path() + "/data: found no .npy file in it"));
  spec.mutable_npy_files();
  CHECK(refusal() == absl::InvalidArgumentError(tree_.path() +
                                                "/data: no files were named"));
  spec.mutable_npy_files()->add_files("{a,b}/*.npy");
  CHECK_THAT(refusal(), HasCode(absl::StatusCode::kNotFound));
  CHECK(refusal().message() ==
        tree_.path() + "/data: a/*.npy: no file fits this pattern");
}

}  // namespace
}  // namespace forebay::dataset
