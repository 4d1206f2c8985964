// The conformance suite on the source of compressed files.

#include "server/storage/inflated/inflated_source.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/storage/inflated/inflated_root.h"
#include "server/storage/inflated/packing.h"
#include "tests/conformance/storage/byte_source_conformance.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::storage {
namespace {

using inflated::Packing;

// Compresses what is put: so, and by zstd with a window that is too long to be
// read from its begin on, if `is_wide`.
class InflatedHarness final : public ByteSourceHarness {
 public:
  explicit InflatedHarness(Packing packing, bool is_wide = false)
      : packing_(packing),
        is_wide_(is_wide),
        source_(
            std::in_place, &inner_,
            [](const ReadPurpose&, std::int64_t,
               const std::function<void()>& task) { task(); },
            0) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override {
    return inflated::WithPoints(inner_.root(),
                                inflated::PointsOfFiles(packed_, packing_));
  }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    packed_[object] =
        is_wide_
            ? inflated::Zstd(content, {.window_log = 24, .tells_size = false})
            : inflated::Pack(content, packing_);
    ObjectVersion version = inner_.Put(object, packed_[object]);
    version.size = content.size();
    return version;
  }
  void Remove(const std::string& object) override { inner_.Remove(object); }

 private:
  const Packing packing_;
  const bool is_wide_;
  MemorySource inner_;
  std::map<std::string, std::string> packed_;
  std::optional<inflated::InflatedSource> source_;
};

template <Packing packing, bool is_wide>
std::unique_ptr<ByteSourceHarness> MakeHarness() {
  return std::make_unique<InflatedHarness>(packing, is_wide);
}

const tests::RunsOn<ByteSourceConformance> kInflated(
    {{"gzip", &MakeHarness<Packing::kGzip, false>},
     {"zstd", &MakeHarness<Packing::kZstd, false>},
     {"zstd with a wide window", &MakeHarness<Packing::kZstd, true>}});

}  // namespace
}  // namespace forebay::storage
