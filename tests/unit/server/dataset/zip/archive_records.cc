#include "tests/unit/server/dataset/zip/archive_records.h"

namespace forebay::dataset::zip {

std::string Number(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8) {
    text += static_cast<char>(number & 0xff);
  }
  return text;
}

std::string EntryRecord::Bytes() const {
  return "PK\1\2" + Number(20, 2) + Number(version, 2) + Number(flags, 2) +
         Number(method, 2) + Number(0, 4) + Number(crc32, 4) +
         Number(compressed, 4) + Number(length, 4) + Number(name.size(), 2) +
         Number(extra.size(), 2) + Number(comment.size(), 2) + Number(disk, 2) +
         Number(0, 6) + Number(header_offset, 4) + name + extra + comment;
}

std::string EocdRecord::Bytes() const {
  return "PK\5\6" + Number(disk, 2) + Number(directory_disk, 2) +
         Number(members_here, 2) + Number(members, 2) +
         Number(directory_bytes, 4) + Number(directory_offset, 4) +
         Number(comment.size(), 2) + comment;
}

std::string Eocd64Record::Bytes() const {
  return "PK\6\6" + Number(44 + extensible.size(), 8) + Number(45, 2) +
         Number(45, 2) + Number(disk, 4) + Number(directory_disk, 4) +
         Number(members_here, 8) + Number(members, 8) +
         Number(directory_bytes, 8) + Number(directory_offset, 8) + extensible;
}

std::string LocatorRecord::Bytes() const {
  return "PK\6\7" + Number(disk, 4) + Number(eocd64_offset, 8) +
         Number(disks, 4);
}

std::string HeaderBytes(const std::string& name, const std::string& extra) {
  return "PK\3\4" + Number(20, 2) + Number(0, 20) + Number(name.size(), 2) +
         Number(extra.size(), 2) + name + extra;
}

std::string ArchiveOf(const EntryRecord& entry) {
  const std::string members =
      HeaderBytes(entry.name) + std::string(entry.compressed, '\0');
  const std::string directory = entry.Bytes();
  const EocdRecord end = {
      .directory_bytes = static_cast<std::uint32_t>(directory.size()),
      .directory_offset = static_cast<std::uint32_t>(members.size())};
  return members + directory + end.Bytes();
}

}  // namespace forebay::dataset::zip
