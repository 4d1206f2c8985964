// The conformance suite on the source of compressed files.

#include "server/storage/inflated/inflated_source.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/storage/inflated/inflated_root.h"
#include "tests/conformance/storage/byte_source_conformance.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::storage {
namespace {

// Compresses what is put.
class InflatedHarness final : public ByteSourceHarness {
 public:
  InflatedHarness()
      : source_(
            std::in_place, &inner_,
            [](const ReadPurpose&, std::int64_t,
               const std::function<void()>& task) { task(); },
            0) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override {
    return inflated::WithPoints(inner_.root(),
                                inflated::PointsOfFiles(packed_));
  }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    packed_[object] = inflated::Gzip(content);
    ObjectVersion version = inner_.Put(object, packed_[object]);
    version.size = content.size();
    return version;
  }
  void Remove(const std::string& object) override { inner_.Remove(object); }

 private:
  MemorySource inner_;
  std::map<std::string, std::string> packed_;
  std::optional<inflated::InflatedSource> source_;
};

INSTANTIATE_TEST_SUITE_P(
    Inflated, ByteSourceConformanceTest,
    ::testing::Values([]() -> std::unique_ptr<ByteSourceHarness> {
      return std::make_unique<InflatedHarness>();
    }));

}  // namespace
}  // namespace forebay::storage
