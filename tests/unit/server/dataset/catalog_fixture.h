#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_CATALOG_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_CATALOG_FIXTURE_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/dataset/catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {

// A tree of two class folders, and catalogs that count their scans of it.
class CatalogTest {
 protected:
  CatalogTest() {
    tree_.Write("data/a/1.jpg", "x");
    tree_.Write("data/b/2.jpg", "xy");
  }

  static std::int64_t NowNanos() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  CatalogOptions Options() {
    CatalogOptions options;
    options.index_directory = tree_.path() + "/indexes";
    options.scan_threads = 2;
    options.budget = base::AmpleBudget();
    // Every scan calls this clock once.
    options.wall_clock = [this] {
      ++scans_;
      if (on_scan_ != nullptr) on_scan_();
      return NowNanos() + ahead_nanos_;
    };
    return options;
  }

  // Any thread may call it, as Catalog is thread-safe.
  absl::Status OpenUntil(Catalog& catalog, const std::stop_token& stop) const {
    proto::DatasetSpec spec;
    spec.mutable_image_folder();
    std::vector<std::string> warnings;
    return catalog.Open(tree_.Root("data"), spec, source_, &warnings, stop)
        .status();
  }

  std::shared_ptr<const Dataset> Open(Catalog& catalog,
                                      std::string_view path = "data") {
    proto::DatasetSpec spec;
    spec.mutable_image_folder();
    auto dataset = catalog.Open(tree_.Root(path), spec, source_, &warnings_);
    CHECK_THAT(dataset, tests::IsOk());
    return *std::move(dataset);
  }

  void SetModified(const std::string& path, int second) const {
    const timespec times[2] = {{second, 0}, {second, 0}};
    const std::string whole = tree_.path() + "/" + path;
    REQUIRE(utimensat(AT_FDCWD, whole.c_str(), times, 0) == 0);
  }

  bool IsKeptOnDisk() const {
    const std::string path = tree_.path() + "/indexes";
    return std::filesystem::exists(path) && !std::filesystem::is_empty(path);
  }

  ScratchTree tree_;
  std::atomic<int> scans_ = 0;
  std::function<void()> on_scan_;  // called as each scan begins
  // The clock is an hour ahead, so that all changes that the test makes seem
  // old.
  std::int64_t ahead_nanos_ = 3'600'000'000'000;
  std::vector<std::string> warnings_;
  mutable storage::MemorySource source_;  // only lists folders
};

}  // namespace forebay::dataset

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_CATALOG_FIXTURE_H_
