#include "server/dataset/shards/field_choice.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::shards {
namespace {

using tests::HasCode;
using tests::IsOk;

const GroupedSample kSample = {
    "a/7",
    {{"png", 512, 1}, {"cls", 1536, 2}, {"jpg", 2560, 3}, {"a.txt", 3584, 4}}};

std::vector<std::uint64_t> Lengths(const std::vector<std::string>& fields) {
  const auto choice = FieldChoice::Create(fields);
  CHECK_THAT(choice, IsOk());
  std::vector<ChosenMember> chosen;
  choice->Choose(kSample, &chosen);
  std::vector<std::uint64_t> lengths;
  for (const ChosenMember& member : chosen) lengths.push_back(member.length);
  return lengths;
}

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("A field choice orders fields as asked", "[shards][field_choice]") {
  CHECK(Lengths({"jpg", "cls"}) == Numbers({3, 2}));
  CHECK(Lengths({"cls", "a.txt", "jpg", "cls"}) == Numbers({2, 4, 3, 2}));
}

TEST_CASE(
    "A field choice knows a field's kind by the last part of its extension",
    "[shards][field_choice]") {
  using proto::FieldKind;
  const auto choice = FieldChoice::Create(
      {"left.png;left.jpeg", "cls", "a.b.txt", "json", "npy", "png.bin"});
  REQUIRE_THAT(choice, IsOk());
  CHECK(choice->kind(0) == FieldKind::kImage);
  CHECK(choice->kind(1) == FieldKind::kLabel);
  CHECK(choice->kind(2) == FieldKind::kText);
  CHECK(choice->kind(3) == FieldKind::kJson);
  CHECK(choice->kind(4) == FieldKind::kArray);
  CHECK(choice->kind(5) == FieldKind::kBytes);
}

TEST_CASE("A field choice may read TIFF images as arrays",
          "[shards][field_choice]") {
  const auto choice =
      FieldChoice::Create({"left.tif;tiff=array", "tif.gz=array", "tif"});
  REQUIRE_THAT(choice, IsOk());
  CHECK(choice->kind(0) == proto::FieldKind::kArray);
  CHECK(choice->alternatives(0)[0] == "left.tif");
  CHECK(choice->alternatives(0)[1] == "tiff");
  CHECK(choice->kind(1) == proto::FieldKind::kArray);
  CHECK(choice->MayBeGzipped(1));
  CHECK(choice->kind(2) == proto::FieldKind::kImage);
  CHECK(choice->fields()[0] == "left.tif;tiff=array");
  CHECK(FieldChoice::Create({"png=array"}).status().message() ==
        "\"png\" is not an array: TIFF images and .npy files are such");
  CHECK_FALSE(FieldChoice::Create({"=array"}).ok());
}

// webdataset takes the first alternative that exists, wherever its member lies.
TEST_CASE("A field choice takes the first alternative that is there",
          "[shards][field_choice]") {
  CHECK(Lengths({"jpg;jpeg;png"}) == Numbers({3}));
  CHECK(Lengths({"jpeg;png;jpg"}) == Numbers({1}));
  const auto choice = FieldChoice::Create({"jpeg;png;jpg"});
  REQUIRE_THAT(choice, IsOk());
  std::vector<ChosenMember> chosen;
  choice->Choose(kSample, &chosen);
  REQUIRE(chosen.size() == 1u);
  CHECK(chosen[0].alternative == 1u);
  CHECK(choice->alternatives(0)[1] == "png");
}

TEST_CASE("A field choice names the field that a sample lacks",
          "[shards][field_choice]") {
  const auto choice = FieldChoice::Create({"jpg", "json;jsn"});
  REQUIRE_THAT(choice, IsOk());
  std::vector<ChosenMember> chosen;
  choice->Choose(kSample, &chosen);
  REQUIRE(chosen.size() == 2u);
  CHECK(chosen[0].is_there());
  CHECK_FALSE(chosen[1].is_there());
  CHECK_FALSE(chosen[1].is_link);
  const absl::Status status = choice->Lacks("b/1.tar", kSample, 1);
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(status.message() ==
        "b/1.tar: sample a/7 has no field json;jsn; it has png, cls, jpg, "
        "a.txt");
}

TEST_CASE("A field choice names a link that stands for a missing field",
          "[shards][field_choice]") {
  const auto choice = FieldChoice::Create({"png", "json;jsn"});
  REQUIRE_THAT(choice, IsOk());
  GroupedSample sample = kSample;
  sample.links = {"txt", "png", "jsn"};
  std::vector<ChosenMember> chosen;
  choice->Choose(sample, &chosen);
  REQUIRE(chosen.size() == 2u);
  CHECK(chosen[0].is_there());
  CHECK_FALSE(chosen[0].is_link);
  CHECK_FALSE(chosen[1].is_there());
  CHECK(chosen[1].is_link);
  CHECK(choice->Lacks("b/1.tar", sample, 1).message() ==
        "b/1.tar: sample a/7 has no field json;jsn: a/7.jsn is a link, which "
        "is not read: pack the file itself (tar --dereference "
        "--hard-dereference)");
}

TEST_CASE("A field choice refuses malformed fields", "[shards][field_choice]") {
  const std::vector<std::vector<std::string>> refused = {
      {},
      {""},
      {"jpg", ""},
      {"jpg;"},
      {";"},
      {"a/jpg"},
      {"__key__"},
      {"jpg;__x"},
      {std::string(2000, 'a')},
      {std::string(32, 'a')},
      {"jpg;cls"},
      std::vector<std::string>(16, "jpg")};
  for (const auto& fields : refused) {
    CHECK_THAT(FieldChoice::Create(fields),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("A field choice accepts extensions with blanks",
          "[shards][field_choice]") {
  const auto choice = FieldChoice::Create({"0 (clean version).txt", "cls"});
  REQUIRE_THAT(choice, IsOk());
  CHECK(choice->kind(0) == proto::FieldKind::kText);
}

TEST_CASE("A field choice accepts members that are compressed",
          "[shards][field_choice]") {
  const auto choice =
      FieldChoice::Create({"npy;npy.gz", "cls", "json.gz", "gz"});
  REQUIRE_THAT(choice, IsOk());
  CHECK(choice->any_gzipped());
  CHECK(choice->kind(0) == proto::FieldKind::kArray);
  CHECK(choice->kind(3) == proto::FieldKind::kBytes);
  CHECK(choice->MayBeGzipped(0));
  CHECK_FALSE(choice->IsGzipped(0, 0));
  CHECK(choice->IsGzipped(0, 1));
  CHECK_FALSE(choice->MayBeGzipped(1));
  CHECK_FALSE(FieldChoice::Create({"jpg", "cls"})->any_gzipped());
  CHECK_THAT(FieldChoice::Create({"jpg.gz", "cls.gz"}), IsOk());
  CHECK_THAT(FieldChoice::Create({"jpg", "mask.png.gz"}),
             HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::dataset::shards
