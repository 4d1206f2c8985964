#include "tests/unit/server/dataset/zip/golden_archives.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "server/base/status.h"
#include "server/dataset/zip/zip_directory.h"
#include "tests/catch/catch.h"

namespace forebay::dataset::zip {
namespace {

constexpr char kFolder[] = "tests/golden/zip/";
constexpr std::uint64_t kLongest = std::uint64_t{1} << 20;  // bytes

std::string Unquoted(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      plain += static_cast<char>(
          std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Returns the bytes at `offset`; fewer if the archive ends before.
std::string Piece(std::string_view archive, std::uint64_t base,
                  std::uint64_t offset, std::uint64_t length) {
  std::string piece;
  if (offset < base) piece.assign(std::min(length, base - offset), '\0');
  const std::uint64_t at = offset + piece.size() - base;
  if (at < archive.size()) piece += archive.substr(at, length - piece.size());
  return piece;
}

}  // namespace

std::vector<GoldenArchive> GoldenArchives() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenArchive> archives;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind >> name;
    if (kind == "archive") {
      words >> archives.emplace_back().base;
      archives.back().name = name;
    } else {
      GoldenMember& golden = archives.back().members.emplace_back();
      ZipMember& member = golden.member;
      std::string method;
      words >> method >> member.header_offset >> golden.data_offset >>
          member.compressed >> member.length >> std::hex >> member.crc32 >>
          golden.sha256;
      member.name = Unquoted(name);
      member.method =
          method == "stored" ? ZipMethod::kStored : ZipMethod::kDeflated;
    }
    CAPTURE(line);
    CHECK(words);
  }
  CHECK(archives.size() > 15u);
  return archives;
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

absl::StatusOr<std::vector<ZipMember>> Members(std::string_view archive,
                                               std::uint64_t base,
                                               std::uint64_t extra) {
  const std::uint64_t size = base + archive.size();
  FOREBAY_ASSIGN_OR_RETURN(ZipDirectory directory,
                           ZipDirectory::Create("some.zip", size));
  std::vector<ZipMember> members;
  while (const auto wanted = directory.wanted()) {
    CHECK(wanted->length > 0u);
    CHECK(wanted->offset <= size);
    CHECK(wanted->length <= size - wanted->offset);
    const std::string piece =
        Piece(archive, base, wanted->offset, wanted->length + extra);
    FOREBAY_RETURN_IF_ERROR(
        directory.Parse(wanted->offset, AsBytes(piece), &members));
  }
  return members;
}

absl::StatusOr<std::string> Content(std::string_view archive,
                                    const ZipMember& member,
                                    std::uint64_t base) {
  const std::string header = Piece(archive, base, member.header_offset,
                                   kHeaderBytes + member.name.size());
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t offset,
                           DataOffset(member.name, AsBytes(header)));
  const std::string data =
      Piece(archive, base, member.header_offset + offset, member.compressed);
  if (data.size() < member.compressed) {
    return absl::DataLossError("the member's data is truncated");
  }
  if (member.length > kLongest) {
    return absl::ResourceExhaustedError("the member is too long");
  }
  std::string content = data;
  if (member.method == ZipMethod::kDeflated) {
    content.assign(member.length, '\0');
    FOREBAY_RETURN_IF_ERROR(Inflate(
        AsBytes(data),
        {reinterpret_cast<std::uint8_t*>(content.data()), content.size()}));
  }
  FOREBAY_RETURN_IF_ERROR(CheckCrc(AsBytes(content), member.crc32));
  return content;
}

}  // namespace forebay::dataset::zip
