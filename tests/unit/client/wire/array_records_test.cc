#include "client/wire/array_records.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "proto/raw_image.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::IsOk;

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
  CHECK(status.code == FOREBAY_INVALID_ARGUMENT);
  return status.message;
}

TEST_CASE("Each sample of a dataset of arrays is one record",
          "[wire][array_records]") {
  const forebay_array arrays[] = {Images(), Labels()};
  Records records;
  REQUIRE_THAT(DescribeRecords(arrays, 2, &records), IsOk());
  CHECK(records.samples == 2);
  proto::Fd memory;
  REQUIRE_THAT(WriteRecords(records, &memory), IsOk());
  constexpr std::size_t kRecord = sizeof(proto::RawImageHeader) + 6 + 8;
  std::vector<std::uint8_t> bytes(3 * kRecord);
  REQUIRE(pread(memory.get(), bytes.data(), bytes.size(), 0) == 2 * kRecord);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint8_t* const record = bytes.data() + i * kRecord;
    proto::RawImageHeader header;
    std::memcpy(&header, record, sizeof(header));
    CHECK(header.magic == proto::kRawImageMagic);
    CHECK(header.width == 2);
    CHECK(header.height == 1);
    CHECK(header.channels == 3);
    CHECK(std::memcmp(record + sizeof(header), kPixels + 6 * i, 6) == 0);
    std::int64_t label;
    std::memcpy(&label, record + sizeof(header) + 6, sizeof(label));
    CHECK(label == kLabels[i]);
  }
  // The memory is sealed, so nobody can change it any more.
  CHECK(ftruncate(memory.get(), 1) != 0);
  CHECK(write(memory.get(), "x", 1) < 0);
}

TEST_CASE("The client refuses arrays that are not records of samples",
          "[wire][array_records]") {
  const auto spoilt = [](auto spoil) {
    forebay_array array = Images();
    spoil(array);
    return Refusal({array, Labels()});
  };
  CHECK_FALSE(spoilt([](forebay_array& a) { a.dtype = FOREBAY_INT8; }).empty());
  CHECK_FALSE(spoilt([](forebay_array& a) { a.shape[3] = 2; }).empty());
  CHECK_FALSE(spoilt([](forebay_array& a) { a.rank = 2; }).empty());
  CHECK_FALSE(spoilt([](forebay_array& a) { a.rank = 7; }).empty());
  CHECK_FALSE(spoilt([](forebay_array& a) { a.rank = 0; }).empty());
  CHECK_FALSE(spoilt([](forebay_array& a) { a.kind = FOREBAY_TEXT; }).empty());
  CHECK_FALSE(spoilt([](forebay_array& a) {
                a.dtype = static_cast<forebay_dtype>(99);
              }).empty());
  CHECK(spoilt([](forebay_array& a) { a.data = nullptr; }) ==
        "field image: has no data");
  CHECK(spoilt([](forebay_array& a) { a.shape[1] = 1ull << 62; }) ==
        "field image: is too large");
  CHECK(spoilt([](forebay_array& a) { a.name = nullptr; }) ==
        "the name of a field is null");
  CHECK(spoilt([](forebay_array& a) { a.shape[0] = 3; }) ==
        "field label: has another number of samples than the first");
  CHECK(Refusal({}) == "a dataset needs a field");
}

}  // namespace
}  // namespace forebay::client::wire
