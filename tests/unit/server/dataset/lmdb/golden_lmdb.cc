#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace forebay::dataset::lmdb {
namespace {

constexpr char kFolder[] = "tests/golden/lmdb/";

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

std::vector<GoldenLmdb> GoldenLmdbs() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenLmdb> files;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind >> name;
    if (kind == "file") {
      GoldenLmdb found;
      found.file = name;
      words >> found.page_bytes >> found.transaction;
      files.push_back(std::move(found));
    } else if (kind == "database") {
      files.back().databases.push_back({Unquoted(name), {}});
    } else {
      GoldenEntry entry = {Unquoted(name)};
      words >> entry.length >> std::hex >> entry.crc;
      CHECK(kind == "entry");
      files.back().databases.back().entries.push_back(std::move(entry));
    }
    CAPTURE(line);
    CHECK(words);
  }
  CHECK(files.size() > 10u);
  return files;
}

std::string GoldenFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace forebay::dataset::lmdb
