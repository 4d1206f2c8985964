#include "server/dataset/manifest/manifest.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/base/no_threads.h"

namespace forebay::dataset::manifest {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

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

// Returns the version of an image, which is as long as its path.
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

TEST_CASE("A manifest reads both of its formats alike", "[manifest]") {
  const auto csv = Read(kCsv, kFields);
  const auto json = Read(kJson, kFields, TableFormat::kJsonLines);
  REQUIRE_THAT(csv, IsOk());
  REQUIRE_THAT(json, IsOk());
  CHECK((*csv)->version() == (*json)->version());
  for (const auto& manifest : {*csv, *json}) {
    REQUIRE(manifest->size() == 3u);
    CHECK_THAT(manifest->classes(), ElementsAre("cat", "dog"));
    REQUIRE(manifest->fields().size() == 4u);
    CHECK(manifest->fields()[0].name == "caption");
    CHECK(manifest->fields()[0].kind == proto::FieldKind::kText);
    CHECK(manifest->fields()[0].longest == 8u);
    CHECK(manifest->fields()[1].kind == proto::FieldKind::kImage);
    CHECK(manifest->fields()[2].kind == proto::FieldKind::kLabel);
    CHECK(manifest->fields()[3].kind == proto::FieldKind::kLabel);
    CHECK(manifest->largest_file() == 7u);
    const Sample sample = manifest->At(2);
    CHECK(sample.object == "c.jpg");
    CHECK(sample.version.size == 5u);
    CHECK(sample.length == 5u);
    std::vector<FieldValue> values(4);
    manifest->ValuesOf(0, absl::MakeSpan(values));
    CHECK(std::get<std::string_view>(values[0]) == "one, two");
    CHECK(std::get<FieldRange>(values[1]).length == 7u);
    CHECK(std::get<std::int64_t>(values[2]) == 1);
    CHECK(std::get<std::int64_t>(values[3]) == 10);
    manifest->ValuesOf(1, absl::MakeSpan(values));
    CHECK(std::get<std::string_view>(values[0]).empty());
    CHECK(std::get<std::int64_t>(values[3]) == -3);
  }
}

TEST_CASE("A manifest's files are images or audio", "[manifest]") {
  const auto audio = Read(kCsv, {{"audio", "image_text"}, {"path", "text"}});
  REQUIRE_THAT(audio, IsOk());
  const Field& content = (*audio)->fields()[0];
  CHECK(content.kind == proto::FieldKind::kAudio);
  CHECK(content.longest == 7u);
  const auto images = Read(kCsv, {{"image", "image_text"}, {"path", "text"}});
  REQUIRE_THAT(images, IsOk());
  CHECK((*audio)->version() != (*images)->version());
  for (const FieldColumns& fields :
       {FieldColumns{{"image", "audio"}, {"path", "text"}},
        FieldColumns{{"sound"}, {"path"}}}) {
    CHECK(Read(kCsv, fields).status().message() ==
          "one field of a manifest is image or audio, whose column has the "
          "paths");
  }
}

TEST_CASE("A manifest's integers are labels as they are", "[manifest]") {
  const auto manifest = Read(kCsv, {{"image", "label"}, {"path", "count"}});
  REQUIRE_THAT(manifest, IsOk());
  CHECK_THAT((*manifest)->classes(), IsEmpty());
  std::vector<FieldValue> values(2);
  (*manifest)->ValuesOf(1, absl::MakeSpan(values));
  CHECK(std::get<std::int64_t>(values[1]) == -3);
}

TEST_CASE(
    "A manifest's integers that are written as floats are labels as they are",
    "[manifest]") {
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
    REQUIRE_THAT(manifest, IsOk());
    CHECK_THAT((*manifest)->classes(), IsEmpty());
    std::vector<FieldValue> values(2);
    for (int i = 0; i < 11; ++i) {
      (*manifest)->ValuesOf(i, absl::MakeSpan(values));
      CHECK(std::get<std::int64_t>(values[1]) == 2 * i);
    }
  }
}

TEST_CASE("A manifest tells whether its class names are numbers",
          "[manifest]") {
  const FieldColumns fields = {{"image", "label"}, {"path", "class"}};
  const auto numeric = [&](const std::string& cells, TableFormat format) {
    const auto manifest = Read(cells, fields, format);
    CHECK_THAT(manifest, IsOk());
    return (*manifest)->has_numeric_classes();
  };
  const auto csv = [&](const std::string& one, const std::string& other) {
    return numeric("path,class\na," + one + "\nb," + other + "\n",
                   TableFormat::kCsv);
  };
  CHECK(csv("0.5", "1"));
  CHECK(csv("007", "1e3"));
  CHECK(csv("0.5", ""));
  CHECK(csv("1", "nan"));
  CHECK_FALSE(csv("", ""));
  CHECK_FALSE(csv("1", "dog"));
  CHECK_FALSE(csv("1", "2"));
  CHECK(
      numeric("{\"path\": \"a\", \"class\": \"10\"}\n"
              "{\"path\": \"b\", \"class\": \"9\"}",
              TableFormat::kJsonLines));
}

TEST_CASE("A manifest's paths are relative to the manifest", "[manifest]") {
  const auto manifest =
      Read("path\na.jpg\n/data//x/b.jpg\n1\n", {{"image"}, {"path"}},
           TableFormat::kCsv, "lists/");
  REQUIRE_THAT(manifest, IsOk());
  CHECK((*manifest)->At(0).object == "lists/a.jpg");
  CHECK((*manifest)->At(1).object == "x/b.jpg");
  CHECK((*manifest)->At(2).object == "lists/1");
}

TEST_CASE("A manifest's version differs with every cell", "[manifest]") {
  const FieldColumns fields = {{"image", "label"}, {"path", "class"}};
  const auto version = [&](std::string_view text) {
    return (*Read(text, fields))->version();
  };
  const Version first = version("path,class\na,x\nb,y\n");
  CHECK(version("class,path\nx,a\ny,b\n") == first);
  CHECK(version("path,class\na,x\nc,y\n") != first);
  CHECK(version("path,class\na,y\nb,x\n") != first);
  CHECK(version("path,class\na,x\nb,z\n") != first);
  CHECK(version("path,class\na,0\nb,1\n") != first);
}

TEST_CASE("A manifest's errors name the line", "[manifest]") {
  CHECK(ErrorOf("") == "has no line of column names");
  CHECK(ErrorOf("path,class\n") == "has no rows");
  CHECK(ErrorOf("path,klass\n") ==
        "line 1: there is no column class; there is path, klass");
  CHECK(ErrorOf("path,class,class\n") ==
        "line 1: two columns are called class");
  CHECK(ErrorOf("path,class\na,b\n\nc\n") ==
        "line 4: has 1 field, but there are 2 columns");
  CHECK(ErrorOf("path,class\n\"a\nb\",c\nd,e,f\n") ==
        "line 4: has 3 fields, but there are 2 columns");
  CHECK(ErrorOf("path,class\na,b\"\n") ==
        "line 2: a quote is in a field that does not begin with one");
  CHECK(ErrorOf("path,class\na,b\n,c\n") == "line 3: the path is empty");
  CHECK(ErrorOf("path,class\n/database/a,b\n") ==
        "line 2: /database/a: is not in the manifest's folder, which has to "
        "hold all of its files");
  CHECK(ErrorOf("path,class\n/data/,b\n") ==
        "line 2: /data/: is not in the manifest's folder, which has to "
        "hold all of its files");
  CHECK(ErrorOf("path,class\na,b\ngone.jpg,c\ngone too,c\n") ==
        "line 3: gone.jpg: there is no such file or directory");
  CHECK(ErrorOf("path,class\n\"a\nb\",0.0\nc,\nd,2.0\ne,\n") ==
        "line 4: class is empty, but an integer in other rows");
  CHECK(ErrorOf("path,class\na,0\nb,2\nc,5\n") == "accepted");
}

TEST_CASE("A JSON manifest's errors name the line", "[manifest]") {
  const auto error = [](std::string_view text) {
    return ErrorOf(text, TableFormat::kJsonLines);
  };
  const std::string good = "{\"path\": \"a\", \"class\": 1}\n";
  CHECK(error(good) == "accepted");
  CHECK(error("\n \r\n") == "has no rows");
  CHECK(error(good + "{\n") == "line 2: is not a JSON object");
  CHECK(error(good + "[1]") == "line 2: is not a JSON object");
  CHECK(error(good + good + "{\"path\": \"\xff\"}") ==
        "line 3: is not a JSON object");
  CHECK(error(good + "{\"path\": \"a\"}") == "line 2: has no class");
  CHECK(error("{\"path\": \"a\", \"class\": 1.5}") ==
        "line 1: class is neither a text nor an integer");
  CHECK(error("{\"path\": \"a\", \"class\": true}") ==
        "line 1: class is neither a text nor an integer");
  CHECK(error("{\"path\": \"a\", \"class\": null}") ==
        "line 1: class is neither a text nor an integer");
  CHECK(error("{\"path\": \"a\", \"class\": 9223372036854775808}") ==
        "line 1: class is an integer of more than 64 bits");
  CHECK(error(good + "{\"path\": \"a\", \"class\": \"x\"}") ==
        "line 2: class: is a text, but an integer in rows before");
  CHECK(error(good + "{\"path\": \"a\", \"class\": \"\"}") ==
        "line 2: class: is a text, but an integer in rows before");
  CHECK(error(good + "{\"path\": \"a\", \"class\": null}") ==
        "line 2: class is neither a text nor an integer");
  CHECK(error("{\"path\": 7, \"class\": 1}") == "line 1: path is not a path");
  CHECK(error("{\"path\": \"a\\u0000b\", \"class\": 1}") ==
        "line 1: the path has a zero byte in it");
}

TEST_CASE("A manifest refuses JSON that nests deep", "[manifest]") {
  const auto row = [](std::size_t depth) {
    return R"({"path": "a", "class": 1, "text": )" + std::string(depth, '[') +
           std::string(depth, ']') + "}\n";
  };
  const FieldColumns fields = {{"image", "caption"}, {"path", "text"}};
  const auto error = [&](const std::string& text) {
    return std::string(
        Read(text, fields, TableFormat::kJsonLines).status().message());
  };
  CHECK(error(row(1)) == "line 1: text is neither a text nor an integer");
  // Copying JSON of this depth by recursion would overflow the stack.
  CHECK(error(row(1'000'000)) == "line 1: is nested more than 64 deep");
  // A column that was not requested has the same limit.
  CHECK(ErrorOf(row(63), TableFormat::kJsonLines) == "accepted");
  CHECK(ErrorOf(row(63) + row(64), TableFormat::kJsonLines) ==
        "line 2: is nested more than 64 deep");
}

TEST_CASE("A manifest refuses fields that are not valid", "[manifest]") {
  const std::vector<FieldColumns> refused = {
      {{}, {}},
      {{"image"}, {}},
      {{"label"}, {"class"}},
      {{"image", "image"}, {"path", "path"}},
      {{"image", ""}, {"path", "class"}},
      {{"image", std::string(32, 'x')}, {"path", "class"}},
      {std::vector<std::string>(16, "x"), std::vector<std::string>(16, "x")}};
  for (const FieldColumns& fields : refused) {
    CHECK_THAT(Read(kCsv, fields), HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("A manifest is read even where no thread can be started",
          "[manifest]") {
  std::string text = "path\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, i, "\n");
  const base::NoThreads none;
  const auto manifest = Read(text, {{"image"}, {"path"}});
  REQUIRE_THAT(manifest, IsOk());
  CHECK((*manifest)->size() == 1000u);
}

TEST_CASE(
    "A manifest holds its part of the memory budget and stops where that ends",
    "[manifest]") {
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
    REQUIRE_THAT(manifest, IsOk());
    CHECK(budget.used() >= 10'000 * (5 + 8 + 8 + 16));
    CHECK(budget.used() < 10'000 * 80);
  }
  CHECK(budget.used() == 0);
  const auto others = budget.Reserve(budget.limit() - 500'000, "others");
  CHECK_THAT(read(), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("A manifest counts the memory of a row of any length", "[manifest]") {
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
    CHECK_THAT(read, HasCode(absl::StatusCode::kResourceExhausted));
  }
}

TEST_CASE("Reading a manifest stops when it is told to stop", "[manifest]") {
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
  CHECK_THAT(read, HasCode(absl::StatusCode::kCancelled));
  CHECK(calls == 2);
}

}  // namespace
}  // namespace forebay::dataset::manifest
