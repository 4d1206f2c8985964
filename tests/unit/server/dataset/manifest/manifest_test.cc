#include "server/dataset/manifest/manifest.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/base/no_threads.h"

namespace forebay::dataset::manifest {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kCsv[] =
    "id,path,class,text,count\n"
    "1,a/1.jpg,dog,\"one, two\",10\n"
    "2,b.jpg,cat,,-3\n"
    "3,/data/c.jpg,dog,drei,7\n";
constexpr char kJson[] =
    "{\"path\": \"a/1.jpg\", \"class\": \"dog\", \"text\": \"one, two\", "
    "\"count\": 10}\n\n"
    "{\"count\": -3, \"text\": \"\", \"class\": \"cat\", \"path\": \"b.jpg\"}\n"
    "{\"path\": \"c.jpg\", \"class\": \"dog\", \"text\": \"drei\", "
    "\"count\": 7, \"more\": [1.5]}";

// Every image is as long as its path.
absl::StatusOr<storage::ObjectVersion> Stat(const std::string& path) {
  if (path.find("gone") != path.npos) {
    return absl::NotFoundError(path + ": there is no such file or directory");
  }
  return storage::ObjectVersion{path.size(), 5};
}

absl::StatusOr<std::shared_ptr<const Manifest>> Read(
    std::string_view text, const FieldColumns& fields,
    TableFormat format = TableFormat::kCsv, const std::string& folder = "") {
  base::WorkingMemory memory(base::AmpleBudget(), "a table");
  ManifestOptions options;
  options.memory = &memory;
  options.format = format;
  options.root = "/data";
  options.folder = folder;
  options.threads = 3;
  return Manifest::Read(text, fields, options, Stat);
}

const FieldColumns kFields = {{"caption", "image", "label", "count"},
                              {"text", "path", "class", "count"}};

std::string ErrorOf(std::string_view text,
                    TableFormat format = TableFormat::kCsv) {
  const auto read = Read(text, {{"image", "label"}, {"path", "class"}}, format);
  return read.ok() ? "accepted" : std::string(read.status().message());
}

TEST(ManifestTest, ReadsBothFormatsAlike) {
  const auto csv = Read(kCsv, kFields);
  const auto json = Read(kJson, kFields, TableFormat::kJsonLines);
  ASSERT_TRUE(csv.ok()) << csv.status();
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*csv)->version(), (*json)->version());
  for (const auto& manifest : {*csv, *json}) {
    ASSERT_EQ(manifest->size(), 3u);
    EXPECT_THAT(manifest->classes(), ElementsAre("cat", "dog"));
    ASSERT_EQ(manifest->fields().size(), 4u);
    EXPECT_EQ(manifest->fields()[0].name, "caption");
    EXPECT_EQ(manifest->fields()[0].kind, proto::FieldKind::kText);
    EXPECT_EQ(manifest->fields()[0].longest, 8u);
    EXPECT_EQ(manifest->fields()[1].kind, proto::FieldKind::kImage);
    EXPECT_EQ(manifest->fields()[2].kind, proto::FieldKind::kLabel);
    EXPECT_EQ(manifest->fields()[3].kind, proto::FieldKind::kLabel);
    EXPECT_EQ(manifest->largest_file(), 7u);
    const Sample sample = manifest->At(2);
    EXPECT_EQ(sample.object, "c.jpg");
    EXPECT_EQ(sample.version.size, 5u);
    EXPECT_EQ(sample.length, 5u);
    std::vector<FieldValue> values(4);
    manifest->ValuesOf(0, absl::MakeSpan(values));
    EXPECT_EQ(std::get<std::string_view>(values[0]), "one, two");
    EXPECT_EQ(std::get<FieldRange>(values[1]).length, 7u);
    EXPECT_EQ(std::get<std::int64_t>(values[2]), 1);
    EXPECT_EQ(std::get<std::int64_t>(values[3]), 10);
    manifest->ValuesOf(1, absl::MakeSpan(values));
    EXPECT_EQ(std::get<std::string_view>(values[0]), "");
    EXPECT_EQ(std::get<std::int64_t>(values[3]), -3);
  }
}

TEST(ManifestTest, FilesAreImagesOrAudio) {
  const auto audio = Read(kCsv, {{"audio", "image_text"}, {"path", "text"}});
  ASSERT_TRUE(audio.ok()) << audio.status();
  const Field& content = (*audio)->fields()[0];
  EXPECT_EQ(content.kind, proto::FieldKind::kAudio);
  EXPECT_EQ(content.longest, 7u);
  const auto images = Read(kCsv, {{"image", "image_text"}, {"path", "text"}});
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_NE((*audio)->version(), (*images)->version());
  for (const FieldColumns& fields :
       {FieldColumns{{"image", "audio"}, {"path", "text"}},
        FieldColumns{{"sound"}, {"path"}}}) {
    EXPECT_EQ(Read(kCsv, fields).status().message(),
              "one field of a manifest is image or audio, whose column has the "
              "paths");
  }
}

TEST(ManifestTest, IntegersAreLabelsAsTheyAre) {
  const auto manifest = Read(kCsv, {{"image", "label"}, {"path", "count"}});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT((*manifest)->classes(), IsEmpty());
  std::vector<FieldValue> values(2);
  (*manifest)->ValuesOf(1, absl::MakeSpan(values));
  EXPECT_EQ(std::get<std::int64_t>(values[1]), -3);
}

TEST(ManifestTest, IntegersWrittenAsFloatsAreLabelsAsTheyAre) {
  const FieldColumns fields = {{"image", "label"}, {"path", "class"}};
  std::string csv = "path,class\n";
  std::string json;
  for (int i = 0; i < 11; ++i) {
    absl::StrAppend(&csv, i, ",", 2 * i, ".0\n");
    absl::StrAppend(&json, "{\"path\": \"", i, "\", \"class\": ", 2 * i,
                    i % 2 == 0 ? ".0}\n" : "}\n");
  }
  for (const auto& manifest :
       {Read(csv, fields), Read(json, fields, TableFormat::kJsonLines)}) {
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    EXPECT_THAT((*manifest)->classes(), IsEmpty());
    std::vector<FieldValue> values(2);
    for (int i = 0; i < 11; ++i) {
      (*manifest)->ValuesOf(i, absl::MakeSpan(values));
      EXPECT_EQ(std::get<std::int64_t>(values[1]), 2 * i);
    }
  }
}

TEST(ManifestTest, TellsWhetherClassNamesAreNumbers) {
  const FieldColumns fields = {{"image", "label"}, {"path", "class"}};
  const auto numeric = [&](const std::string& cells, TableFormat format) {
    const auto manifest = Read(cells, fields, format);
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return (*manifest)->has_numeric_classes();
  };
  const auto csv = [&](const std::string& one, const std::string& other) {
    return numeric("path,class\na," + one + "\nb," + other + "\n",
                   TableFormat::kCsv);
  };
  EXPECT_TRUE(csv("0.5", "1"));
  EXPECT_TRUE(csv("007", "1e3"));
  EXPECT_TRUE(csv("0.5", ""));
  EXPECT_TRUE(csv("1", "nan"));
  EXPECT_FALSE(csv("", ""));
  EXPECT_FALSE(csv("1", "dog"));
  EXPECT_FALSE(csv("1", "2"));
  EXPECT_TRUE(
      numeric("{\"path\": \"a\", \"class\": \"10\"}\n"
              "{\"path\": \"b\", \"class\": \"9\"}",
              TableFormat::kJsonLines));
}

TEST(ManifestTest, PathsAreRelativeToTheManifest) {
  const auto manifest =
      Read("path\na.jpg\n/data//x/b.jpg\n1\n", {{"image"}, {"path"}},
           TableFormat::kCsv, "lists/");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ((*manifest)->At(0).object, "lists/a.jpg");
  EXPECT_EQ((*manifest)->At(1).object, "x/b.jpg");
  EXPECT_EQ((*manifest)->At(2).object, "lists/1");
}

TEST(ManifestTest, VersionsDifferWithEveryCell) {
  const FieldColumns fields = {{"image", "label"}, {"path", "class"}};
  const auto version = [&](std::string_view text) {
    return (*Read(text, fields))->version();
  };
  const Version first = version("path,class\na,x\nb,y\n");
  EXPECT_EQ(version("class,path\nx,a\ny,b\n"), first);
  EXPECT_NE(version("path,class\na,x\nc,y\n"), first);
  EXPECT_NE(version("path,class\na,y\nb,x\n"), first);
  EXPECT_NE(version("path,class\na,x\nb,z\n"), first);
  EXPECT_NE(version("path,class\na,0\nb,1\n"), first);
}

TEST(ManifestTest, ErrorsNameTheLine) {
  EXPECT_EQ(ErrorOf(""), "has no line of column names");
  EXPECT_EQ(ErrorOf("path,class\n"), "has no rows");
  EXPECT_EQ(ErrorOf("path,klass\n"),
            "line 1: there is no column class; there is path, klass");
  EXPECT_EQ(ErrorOf("path,class,class\n"),
            "line 1: two columns are called class");
  EXPECT_EQ(ErrorOf("path,class\na,b\n\nc\n"),
            "line 4: has 1 field, but there are 2 columns");
  EXPECT_EQ(ErrorOf("path,class\n\"a\nb\",c\nd,e,f\n"),
            "line 4: has 3 fields, but there are 2 columns");
  EXPECT_EQ(ErrorOf("path,class\na,b\"\n"),
            "line 2: a quote is in a field that does not begin with one");
  EXPECT_EQ(ErrorOf("path,class\na,b\n,c\n"), "line 3: the path is empty");
  EXPECT_EQ(
      ErrorOf("path,class\n/database/a,b\n"),
      "line 2: /database/a: is not in the manifest's folder, which has to "
      "hold all of its files");
  EXPECT_EQ(ErrorOf("path,class\n/data/,b\n"),
            "line 2: /data/: is not in the manifest's folder, which has to "
            "hold all of its files");
  EXPECT_EQ(ErrorOf("path,class\na,b\ngone.jpg,c\ngone too,c\n"),
            "line 3: gone.jpg: there is no such file or directory");
  EXPECT_EQ(ErrorOf("path,class\n\"a\nb\",0.0\nc,\nd,2.0\ne,\n"),
            "line 4: class is empty, but an integer in other rows");
  EXPECT_EQ(ErrorOf("path,class\na,0\nb,2\nc,5\n"), "accepted");
}

TEST(ManifestTest, ErrorsOfJsonNameTheLine) {
  const auto error = [](std::string_view text) {
    return ErrorOf(text, TableFormat::kJsonLines);
  };
  const std::string good = "{\"path\": \"a\", \"class\": 1}\n";
  EXPECT_EQ(error(good), "accepted");
  EXPECT_EQ(error("\n \r\n"), "has no rows");
  EXPECT_EQ(error(good + "{\n"), "line 2: is no JSON object");
  EXPECT_EQ(error(good + "[1]"), "line 2: is no JSON object");
  EXPECT_EQ(error(good + good + "{\"path\": \"\xff\"}"),
            "line 3: is no JSON object");
  EXPECT_EQ(error(good + "{\"path\": \"a\"}"), "line 2: has no class");
  EXPECT_EQ(error("{\"path\": \"a\", \"class\": 1.5}"),
            "line 1: class is neither a text nor an integer");
  EXPECT_EQ(error("{\"path\": \"a\", \"class\": true}"),
            "line 1: class is neither a text nor an integer");
  EXPECT_EQ(error("{\"path\": \"a\", \"class\": null}"),
            "line 1: class is neither a text nor an integer");
  EXPECT_EQ(error("{\"path\": \"a\", \"class\": 9223372036854775808}"),
            "line 1: class is an integer of more than 64 bits");
  EXPECT_EQ(error(good + "{\"path\": \"a\", \"class\": \"x\"}"),
            "line 2: class: is a text, but an integer in rows before");
  EXPECT_EQ(error(good + "{\"path\": \"a\", \"class\": \"\"}"),
            "line 2: class: is a text, but an integer in rows before");
  EXPECT_EQ(error(good + "{\"path\": \"a\", \"class\": null}"),
            "line 2: class is neither a text nor an integer");
  EXPECT_EQ(error("{\"path\": 7, \"class\": 1}"), "line 1: path is no path");
  EXPECT_EQ(error("{\"path\": \"a\\u0000b\", \"class\": 1}"),
            "line 1: the path has a zero byte in it");
}

TEST(ManifestTest, RefusesJsonThatNestsDeep) {
  const auto row = [](std::size_t depth) {
    return R"({"path": "a", "class": 1, "text": )" + std::string(depth, '[') +
           std::string(depth, ']') + "}\n";
  };
  const FieldColumns fields = {{"image", "caption"}, {"path", "text"}};
  const auto error = [&](const std::string& text) {
    return std::string(
        Read(text, fields, TableFormat::kJsonLines).status().message());
  };
  EXPECT_EQ(error(row(1)), "line 1: text is neither a text nor an integer");
  // Deep enough that a recursive copy of it ends the program.
  EXPECT_EQ(error(row(1'000'000)), "line 1: is nested more than 64 deep");
  // The same in a column that was not asked for.
  EXPECT_EQ(ErrorOf(row(63), TableFormat::kJsonLines), "accepted");
  EXPECT_EQ(ErrorOf(row(63) + row(64), TableFormat::kJsonLines),
            "line 2: is nested more than 64 deep");
}

TEST(ManifestTest, RefusesFieldsThatAreNone) {
  const std::vector<FieldColumns> refused = {
      {{}, {}},
      {{"image"}, {}},
      {{"label"}, {"class"}},
      {{"image", "image"}, {"path", "path"}},
      {{"image", ""}, {"path", "class"}},
      {{"image", std::string(32, 'x')}, {"path", "class"}},
      {std::vector<std::string>(16, "x"), std::vector<std::string>(16, "x")}};
  for (const FieldColumns& fields : refused) {
    EXPECT_EQ(Read(kCsv, fields).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(ManifestTest, ManagesWithoutThreads) {
  std::string text = "path\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, i, "\n");
  const base::NoThreads none;
  const auto manifest = Read(text, {{"image"}, {"path"}});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ((*manifest)->size(), 1000u);
}

TEST(ManifestTest, HoldsItsPartOfTheBudgetAndStopsWhereThatEnds) {
  std::string text = "path,class\n";
  for (int i = 0; i < 10'000; ++i)
    absl::StrAppend(&text, "a.jpg,", std::string(40, 'x'), i % 100, "\n");
  base::MemoryBudget budget(std::uint64_t{4} << 20);
  const auto read = [&] {
    base::WorkingMemory memory(&budget, "the table");
    ManifestOptions options;
    options.memory = &memory;
    return Manifest::Read(text, {{"image", "label"}, {"path", "class"}},
                          options, Stat);
  };
  {
    const auto manifest = read();
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    EXPECT_GE(budget.used(), 10'000 * (5 + 8 + 8 + 16));
    EXPECT_LT(budget.used(), 10'000 * 80);
  }
  EXPECT_EQ(budget.used(), 0);
  const auto others = budget.Reserve(budget.limit() - 500'000, "others");
  EXPECT_EQ(read().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ManifestTest, CountsARowOfAnyLength) {
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  for (const std::string& text :
       {"path,class\na," + std::string(300'000, 'x'),
        "path" + std::string(300'000, ',') + "class\n",
        "path,class\na,\"" + std::string(300'000, 'x') + "\""}) {
    base::WorkingMemory memory(&budget, "the table");
    ManifestOptions options;
    options.memory = &memory;
    const auto read = Manifest::Read(
        text, {{"image", "label"}, {"path", "class"}}, options, Stat);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(ManifestTest, Stops) {
  std::stop_source stop;
  base::WorkingMemory memory(base::AmpleBudget(), "a table");
  ManifestOptions options;
  options.memory = &memory;
  options.stop = stop.get_token();
  int calls = 0;
  const auto read = Manifest::Read("path\na\nb\nc\n", {{"image"}, {"path"}},
                                   options, [&](const std::string& path) {
                                     if (++calls == 2) stop.request_stop();
                                     return Stat(path);
                                   });
  EXPECT_EQ(read.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace forebay::dataset::manifest
