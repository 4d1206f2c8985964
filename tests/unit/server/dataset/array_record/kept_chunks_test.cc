#include "server/dataset/array_record/kept_chunks.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"
#include "tests/unit/server/dataset/array_record/made_file.h"

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
  Version digest() const { return KeptChunks::DigestOf(bytes()); }
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

TEST(KeptChunksTest, KeepsWhatIsReadOnceMore) {
  const std::vector<std::string> records = {
      "", "abc", "", "d", std::string(1000, 'x'), ""};
  const Stored stored(records);
  KeptChunks chunks(base::AmpleBudget());
  EXPECT_FALSE(chunks.Find(stored.digest()).has_value());
  chunks.Add(stored.digest(), stored.Read());
  EXPECT_FALSE(chunks.Find(stored.digest()).has_value());
  chunks.Add(stored.digest(), stored.Read());
  const auto kept = chunks.Find(stored.digest());
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i)
    EXPECT_EQ(AsText(kept->At(i)), records[i]);
  EXPECT_FALSE(chunks.Find(Stored({"abc"}).digest()).has_value());
}

TEST(KeptChunksTest, ForgetsWhatItSawLongAgo) {
  const Stored stored({"abc", "d"});
  KeptChunks chunks(base::AmpleBudget());
  chunks.Add(stored.digest(), stored.Read());
  for (int i = 0; i < 64; ++i) {
    const Stored other({"other", std::to_string(i)});
    chunks.Add(other.digest(), other.Read());
  }
  chunks.Add(stored.digest(), stored.Read());
  EXPECT_FALSE(chunks.Find(stored.digest()).has_value());
}

TEST(KeptChunksTest, KeepsNothingWithoutABudget) {
  const Stored stored({"abc", "d"});
  KeptChunks chunks(nullptr);
  for (int i = 0; i < 3; ++i) chunks.Add(stored.digest(), stored.Read());
  EXPECT_FALSE(chunks.Find(stored.digest()).has_value());
}

}  // namespace
}  // namespace forebay::dataset::array_record
