// The conformance suite on the source of compressed files.

#include "server/storage/compressed/decompressed_source.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/storage/compressed/compression.h"
#include "server/storage/compressed/decompressed_root.h"
#include "tests/conformance/storage/byte_source_conformance.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::storage {
namespace {

using compressed::Compression;

// Compresses each object that is put. If `is_wide`, zstd gets a window so long
// that the file cannot be read from its beginning.
class DecompressedHarness final : public ByteSourceHarness {
 public:
  explicit DecompressedHarness(Compression compression, bool is_wide = false)
      : compression_(compression),
        is_wide_(is_wide),
        source_(
            std::in_place, &inner_,
            [](const ReadPurpose&, std::int64_t,
               const std::function<void()>& task) { task(); },
            0) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override {
    return compressed::WithPoints(
        inner_.root(), compressed::PointsOfFiles(compressed_, compression_));
  }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    compressed_[object] =
        is_wide_
            ? compressed::Zstd(content, {.window_log = 24, .tells_size = false})
            : compressed::Pack(content, compression_);
    ObjectVersion version = inner_.Put(object, compressed_[object]);
    version.size = content.size();
    return version;
  }
  void Remove(const std::string& object) override { inner_.Remove(object); }

 private:
  const Compression compression_;
  const bool is_wide_;
  MemorySource inner_;
  std::map<std::string, std::string> compressed_;
  std::optional<compressed::DecompressedSource> source_;
};

template <Compression compression, bool is_wide>
std::unique_ptr<ByteSourceHarness> MakeHarness() {
  return std::make_unique<DecompressedHarness>(compression, is_wide);
}

const tests::RunsOn<ByteSourceConformance> kDecompressed(
    {{"gzip", &MakeHarness<Compression::kGzip, false>},
     {"zstd", &MakeHarness<Compression::kZstd, false>},
     {"zstd with a wide window", &MakeHarness<Compression::kZstd, true>}});

}  // namespace
}  // namespace forebay::storage
