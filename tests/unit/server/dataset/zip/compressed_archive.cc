#include "tests/unit/server/dataset/zip/compressed_archive.h"

#include <zlib.h>

#include <cstdint>

#include "tests/unit/server/dataset/zip/archive_records.h"

namespace forebay::dataset::zip {
namespace {

std::string Deflated(const std::string& content) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  std::string in = content;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string CompressedArchive(const std::vector<CompressedFile>& files) {
  std::string members;
  std::string directory;
  for (const CompressedFile& file : files) {
    const bool deflated = file.method == ZipMethod::kDeflated;
    const std::string data = deflated ? Deflated(file.content) : file.content;
    const EntryRecord entry = {
        .name = file.name,
        .method = static_cast<std::uint16_t>(deflated ? 8 : 0),
        .crc32 = static_cast<std::uint32_t>(
            crc32_z(0, reinterpret_cast<const Bytef*>(file.content.data()),
                    file.content.size())),
        .compressed = static_cast<std::uint32_t>(data.size()),
        .length = static_cast<std::uint32_t>(file.content.size()),
        .header_offset = static_cast<std::uint32_t>(members.size())};
    members += HeaderBytes(file.name, file.extra) + data;
    directory += entry.Bytes();
  }
  const auto count = static_cast<std::uint16_t>(files.size());
  const EocdRecord end = {
      .members_here = count,
      .members = count,
      .directory_bytes = static_cast<std::uint32_t>(directory.size()),
      .directory_offset = static_cast<std::uint32_t>(members.size())};
  return members + directory + end.Bytes();
}

}  // namespace forebay::dataset::zip
