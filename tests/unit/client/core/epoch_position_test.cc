#include "client/core/epoch_position.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::core {
namespace {

using tests::Contains;
using tests::IsOk;

using Numbers = std::vector<std::int64_t>;

Numbers Content(const proto::Fd& fd) {
  struct stat status;
  CHECK(fstat(fd.get(), &status) == 0);
  Numbers numbers(status.st_size / sizeof(std::int64_t));
  CHECK(pread(fd.get(), numbers.data(), status.st_size, 0) == status.st_size);
  return numbers;
}

// A batch with two samples whose ids are given.
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

TEST_CASE("An epoch position refuses numbers of 2 to the 63rd or more",
          "[core][epoch_position]") {
  constexpr std::uint64_t kFirstTooLarge = std::uint64_t{1} << 63;
  const Status ok = EpochPosition(INT64_MAX, INT64_MAX, false).Check();
  CAPTURE(ok.message);
  CHECK_THAT(ok, IsOk());
  for (const EpochPosition& position :
       {EpochPosition(kFirstTooLarge, 0, false),
        EpochPosition(0, kFirstTooLarge, false)}) {
    const Status status = position.Check();
    CHECK(status.code == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(status.message, Contains("9223372036854775808"));
  }
}

TEST_CASE("An epoch position moves on by batches", "[core][epoch_position]") {
  EpochPosition position(3, 10, false);
  TwoSamples batch(7, 8);
  REQUIRE_THAT(position.Count(batch.batch()), IsOk());
  CHECK(position.epoch() == 3);
  CHECK(position.next_sample() == 12);
  CHECK(batch.batch().next_sample == 12);
  CHECK_FALSE(position.list());
  proto::Fd seen;
  REQUIRE_THAT(position.SealSeenSamples(&seen), IsOk());
  CHECK_FALSE(seen);
}

TEST_CASE("An epoch position keeps a list of all samples",
          "[core][epoch_position]") {
  EpochPosition position(0, 1, false);
  const Numbers samples = {5, 5, 2};
  REQUIRE_THAT(position.SetList(samples.data(), samples.size()), IsOk());
  CHECK(Content(position.list()) == samples);
}

TEST_CASE("The position of a coordinated epoch remembers what was seen",
          "[core][epoch_position]") {
  EpochPosition position(0, 1, true);
  const std::int64_t before = 4;
  REQUIRE_THAT(position.SetList(&before, 1), IsOk());
  REQUIRE_THAT(position.Count(TwoSamples(9, 0).batch()), IsOk());
  CHECK(position.next_sample() == 3);
  CHECK_FALSE(position.list());
  proto::Fd seen;
  REQUIRE_THAT(position.SealSeenSamples(&seen), IsOk());
  CHECK(Content(seen) == Numbers{4, 9, 0});
}

TEST_CASE(
    "The position of a coordinated epoch does not count a batch without "
    "numbers",
    "[core][epoch_position]") {
  EpochPosition position(0, 0, true);
  TwoSamples batch(1, 2);
  batch.batch().header.field_count = 0;
  CHECK(position.Count(batch.batch()).code == FOREBAY_INTERNAL);
  CHECK(position.next_sample() == 0);
}

}  // namespace
}  // namespace forebay::client::core
