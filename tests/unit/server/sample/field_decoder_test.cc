#include "server/sample/field_decoder.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/sample/table_dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::sample {
namespace {

using tests::HasCode;
using tests::IsOk;

using dataset::Field;
using dataset::FieldRange;
using dataset::FieldValue;
using proto::FieldKind;

std::string TextOf(absl::Span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

// A target that records the values it gets.
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
    taken.push_back(absl::StrCat(field, " array ",
                                 pipeline::Describe(array.type), " ",
                                 TextOf(array.items)));
    return absl::OkStatus();
  }
  absl::Status SetTiff(std::size_t field,
                       absl::Span<const std::uint8_t> file) override {
    taken.push_back(absl::StrCat(field, " tiff ", TextOf(file)));
    return absl::OkStatus();
  }
  absl::Status SetAudio(std::size_t field,
                        absl::Span<const std::uint8_t> file) override {
    taken.push_back(absl::StrCat(field, " audio ", TextOf(file)));
    return absl::OkStatus();
  }
  absl::Status SetImage(std::size_t field, const FieldValue& image) override {
    if (const auto* const range = std::get_if<FieldRange>(&image)) {
      taken.push_back(
          absl::StrCat(field, " image ", range->offset, " ", range->length));
    } else {
      taken.push_back(absl::StrCat(field, " other image"));
    }
    return image_status;
  }

  absl::Status image_status;
  std::vector<std::string> taken;
};

// Decodes a sample that has one field, which is all bytes that were read.
absl::Status Decode(Field field, std::string_view read) {
  const TableDataset table({std::move(field)}, {FieldRange{0, read.size()}});
  Notes notes;
  dataset::ValueBuffers buffers;
  return DecodeFields(
      table, 5,
      {reinterpret_cast<const std::uint8_t*>(read.data()), read.size()},
      buffers, notes);
}

TEST_CASE("The field decoder decodes each kind of field",
          "[sample][field_decoder]") {
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
      // The image's range is longer than the bytes that were read: only the
      // target knows how many of the bytes it needs.
      {FieldRange{7, 1'000}, FieldRange{0, 4}, FieldRange{4, 4},
       FieldRange{8, 2}, FieldRange{10, 1}, FieldRange{11, 2},
       FieldRange{small.size(), npy.size()}});
  Notes notes;
  dataset::ValueBuffers buffers;
  CHECK_THAT(DecodeFields(table, 5,
                          {reinterpret_cast<const std::uint8_t*>(read.data()),
                           read.size()},
                          buffers, notes),
             IsOk());
  // The image comes last, because decoding it uses memory in which other values
  // may lie.
  CHECK(notes.taken ==
        std::vector<std::string>{"1 number 12", "2 bytes cafe", "3 bytes {}",
                                 "4 bytes \x80", "5 elements xy",
                                 "6 array uint8 (3,) abc", "0 image 7 1000"});
}

TEST_CASE("A field that the index knows needs no bytes",
          "[sample][field_decoder]") {
  const TableDataset table(
      {{"label", FieldKind::kLabel}, {"text", FieldKind::kText}},
      {std::int64_t{-3}, std::string_view("a cat")});
  Notes notes;
  dataset::ValueBuffers buffers;
  CHECK_THAT(DecodeFields(table, 5, {}, buffers, notes), IsOk());
  CHECK(notes.taken ==
        std::vector<std::string>{"0 number -3", "1 bytes a cat"});
}

TEST_CASE(
    "Errors of the field decoder name the sample and the object and the field",
    "[sample][field_decoder]") {
  const absl::Status label = Decode({"label", FieldKind::kLabel}, "cat");
  CHECK_THAT(label, HasCode(absl::StatusCode::kDataLoss));
  CAPTURE(label);
  CHECK(absl::StartsWith(label.message(), "sample 5 of table: photo: label: "));
  CHECK_THAT(Decode({"text", FieldKind::kText}, "\x80"),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Decode({"json", FieldKind::kJson}, "\x80"),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Decode({"array", FieldKind::kArray}, "none"),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Decode({"bytes", FieldKind::kBytes}, "\x80"), IsOk());

  const TableDataset text({{"text", FieldKind::kText}},
                          {std::string_view("\x80")});
  Notes notes;
  dataset::ValueBuffers buffers;
  CHECK_THAT(DecodeFields(text, 5, {}, buffers, notes),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK(notes.taken.empty());
}

TEST_CASE("Bytes of a field that were not read are an error",
          "[sample][field_decoder]") {
  const std::vector<std::uint8_t> read(9);
  for (const FieldRange& range :
       {FieldRange{0, 10}, FieldRange{8, 2}, FieldRange{10, 0}}) {
    const TableDataset table({{"bytes", FieldKind::kBytes}}, {range});
    Notes notes;
    dataset::ValueBuffers buffers;
    const absl::Status status = DecodeFields(table, 5, read, buffers, notes);
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK(status.message() ==
          "sample 5 of table: photo: bytes: has only 9 of 10 bytes");
  }
  CHECK(BytesOf(read, {9, 0})->empty());
  CHECK(BytesOf(read, {2, 7})->data() == read.data() + 2);
}

TEST_CASE("The field decoder stops at the target's error",
          "[sample][field_decoder]") {
  const TableDataset table(
      {{"label", FieldKind::kLabel},
       {"image", FieldKind::kImage},
       {"other", FieldKind::kImage}},
      {std::int64_t{1}, FieldRange{0, 0}, FieldRange{0, 0}});
  Notes notes;
  dataset::ValueBuffers buffers;
  notes.image_status = absl::UnimplementedError("is not a JPEG");
  const absl::Status status = DecodeFields(table, 5, {}, buffers, notes);
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnimplemented));
  CHECK(status.message() == "sample 5 of table: photo: is not a JPEG");
  CHECK(notes.taken == std::vector<std::string>{"0 number 1", "1 image 0 0"});
}

// A dataset with a compressed image: a mark, and then the image's bytes in
// reverse. An image without the mark is stored uncompressed.
class CompressedTable final : public dataset::FakeDataset {
 public:
  explicit CompressedTable(FieldKind kind)
      : FakeDataset({.size = 1,
                     .fields = {{"it", kind}},
                     .root = storage::FakeRoot::Make(
                         {.uri = "table", .identity = "table"})}) {}
  dataset::Sample At(std::uint64_t) const override {
    return {.object = "photo", .version = {}, .layout = nullptr};
  }
  void ValuesOf(std::uint64_t, absl::Span<FieldValue> values) const override {
    values[0] = dataset::CompressedRange{{1, 4}};
  }
  absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t, absl::Span<const std::uint8_t> compressed,
      dataset::DecompressionRoom room) const override {
    if (compressed[0] != '!') return compressed;
    FOREBAY_ASSIGN_OR_RETURN(const auto out, room(compressed.size() - 1));
    std::reverse_copy(compressed.begin() + 1, compressed.end(), out.begin());
    return out;
  }
};

TEST_CASE("An image's bytes are read or made or decompressed",
          "[sample][field_decoder]") {
  const CompressedTable table(FieldKind::kImage);
  const auto bytes_of = [&](std::string_view read, const FieldValue& image) {
    std::vector<std::uint8_t> decompressed(3);
    const auto bytes = ImageBytes(
        table, 0,
        {reinterpret_cast<const std::uint8_t*>(read.data()), read.size()},
        image, [&](std::uint64_t size) {
          return absl::MakeSpan(decompressed).first(size);
        });
    return bytes.ok() ? TextOf(*bytes) : std::string(bytes.status().message());
  };
  const std::vector<std::uint8_t> computed = {'a', 'b'};
  CHECK(bytes_of("kitten", FieldRange{1, 3}) == "itt");
  CHECK(bytes_of("kitten", dataset::ComputedBytes{computed}) == "ab");
  CHECK(bytes_of("k!tten", dataset::CompressedRange{{1, 4}}) == "ett");
  CHECK(bytes_of("kitten", dataset::CompressedRange{{1, 4}}) == "itte");
  CHECK(bytes_of("k!tt", dataset::CompressedRange{{1, 4}}) ==
        "has only 4 of 5 bytes");
  CHECK(bytes_of("kitten", std::int64_t{5}) ==
        "is a field that no dataset has");
}

TEST_CASE("Decompressed samples lie in the room that is given for them",
          "[sample][field_decoder]") {
  dataset::ValueBuffers own;
  REQUIRE_THAT(own.AddDecompressed(5), IsOk());
  CHECK(own.bytes() == 5);
  std::vector<std::uint8_t> bytes(7);
  const auto give =
      [&](std::uint64_t size) -> absl::StatusOr<absl::Span<std::uint8_t>> {
    if (size > bytes.size()) return absl::ResourceExhaustedError("is full");
    return absl::MakeSpan(bytes).first(size);
  };
  const dataset::DecompressionRoom room = give;
  dataset::ValueBuffers other(&room);
  CHECK(other.AddDecompressed(5)->data() == bytes.data());
  CHECK(other.AddDecompressed(8).status().message() == "is full");
  CHECK(other.bytes() == 0);
  CHECK(other.Add(3).data() != bytes.data());
  CHECK(other.bytes() == 3);
}

TEST_CASE(
    "A target decompresses images and clips alone are decompressed for it",
    "[sample][field_decoder]") {
  Notes notes;
  dataset::ValueBuffers buffers;
  CHECK_THAT(
      DecodeFields(CompressedTable(FieldKind::kImage), 0, {}, buffers, notes),
      IsOk());
  CHECK(notes.taken == std::vector<std::string>{"0 other image"});
  CHECK_THAT(
      DecodeFields(CompressedTable(FieldKind::kBytes), 0, {}, buffers, notes),
      HasCode(absl::StatusCode::kInternal));
  const std::string read = "kitten";
  const absl::Status decompressed = DecodeFields(
      CompressedTable(FieldKind::kAudio), 0,
      {reinterpret_cast<const std::uint8_t*>(read.data()), read.size()},
      buffers, notes);
  CHECK_THAT(decompressed, IsOk());
  CHECK(notes.taken.back().substr(0, 7) == "0 audio");
}

}  // namespace
}  // namespace forebay::sample
