#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_TOKENS_GOLDEN_TOKENS_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_TOKENS_GOLDEN_TOKENS_H_

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace forebay::dataset::tokens {

// Files that Megatron-LM wrote, and what Megatron-LM reads from them.
struct GoldenTokens {
  std::string name;  // of the files, without extensions
  std::string data;
  std::string index;
  std::string dtype;
  std::uint64_t count = 0;               // number of tokens
  std::vector<std::uint64_t> documents;  // tokens of each document
};

inline std::vector<GoldenTokens> AllGoldenTokens() {
  const std::string folder = "tests/golden/tokens/";
  const auto read = [&folder](const std::string& name) {
    std::ifstream file(folder + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::vector<GoldenTokens> all;
  std::ifstream file(folder + "golden.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    GoldenTokens& one = all.emplace_back();
    words >> one.name >> one.dtype >> one.count;
    for (std::uint64_t tokens = 0; words >> tokens;)
      one.documents.push_back(tokens);
    one.data = read(one.name + ".bin");
    one.index = read(one.name + ".idx");
  }
  return all;
}

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_TOKENS_GOLDEN_TOKENS_H_
