#include "tests/unit/server/dataset/array_record/golden_files.h"

#include <zlib.h>

#include <array>
#include <fstream>
#include <sstream>

#include "tests/catch/catch.h"

namespace forebay::dataset::array_record {
namespace {

constexpr char kFolder[] = "tests/golden/array_record/";

}  // namespace

std::vector<GoldenFile> GoldenFiles() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenFile> files;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "file") {
      words >> files.emplace_back().name;
    } else {
      GoldenRecord& record = files.back().records.emplace_back();
      words >> record.length >> std::hex >> record.crc32;
    }
    CAPTURE(line);
    CHECK_FALSE(words.fail());
  }
  CHECK_FALSE(files.empty());
  return files;
}

std::string GoldenBytes(std::string_view name) {
  const std::string path =
      std::string(kFolder) + std::string(name) + ".array_record.gz";
  gzFile file = gzopen(path.c_str(), "rb");
  std::string bytes;
  std::array<char, 1 << 16> piece;
  int read = 0;
  while (file != nullptr &&
         (read = gzread(file, piece.data(), piece.size())) > 0)
    bytes.append(piece.data(), static_cast<std::size_t>(read));
  CAPTURE(path);
  CHECK((file != nullptr && read == 0));
  if (file != nullptr) gzclose(file);
  return bytes;
}

GoldenRecord RecordOf(absl::Span<const std::uint8_t> record) {
  return {record.size(),
          static_cast<std::uint32_t>(crc32_z(0, record.data(), record.size()))};
}

}  // namespace forebay::dataset::array_record
