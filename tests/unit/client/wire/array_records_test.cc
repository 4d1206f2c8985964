#include "client/wire/array_records.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "proto/raw_image.h"

namespace forebay::client::wire {
namespace {

constexpr std::uint8_t kPixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
constexpr std::int64_t kLabels[] = {-1, 7};

forebay_array Images() {
  return {.name = "image",
          .kind = FOREBAY_IMAGE,
          .dtype = FOREBAY_UINT8,
          .rank = 4,
          .shape = {2, 1, 2, 3},
          .data = kPixels};
}

forebay_array Labels() {
  return {.name = "label",
          .kind = FOREBAY_LABEL,
          .dtype = FOREBAY_INT64,
          .rank = 1,
          .shape = {2},
          .data = kLabels};
}

std::string Refusal(const std::vector<forebay_array>& arrays) {
  Records records;
  Status status = DescribeRecords(arrays.data(), arrays.size(), &records);
  proto::Fd memory;
  if (status.ok()) status = WriteRecords(records, &memory);
  EXPECT_EQ(status.code, FOREBAY_INVALID_ARGUMENT);
  return status.message;
}

TEST(ArrayRecordsTest, EachSampleIsOneRecord) {
  const forebay_array arrays[] = {Images(), Labels()};
  Records records;
  ASSERT_TRUE(DescribeRecords(arrays, 2, &records).ok());
  EXPECT_EQ(records.samples, 2);
  proto::Fd memory;
  ASSERT_TRUE(WriteRecords(records, &memory).ok());
  constexpr std::size_t kRecord = sizeof(proto::RawImageHeader) + 6 + 8;
  std::vector<std::uint8_t> bytes(3 * kRecord);
  ASSERT_EQ(pread(memory.get(), bytes.data(), bytes.size(), 0), 2 * kRecord);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint8_t* const record = bytes.data() + i * kRecord;
    proto::RawImageHeader header;
    std::memcpy(&header, record, sizeof(header));
    EXPECT_EQ(header.magic, proto::kRawImageMagic);
    EXPECT_EQ(header.width, 2);
    EXPECT_EQ(header.height, 1);
    EXPECT_EQ(header.channels, 3);
    EXPECT_EQ(std::memcmp(record + sizeof(header), kPixels + 6 * i, 6), 0);
    std::int64_t label;
    std::memcpy(&label, record + sizeof(header) + 6, sizeof(label));
    EXPECT_EQ(label, kLabels[i]);
  }
  // Nobody can change it any more.
  EXPECT_NE(ftruncate(memory.get(), 1), 0);
  EXPECT_LT(write(memory.get(), "x", 1), 0);
}

TEST(ArrayRecordsTest, RefusesWhatIsNone) {
  const auto spoilt = [](auto spoil) {
    forebay_array array = Images();
    spoil(array);
    return Refusal({array, Labels()});
  };
  EXPECT_NE(spoilt([](forebay_array& a) { a.dtype = FOREBAY_INT8; }), "");
  EXPECT_NE(spoilt([](forebay_array& a) { a.shape[3] = 2; }), "");
  EXPECT_NE(spoilt([](forebay_array& a) { a.rank = 2; }), "");
  EXPECT_NE(spoilt([](forebay_array& a) { a.rank = 7; }), "");
  EXPECT_NE(spoilt([](forebay_array& a) { a.rank = 0; }), "");
  EXPECT_NE(spoilt([](forebay_array& a) { a.kind = FOREBAY_TEXT; }), "");
  EXPECT_NE(spoilt([](forebay_array& a) {
              a.dtype = static_cast<forebay_dtype>(99);
            }),
            "");
  EXPECT_EQ(spoilt([](forebay_array& a) { a.data = nullptr; }),
            "field image: has no data");
  EXPECT_EQ(spoilt([](forebay_array& a) { a.shape[1] = 1ull << 62; }),
            "field image: is too large");
  EXPECT_EQ(spoilt([](forebay_array& a) { a.name = nullptr; }),
            "the name of a field is null");
  EXPECT_EQ(spoilt([](forebay_array& a) { a.shape[0] = 3; }),
            "field label: has another number of samples than the first");
  EXPECT_EQ(Refusal({}), "a dataset needs a field");
}

}  // namespace
}  // namespace forebay::client::wire
