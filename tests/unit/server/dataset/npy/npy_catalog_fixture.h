#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_NPY_NPY_CATALOG_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_NPY_NPY_CATALOG_FIXTURE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "server/dataset/npy/npy_catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/thread_checks.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npy {

// A source that counts its reads.
class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource& source) : source_(source) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    reads += static_cast<int>(requests.size());
    ticket = requests.front().ticket;
    if (on_read != nullptr) on_read();
    source_.Read(requests);
  }
  std::atomic<int> reads = 0;
  std::atomic<std::uint64_t> ticket = 0;  // of the latest read
  std::function<void()> on_read;          // called before each read

 private:
  storage::ByteSource& source_;
};

// A catalog of .npy files in memory.
class NpyCatalogTest {
 protected:
  void Put(const std::string& path, std::string content) {
    const storage::ObjectVersion version =
        memory_.Put(path, std::move(content));
    std::erase_if(
        files_, [&](const storage::ListedObject& f) { return f.name == path; });
    files_.push_back({path, version});
    std::sort(files_.begin(), files_.end(),
              [](const storage::ListedObject& a,
                 const storage::ListedObject& b) { return a.name < b.name; });
  }

  NpyRequest Request() {
    return {.root = memory_.root(),
            .name = "*.npy",
            .list = [this](base::WorkingMemory&, const std::stop_token&)
                -> absl::StatusOr<std::vector<storage::ListedObject>> {
              return files_;
            },
            .source = &source_};
  }

  // Opens a dataset. Fails the test if that does not work. Any thread may call
  // it.
  std::shared_ptr<const Dataset> Open(const NpyRequest& request) {
    auto dataset = catalog_.Open(request, &warnings_, {});
    checks_.CheckOk(dataset.status());
    return dataset.ok() ? *dataset : nullptr;
  }

  absl::Status Refusal() {
    return catalog_.Open(Request(), &warnings_, {}).status();
  }

  std::string Refusal(absl::StatusCode code) {
    const absl::Status status = Refusal();
    CHECK_THAT(status, tests::HasCode(code));
    std::string text(status.message());
    const std::string start = memory_.root()->uri() + ": ";
    CAPTURE(text);
    CHECK(text.starts_with(start));
    return text.substr(std::min(start.size(), text.size()));
  }

  tests::ThreadChecks checks_;
  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::vector<storage::ListedObject> files_;
  std::vector<std::string> warnings_;
  NpyCatalog catalog_{"", base::AmpleBudget()};
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_NPY_NPY_CATALOG_FIXTURE_H_
