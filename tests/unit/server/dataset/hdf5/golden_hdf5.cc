#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "server/base/status.h"
#include "tests/catch/catch.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr char kFolder[] = "tests/golden/hdf5/";

}  // namespace

std::vector<GoldenHdf5> GoldenHdf5s() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenHdf5> files;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind >> name;
    if (kind == "file") {
      files.push_back({name, {}});
    } else {
      CHECK(kind == "column");
      GoldenColumn column = {absl::StrReplaceAll(name, {{"%20", " "}})};
      words >> column.rows >> column.bytes >> std::hex >> column.crc;
      files.back().columns.push_back(std::move(column));
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

absl::Status LookInto(const std::string& file, FileView& view,
                      absl::FunctionRef<absl::Status(FileView&)> look) {
  for (;;) {
    absl::Status status = look(view);
    const auto wanted = view.wanted();
    if (!absl::IsUnavailable(status) || !wanted.has_value()) return status;
    CHECK(wanted->length > 0u);
    CHECK(wanted->offset + wanted->length <= file.size());
    FOREBAY_RETURN_IF_ERROR(view.Take(AsBytes(
        std::string_view(file).substr(wanted->offset, wanted->length))));
  }
}

}  // namespace forebay::dataset::hdf5
