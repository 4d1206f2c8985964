#include "server/dataset/array_record/chunk_record_cache.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

constexpr std::uint64_t kSignatureBytes = 64;

// A chunk that lies in a file.
class Stored {
 public:
  explicit Stored(const std::vector<std::string>& records)
      : file_(FileOf({ChunkOf(records)})) {}

  absl::Span<const std::uint8_t> bytes() const {
    return AsBytes(file_).subspan(kSignatureBytes);
  }
  Version digest() const { return ChunkRecordCache::DigestOf(bytes()); }
  Chunk Read() const {
    return *Chunk::Read(
        kSignatureBytes, bytes(), 1 << 20,
        [](std::uint64_t) -> absl::StatusOr<absl::Span<std::uint8_t>> {
          return absl::ResourceExhaustedError("it is stored");
        });
  }

 private:
  const std::string file_;
};

TEST_CASE("An ArrayRecord chunk is kept when it is read once more",
          "[array_record][chunk_record_cache]") {
  const std::vector<std::string> records = {
      "", "abc", "", "d", std::string(1000, 'x'), ""};
  const Stored stored(records);
  ChunkRecordCache chunks(base::AmpleBudget());
  CHECK_FALSE(chunks.Find(stored.digest()).has_value());
  chunks.Add(stored.digest(), stored.Read());
  CHECK_FALSE(chunks.Find(stored.digest()).has_value());
  chunks.Add(stored.digest(), stored.Read());
  const auto kept = chunks.Find(stored.digest());
  REQUIRE(kept.has_value());
  REQUIRE(kept->size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i)
    CHECK(AsText(kept->At(i)) == records[i]);
  CHECK_FALSE(chunks.Find(Stored({"abc"}).digest()).has_value());
}

TEST_CASE("The kept ArrayRecord chunks forget what they saw long ago",
          "[array_record][chunk_record_cache]") {
  const Stored stored({"abc", "d"});
  ChunkRecordCache chunks(base::AmpleBudget());
  chunks.Add(stored.digest(), stored.Read());
  for (int i = 0; i < 64; ++i) {
    const Stored other({"other", std::to_string(i)});
    chunks.Add(other.digest(), other.Read());
  }
  chunks.Add(stored.digest(), stored.Read());
  CHECK_FALSE(chunks.Find(stored.digest()).has_value());
}

TEST_CASE("No ArrayRecord chunk is kept without a memory budget",
          "[array_record][chunk_record_cache]") {
  const Stored stored({"abc", "d"});
  ChunkRecordCache chunks(nullptr);
  for (int i = 0; i < 3; ++i) chunks.Add(stored.digest(), stored.Read());
  CHECK_FALSE(chunks.Find(stored.digest()).has_value());
}

}  // namespace
}  // namespace forebay::dataset::array_record
