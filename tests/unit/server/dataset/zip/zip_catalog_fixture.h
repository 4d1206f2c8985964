#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_ZIP_CATALOG_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_ZIP_CATALOG_FIXTURE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "server/dataset/zip/zip_catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/dataset/zip/compressed_archive.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

namespace forebay::dataset::zip {

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

// A catalog of archives in memory.
class ZipCatalogTest {
 protected:
  void Put(const std::string& path, const std::vector<CompressedFile>& files) {
    PutBytes(path, CompressedArchive(files));
  }
  void PutBytes(const std::string& path, const std::string& bytes) {
    bytes_[path] = bytes;
    versions_[path] = memory_.Put(path, bytes);
  }

  ZipRequest Request(const std::string& folder = "") {
    return {.root = memory_.root(),
            .patterns = {"*.zip"},
            .folder = folder,
            .list = [this](base::WorkingMemory&, const std::stop_token&)
                -> absl::StatusOr<ZipRequest::Archives> {
              ZipRequest::Archives archives;
              for (const auto& [path, version] : versions_)
                archives.push_back({path, version});
              return archives;
            },
            .source = &source_};
  }
  std::shared_ptr<const Dataset> Open(const std::string& folder = "") {
    return Open(catalog_, folder);
  }
  std::shared_ptr<const Dataset> Open(ZipCatalog& catalog,
                                      const std::string& folder = "") {
    auto dataset = catalog.Open(Request(folder), &warnings_, {});
    CHECK_THAT(dataset, tests::IsOk());
    return dataset.ok() ? *dataset : nullptr;
  }
  std::string Refusal(const std::string& folder = "") {
    const auto dataset = catalog_.Open(Request(folder), &warnings_, {});
    CHECK_FALSE(dataset.ok());
    return std::string(dataset.status().message());
  }

  // Returns the sample's image, or the error.
  std::string ImageOf(const Dataset& dataset, std::uint64_t id) const {
    const Sample sample = dataset.At(id);
    std::vector<FieldValue> values(2);
    dataset.ValuesOf(id, absl::MakeSpan(values));
    CHECK(std::get<CompressedRange>(values[0]).range.length == sample.length);
    const std::string read =
        bytes_.at(sample.object).substr(sample.offset, sample.length);
    std::vector<std::uint8_t> decompressed;
    const auto image =
        dataset.Decompress(id, AsBytes(read), [&](std::uint64_t n) {
          decompressed.resize(n);
          return absl::MakeSpan(decompressed);
        });
    return image.ok() ? std::string(image->begin(), image->end())
                      : std::string(image.status().message());
  }
  static std::int64_t LabelOf(const Dataset& dataset, std::uint64_t id) {
    std::vector<FieldValue> values(2);
    dataset.ValuesOf(id, absl::MakeSpan(values));
    return std::get<std::int64_t>(values[1]);
  }
  static std::vector<std::string> NamesOf(const Dataset& dataset) {
    std::vector<std::string> names;
    for (std::uint64_t id = 0; id < dataset.size(); ++id)
      names.push_back(dataset.NameOf(id));
    return names;
  }
  std::string Directory() const { return tree_.path() + "/indexes"; }

  ScratchTree tree_;
  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::map<std::string, storage::ObjectVersion> versions_;
  std::map<std::string, std::string> bytes_;
  std::vector<std::string> warnings_;
  ZipCatalog catalog_{"", base::AmpleBudget()};
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_ZIP_CATALOG_FIXTURE_H_
