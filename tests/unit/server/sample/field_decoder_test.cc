#include "server/sample/field_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/unit/server/sample/table_dataset.h"

namespace forebay::sample {
namespace {

using dataset::Field;
using dataset::FieldRange;
using proto::FieldKind;

std::string TextOf(absl::Span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

// Notes what it is given.
class Notes final : public FieldTarget {
 public:
  void SetNumber(std::size_t field, std::int64_t number) override {
    taken.push_back(absl::StrCat(field, " number ", number));
  }
  void SetBytes(std::size_t field,
                absl::Span<const std::uint8_t> bytes) override {
    taken.push_back(absl::StrCat(field, " bytes ", TextOf(bytes)));
  }
  absl::Status SetElements(std::size_t field,
                           absl::Span<const std::uint8_t> elements) override {
    taken.push_back(absl::StrCat(field, " elements ", TextOf(elements)));
    return absl::OkStatus();
  }
  absl::Status SetArray(std::size_t field,
                        const pipeline::Array& array) override {
    taken.push_back(absl::StrCat(field, " array ", Describe(array.type), " ",
                                 TextOf(array.items)));
    return absl::OkStatus();
  }
  absl::Status SetImage(std::size_t field, const FieldRange& range) override {
    taken.push_back(
        absl::StrCat(field, " image ", range.offset, " ", range.length));
    return image_status;
  }

  absl::Status image_status;
  std::vector<std::string> taken;
};

// A sample whose only field is all that was read.
absl::Status Decode(Field field, std::string_view read) {
  const TableDataset table({std::move(field)}, {FieldRange{0, read.size()}});
  Notes notes;
  dataset::MadeValues made;
  return DecodeFields(
      table, 5,
      {reinterpret_cast<const std::uint8_t*>(read.data()), read.size()}, made,
      notes);
}

TEST(FieldDecoderTest, DecodesEachKind) {
  std::string npy = "\x93NUMPY\x01";
  npy += '\0';
  const std::string dictionary =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  npy += static_cast<char>(dictionary.size());
  npy += '\0';
  npy += dictionary + "abc";
  const std::string small = " 12\ncafe{}\x80xy";
  const std::string read = small + npy;
  const TableDataset table(
      {{"image", FieldKind::kImage},
       {"label", FieldKind::kLabel},
       {"text", FieldKind::kText},
       {"json", FieldKind::kJson},
       {"bytes", FieldKind::kBytes},
       {"elements", FieldKind::kArray, 2,
        dataset::ArrayType{.dtype = proto::DType::kUint8, .shape = {2}}},
       {"array", FieldKind::kArray}},
      // The target alone knows how much of an image it needs.
      {FieldRange{7, 1'000}, FieldRange{0, 4}, FieldRange{4, 4},
       FieldRange{8, 2}, FieldRange{10, 1}, FieldRange{11, 2},
       FieldRange{small.size(), npy.size()}});
  Notes notes;
  dataset::MadeValues made;
  EXPECT_TRUE(DecodeFields(table, 5,
                           {reinterpret_cast<const std::uint8_t*>(read.data()),
                            read.size()},
                           made, notes)
                  .ok());
  EXPECT_EQ(notes.taken,
            (std::vector<std::string>{
                "0 image 7 1000", "1 number 12", "2 bytes cafe", "3 bytes {}",
                "4 bytes \x80", "5 elements xy", "6 array uint8 (3,) abc"}));
}

TEST(FieldDecoderTest, WhatTheIndexKnowsNeedsNoBytes) {
  const TableDataset table(
      {{"label", FieldKind::kLabel}, {"text", FieldKind::kText}},
      {std::int64_t{-3}, std::string_view("a cat")});
  Notes notes;
  dataset::MadeValues made;
  EXPECT_TRUE(DecodeFields(table, 5, {}, made, notes).ok());
  EXPECT_EQ(notes.taken,
            (std::vector<std::string>{"0 number -3", "1 bytes a cat"}));
}

TEST(FieldDecoderTest, ErrorsNameSampleObjectAndField) {
  const absl::Status label = Decode({"label", FieldKind::kLabel}, "cat");
  EXPECT_TRUE(absl::IsDataLoss(label));
  EXPECT_TRUE(
      absl::StartsWith(label.message(), "sample 5 of table: photo: label: "))
      << label;
  EXPECT_TRUE(absl::IsDataLoss(Decode({"text", FieldKind::kText}, "\x80")));
  EXPECT_TRUE(absl::IsDataLoss(Decode({"json", FieldKind::kJson}, "\x80")));
  EXPECT_TRUE(absl::IsDataLoss(Decode({"array", FieldKind::kArray}, "none")));
  EXPECT_TRUE(Decode({"bytes", FieldKind::kBytes}, "\x80").ok());

  const TableDataset text({{"text", FieldKind::kText}},
                          {std::string_view("\x80")});
  Notes notes;
  dataset::MadeValues made;
  EXPECT_TRUE(absl::IsDataLoss(DecodeFields(text, 5, {}, made, notes)));
  EXPECT_TRUE(notes.taken.empty());
}

TEST(FieldDecoderTest, BytesThatWereNotReadAreAnError) {
  const std::vector<std::uint8_t> read(9);
  for (const FieldRange& range :
       {FieldRange{0, 10}, FieldRange{8, 2}, FieldRange{10, 0}}) {
    const TableDataset table({{"bytes", FieldKind::kBytes}}, {range});
    Notes notes;
    dataset::MadeValues made;
    const absl::Status status = DecodeFields(table, 5, read, made, notes);
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_EQ(status.message(),
              "sample 5 of table: photo: bytes: has only 9 of 10 bytes");
  }
  EXPECT_EQ(BytesOf(read, {9, 0})->size(), 0);
  EXPECT_EQ(BytesOf(read, {2, 7})->data(), read.data() + 2);
}

TEST(FieldDecoderTest, StopsAtTheTargetsError) {
  const TableDataset table(
      {{"label", FieldKind::kLabel},
       {"image", FieldKind::kImage},
       {"text", FieldKind::kText}},
      {std::int64_t{1}, FieldRange{0, 0}, std::string_view("a cat")});
  Notes notes;
  dataset::MadeValues made;
  notes.image_status = absl::UnimplementedError("is no JPEG");
  const absl::Status status = DecodeFields(table, 5, {}, made, notes);
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_EQ(status.message(), "sample 5 of table: photo: is no JPEG");
  EXPECT_EQ(notes.taken,
            (std::vector<std::string>{"0 number 1", "1 image 0 0"}));
}

}  // namespace
}  // namespace forebay::sample
