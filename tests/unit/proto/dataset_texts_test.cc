#include "proto/dataset_texts.h"

#include <string>
#include <utility>
#include <vector>

#include "proto/shm_layout.h"
#include "tests/catch/catch.h"

namespace forebay::proto {
namespace {

TEST_CASE("Fields tell the layout of a folder", "[proto][dataset_texts]") {
  CHECK(LayoutOf({}, "audio") == FolderLayout::kAny);
  CHECK(LayoutOf({"audio"}, "audio") == FolderLayout::kFlat);
  CHECK(LayoutOf({"array", "label"}, "array") == FolderLayout::kClasses);
  for (const Texts& fields :
       {Texts{""}, Texts{"image"}, Texts{"label", "audio"},
        Texts{"audio", "class"}, Texts{"audio", "label", "label"}}) {
    CAPTURE(fields);
    CHECK_FALSE(LayoutOf(fields, "audio").has_value());
  }
}

TEST_CASE("Columns tell the samples of NPZ files", "[proto][dataset_texts]") {
  CHECK(NpzSamplesOf({"x"}, {"rows"}) == 1);
  CHECK(NpzSamplesOf({"x", "y"}, {"files", "files"}) == 2);
  CHECK(NpzSamplesOf({""}, {"classes"}) == 3);
  CHECK_FALSE(NpzSamplesOf({}, {}).has_value());
  CHECK_FALSE(NpzSamplesOf({"x"}, {}).has_value());
  CHECK_FALSE(NpzSamplesOf({"x"}, {"columns"}).has_value());
  CHECK_FALSE(NpzSamplesOf({"x", "y"}, {"rows"}).has_value());
  CHECK_FALSE(NpzSamplesOf({"x", "y"}, {"rows", "files"}).has_value());
}

TEST_CASE("Settings of tokens are read by name", "[proto][dataset_texts]") {
  TokenTexts settings;
  CHECK(ReadTokenTexts(
            {"length", "stride", "dtype", "documents", "tail", "targets"},
            {"8", "4", "uint16", "each", "keep", "1"}, &settings)
            .empty());
  CHECK(settings.length == 8);
  CHECK(settings.stride == 4);
  CHECK(settings.dtype == static_cast<std::uint32_t>(DType::kUint16));
  CHECK(settings.each_document);
  CHECK(settings.keeps_tail);
  CHECK(settings.has_targets);
  CHECK(
      ReadTokenTexts({"documents", "length"}, {"cross", "document"}, &settings)
          .empty());
  CHECK(settings.length == 0);
  CHECK(settings.stride == 0);
  CHECK(settings.dtype == 0);
  CHECK_FALSE(settings.each_document);
  CHECK_FALSE(settings.keeps_tail);
  CHECK_FALSE(settings.has_targets);
}

TEST_CASE("Settings of tokens that are not valid are refused",
          "[proto][dataset_texts]") {
  for (const auto& [names, values] : std::vector<std::pair<Texts, Texts>>{
           {{}, {}},
           {{"length"}, {}},
           {{"length"}, {"0"}},
           {{"length"}, {"-1"}},
           {{"length"}, {"+1"}},
           {{"length"}, {""}},
           {{"length"}, {"18446744073709551617"}},
           {{"length"}, {"8x"}},
           {{"length", "length"}, {"8", "8"}},
           {{"length", "stride"}, {"8", "0"}},
           {{"length", "stride"}, {"document", "1"}},
           {{"length", "dtype"}, {"8", "float32"}},
           {{"length", "documents"}, {"8", "some"}},
           {{"length", "tail"}, {"8", ""}},
           {{"length", "targets"}, {"8", "2"}},
           {{"length", "color"}, {"8", "red"}},
           {{"stride"}, {"8"}}}) {
    CAPTURE(names, values);
    TokenTexts settings;
    CHECK_FALSE(ReadTokenTexts(names, values, &settings).empty());
  }
  TokenTexts settings;
  CHECK(ReadTokenTexts({"length"}, {"8x"}, &settings) ==
        "length cannot be \"8x\": see the settings of tokens");
}

}  // namespace
}  // namespace forebay::proto
