#include "client/core/epoch_position.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace forebay::client::core {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers Content(const proto::Fd& fd) {
  struct stat status;
  EXPECT_EQ(fstat(fd.get(), &status), 0);
  Numbers numbers(status.st_size / sizeof(std::int64_t));
  EXPECT_EQ(pread(fd.get(), numbers.data(), status.st_size, 0), status.st_size);
  return numbers;
}

// A batch with two samples, of which it tells the numbers.
class TwoSamples {
 public:
  TwoSamples(std::int64_t first, std::int64_t second) : ids_{first, second} {
    batch_.data = reinterpret_cast<std::uint8_t*>(ids_);
    batch_.header.sample_count = 2;
    batch_.header.field_count = 1;
    batch_.header.fields[0].kind = proto::FieldKind::kSampleId;
    batch_.header.fields[0].dtype = proto::DType::kInt64;
    batch_.header.fields[0].bytes = sizeof ids_;
  }
  forebay_batch& batch() { return batch_; }

 private:
  std::int64_t ids_[2];
  forebay_batch batch_;
};

TEST(EpochPositionTest, RefusesNumbersOf2To63) {
  constexpr std::uint64_t kFirstTooLarge = std::uint64_t{1} << 63;
  const Status ok = EpochPosition(INT64_MAX, INT64_MAX, false).Check();
  EXPECT_TRUE(ok.ok()) << ok.message;
  for (const EpochPosition& position :
       {EpochPosition(kFirstTooLarge, 0, false),
        EpochPosition(0, kFirstTooLarge, false)}) {
    const Status status = position.Check();
    EXPECT_EQ(status.code, FOREBAY_INVALID_ARGUMENT);
    EXPECT_NE(status.message.find("9223372036854775808"), std::string::npos);
  }
}

TEST(EpochPositionTest, MovesOnByBatches) {
  EpochPosition position(3, 10, false);
  TwoSamples batch(7, 8);
  ASSERT_TRUE(position.Count(batch.batch()).ok());
  EXPECT_EQ(position.epoch(), 3);
  EXPECT_EQ(position.next_sample(), 12);
  EXPECT_EQ(batch.batch().next_sample, 12);
  EXPECT_FALSE(position.list());
  proto::Fd seen;
  ASSERT_TRUE(position.SealSeen(&seen).ok());
  EXPECT_FALSE(seen);
}

TEST(EpochPositionTest, KeepsAListOfAllSamples) {
  EpochPosition position(0, 1, false);
  const Numbers samples = {5, 5, 2};
  ASSERT_TRUE(position.SetList(samples.data(), samples.size()).ok());
  EXPECT_EQ(Content(position.list()), samples);
}

TEST(EpochPositionTest, ACoordinatedEpochRemembersWhatWasSeen) {
  EpochPosition position(0, 1, true);
  const std::int64_t before = 4;
  ASSERT_TRUE(position.SetList(&before, 1).ok());
  ASSERT_TRUE(position.Count(TwoSamples(9, 0).batch()).ok());
  EXPECT_EQ(position.next_sample(), 3);
  EXPECT_FALSE(position.list());
  proto::Fd seen;
  ASSERT_TRUE(position.SealSeen(&seen).ok());
  EXPECT_EQ(Content(seen), (Numbers{4, 9, 0}));
}

TEST(EpochPositionTest, ABatchWithoutNumbersIsNotCounted) {
  EpochPosition position(0, 0, true);
  TwoSamples batch(1, 2);
  batch.batch().header.field_count = 0;
  EXPECT_EQ(position.Count(batch.batch()).code, FOREBAY_INTERNAL);
  EXPECT_EQ(position.next_sample(), 0);
}

}  // namespace
}  // namespace forebay::client::core
