#include "tests/unit/server/pipeline/decode/golden_values.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/catch/catch.h"

namespace forebay::pipeline::decode {
namespace {

constexpr char kFolder[] = "tests/golden/values/";

}  // namespace

std::vector<std::vector<std::string>> GoldenValues(const std::string& name) {
  std::ifstream file(kFolder + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  CAPTURE(name);
  CHECK(rows.size() > 40u);
  return rows;
}

std::string GoldenValueFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string FromHex(const std::string& word) {
  std::string bytes;
  if (word == "-") return bytes;
  for (std::size_t i = 0; i < word.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace forebay::pipeline::decode
