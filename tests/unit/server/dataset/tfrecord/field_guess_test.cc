#include "server/dataset/tfrecord/field_guess.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

using tests::ElementsAre;

const std::string kJpeg = "\xff\xd8\xff...";

FieldGuess Guess(const std::vector<std::string>& payloads) {
  std::vector<absl::Span<const std::uint8_t>> spans;
  for (const std::string& payload : payloads) spans.push_back(AsBytes(payload));
  return GuessFields(spans);
}

// Returns the guessed fields with their types, and then the features that are
// left out.
std::vector<std::string> Said(const std::vector<std::string>& payloads) {
  const FieldGuess guess = Guess(payloads);
  std::vector<std::string> said;
  for (const TfrecordField& field : guess.fields.fields())
    said.push_back(field.name + " " + TextOf(field.type));
  said.insert(said.end(), guess.left_out.begin(), guess.left_out.end());
  return said;
}

TEST_CASE(
    "A field guess turns features into fields in the order of their names",
    "[tfrecord][field_guess]") {
  CHECK_THAT(
      Said({Example({{"text", BytesFeature({"caf\xc3\xa9\n"})},
                     {"label", Int64Feature({3})},
                     {"score", FloatFeature({3})},
                     {"ids", Int64Feature({1, 2})},
                     {"image", BytesFeature({kJpeg})},
                     {"raw", BytesFeature({std::string("a\0b", 3)})},
                     {"latin", BytesFeature({"caf\xe9"})},
                     {"empty", BytesFeature({""})}})}),
      ElementsAre("empty bytes", "ids int64[n]", "image image", "label int64",
                  "latin bytes", "raw bytes", "score float32", "text text"));
}

TEST_CASE("A field guess gives any length to lists that differ in length",
          "[tfrecord][field_guess]") {
  CHECK_THAT(
      Said({Example({{"a", Int64Feature({1})},
                     {"b", FloatFeature({1})},
                     {"c", FloatFeature({1, 2})},
                     {"d", Int64Feature({1})}}),
            Example({{"a", Int64Feature({})},
                     {"b", FloatFeature({1, 2})},
                     {"c", FloatFeature({1, 2})}})}),
      ElementsAre("a int64[n]", "b float32[n]", "c float32[n]", "d int64[n]"));
}

TEST_CASE("A field guess makes steps of one length rows",
          "[tfrecord][field_guess]") {
  CHECK_THAT(Said({SequenceExample(
                 {{"label", Int64Feature({3})}},
                 {{"frames",
                   FeatureList({FloatFeature({1, 2}), FloatFeature({3, 4})})},
                  {"one", FeatureList({Int64Feature({1})})},
                  {"uneven",
                   FeatureList({Int64Feature({1}), Int64Feature({1, 2})})}})}),
             ElementsAre("frames float32[n,2]", "label int64", "one int64[n]",
                         "uneven int64[n]"));
}

TEST_CASE("A field guess does not rest on one record alone",
          "[tfrecord][field_guess]") {
  CHECK_THAT(Said({Example({{"text", BytesFeature({""})}}),
                   Example({{"text", BytesFeature({"a"})}})}),
             ElementsAre("text text"));
  CHECK_THAT(
      Said({SequenceExample(
          {{"a", Int64Feature({1})}},
          {{"mixed", FeatureList({FloatFeature({1}), Int64Feature({2})})}})}),
      ElementsAre("a int64", "feature mixed has values of several types"));
}

TEST_CASE("A field guess counts many left-out features in one sentence",
          "[tfrecord][field_guess]") {
  Named many;
  for (int i = 10'000; i < 20'000; ++i)
    many.emplace_back(std::string(100, 'x') + std::to_string(i),
                      Int64Feature({1}));
  const std::vector<std::string> said = Said({Example(many)});
  REQUIRE(said.size() == 1 + 16 + 1);
  CHECK(said.back() == "984 features more");
  CHECK(said[1].size() < 200);
}

TEST_CASE("A field guess makes only one feature an image",
          "[tfrecord][field_guess]") {
  CHECK_THAT(Said({Example({{"left", BytesFeature({kJpeg})},
                            {"right", BytesFeature({kJpeg})}})}),
             ElementsAre("left image", "right bytes"));
}

TEST_CASE("A field guess says what is left out", "[tfrecord][field_guess]") {
  const std::string long_name(40, 'x');
  CHECK_THAT(
      Said({Example({{"a", Int64Feature({1})},
                     {"mixed", Int64Feature({1})},
                     {"several", BytesFeature({"a", "b"})},
                     {"unset", ""},
                     {long_name, Int64Feature({1})}}),
            Example({{"a", Int64Feature({1})}, {"mixed", FloatFeature({1})}})}),
      ElementsAre(
          "a int64", "feature mixed has values of several types",
          "feature several is a list of bytes, or lacks in some records",
          "feature unset has no values",
          "feature " + long_name + " has a name that is not of 1 to 31 bytes"));
  Named many;
  for (int i = 10; i < 26; ++i)
    many.emplace_back(std::to_string(i), Int64Feature({1}));
  CHECK(Said({Example(many)}).back() == "feature 25 is one more than 15");
}

TEST_CASE("A field guess makes payloads other than examples one field",
          "[tfrecord][field_guess]") {
  CHECK_THAT(Said({"some text", "more"}), ElementsAre("record bytes"));
  CHECK_THAT(Said({kJpeg, "\x89PNG\r\n\x1a\n"}), ElementsAre("record image"));
  CHECK_THAT(Said({kJpeg, "text"}), ElementsAre("record bytes"));
  CHECK_THAT(Said({Example({{"a", Int64Feature({1})}}), "\x0a\x7f"}),
             ElementsAre("record bytes"));
  CHECK_THAT(Said({""}), ElementsAre("record bytes"));
  CHECK_THAT(Said({}), ElementsAre("record bytes"));
  CHECK_THAT(Said({Example({{"several", BytesFeature({"a", "b"})}})}),
             ElementsAre("record bytes",
                         "feature several is a list of bytes, or lacks in "
                         "some records"));
  CHECK(Guess({"some text"}).fields.is_payload());
}

}  // namespace
}  // namespace forebay::dataset::tfrecord
