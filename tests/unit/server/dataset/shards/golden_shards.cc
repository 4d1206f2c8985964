#include "tests/unit/server/dataset/shards/golden_shards.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/catch/catch.h"

namespace forebay::dataset::shards {
namespace {

constexpr char kFolder[] = "tests/golden/shards/";

std::string Unquoted(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      plain += static_cast<char>(
          std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else if (text[i] != '?') {  // `?` ends a word, even an empty one
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::vector<GoldenShard> GoldenShards() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenShard> shards;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind >> name;
    CAPTURE(line);
    CHECK(words);
    name = Unquoted(name);
    if (kind == "shard") {
      shards.push_back({name, {}, {}});
    } else if (kind == "sample") {
      shards.back().samples.push_back({name, {}});
    } else if (kind == "error") {
      shards.back().duplicate_key = name;
    } else {
      GoldenField field = {name};
      words >> field.offset >> field.length >> std::hex >> field.crc;
      CHECK((words && kind == "field"));
      shards.back().samples.back().fields.push_back(field);
    }
  }
  CHECK(shards.size() > 10u);
  return shards;
}

std::vector<std::vector<std::string>> GoldenRows(const std::string& name) {
  std::ifstream file(kFolder + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    auto& row = rows.emplace_back();
    for (std::string word; words >> word;) row.push_back(Unquoted(word));
  }
  CAPTURE(name);
  CHECK(rows.size() > 100u);
  return rows;
}

std::string GoldenFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace forebay::dataset::shards
