#include "server/dataset/shards/field_choice.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::dataset::shards {
namespace {

const GroupedSample kSample = {
    "a/7",
    {{"png", 512, 1}, {"cls", 1536, 2}, {"jpg", 2560, 3}, {"a.txt", 3584, 4}}};

std::vector<std::uint64_t> Lengths(const std::vector<std::string>& fields) {
  const auto choice = FieldChoice::Create(fields);
  EXPECT_TRUE(choice.ok()) << choice.status();
  std::vector<ChosenMember> chosen;
  choice->Choose(kSample, &chosen);
  std::vector<std::uint64_t> lengths;
  for (const ChosenMember& member : chosen) lengths.push_back(member.length);
  return lengths;
}

using Numbers = std::vector<std::uint64_t>;

TEST(FieldChoiceTest, OrdersAsAsked) {
  EXPECT_EQ(Lengths({"jpg", "cls"}), Numbers({3, 2}));
  EXPECT_EQ(Lengths({"cls", "a.txt", "jpg", "cls"}), Numbers({2, 4, 3, 2}));
}

TEST(FieldChoiceTest, KnowsKindsByTheLastPart) {
  using proto::FieldKind;
  const auto choice = FieldChoice::Create(
      {"left.png;left.jpeg", "cls", "a.b.txt", "json", "npy", "png.bin"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kind(0), FieldKind::kImage);
  EXPECT_EQ(choice->kind(1), FieldKind::kLabel);
  EXPECT_EQ(choice->kind(2), FieldKind::kText);
  EXPECT_EQ(choice->kind(3), FieldKind::kJson);
  EXPECT_EQ(choice->kind(4), FieldKind::kArray);
  EXPECT_EQ(choice->kind(5), FieldKind::kBytes);
}

TEST(FieldChoiceTest, TiffImagesMayBeArrays) {
  const auto choice =
      FieldChoice::Create({"left.tif;tiff=array", "tif.gz=array", "tif"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kind(0), proto::FieldKind::kArray);
  EXPECT_EQ(choice->alternatives(0)[0], "left.tif");
  EXPECT_EQ(choice->alternatives(0)[1], "tiff");
  EXPECT_EQ(choice->kind(1), proto::FieldKind::kArray);
  EXPECT_TRUE(choice->MayBeGzipped(1));
  EXPECT_EQ(choice->kind(2), proto::FieldKind::kImage);
  EXPECT_EQ(choice->fields()[0], "left.tif;tiff=array");
  EXPECT_EQ(FieldChoice::Create({"png=array"}).status().message(),
            "\"png\" is no array: TIFF images and .npy files are such");
  EXPECT_FALSE(FieldChoice::Create({"=array"}).ok());
}

// webdataset takes the first of the alternatives, wherever it lies.
TEST(FieldChoiceTest, TakesTheFirstAlternativeThatIsThere) {
  EXPECT_EQ(Lengths({"jpg;jpeg;png"}), Numbers({3}));
  EXPECT_EQ(Lengths({"jpeg;png;jpg"}), Numbers({1}));
  const auto choice = FieldChoice::Create({"jpeg;png;jpg"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  std::vector<ChosenMember> chosen;
  choice->Choose(kSample, &chosen);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].alternative, 1u);
  EXPECT_EQ(choice->alternatives(0)[1], "png");
}

TEST(FieldChoiceTest, NamesWhatLacks) {
  const auto choice = FieldChoice::Create({"jpg", "json;jsn"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  std::vector<ChosenMember> chosen;
  choice->Choose(kSample, &chosen);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_TRUE(chosen[0].is_there());
  EXPECT_FALSE(chosen[1].is_there());
  EXPECT_FALSE(chosen[1].is_link);
  const absl::Status status = choice->Lacks("b/1.tar", kSample, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "b/1.tar: sample a/7 has no field json;jsn; it has png, cls, jpg, "
            "a.txt");
}

TEST(FieldChoiceTest, NamesALinkThatStandsForWhatLacks) {
  const auto choice = FieldChoice::Create({"png", "json;jsn"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  GroupedSample sample = kSample;
  sample.links = {"txt", "png", "jsn"};
  std::vector<ChosenMember> chosen;
  choice->Choose(sample, &chosen);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_TRUE(chosen[0].is_there());
  EXPECT_FALSE(chosen[0].is_link);
  EXPECT_FALSE(chosen[1].is_there());
  EXPECT_TRUE(chosen[1].is_link);
  EXPECT_EQ(
      choice->Lacks("b/1.tar", sample, 1).message(),
      "b/1.tar: sample a/7 has no field json;jsn: a/7.jsn is a link, which "
      "is not read: pack the file itself (tar --dereference "
      "--hard-dereference)");
}

TEST(FieldChoiceTest, RefusesMalformedFields) {
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
    EXPECT_EQ(FieldChoice::Create(fields).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(FieldChoiceTest, ExtensionsMayHaveBlanks) {
  const auto choice = FieldChoice::Create({"0 (clean version).txt", "cls"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kind(0), proto::FieldKind::kText);
}

TEST(FieldChoiceTest, MembersMayBeCompressed) {
  const auto choice =
      FieldChoice::Create({"npy;npy.gz", "cls", "json.gz", "gz"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_TRUE(choice->any_gzipped());
  EXPECT_EQ(choice->kind(0), proto::FieldKind::kArray);
  EXPECT_EQ(choice->kind(3), proto::FieldKind::kBytes);
  EXPECT_TRUE(choice->MayBeGzipped(0));
  EXPECT_FALSE(choice->IsGzipped(0, 0));
  EXPECT_TRUE(choice->IsGzipped(0, 1));
  EXPECT_FALSE(choice->MayBeGzipped(1));
  EXPECT_FALSE(FieldChoice::Create({"jpg", "cls"})->any_gzipped());
  EXPECT_TRUE(FieldChoice::Create({"jpg.gz", "cls.gz"}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      FieldChoice::Create({"jpg", "mask.png.gz"}).status()));
}

}  // namespace
}  // namespace forebay::dataset::shards
