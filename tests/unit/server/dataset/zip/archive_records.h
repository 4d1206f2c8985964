#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_ARCHIVE_RECORDS_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_ARCHIVE_RECORDS_H_

#include <cstdint>
#include <string>

namespace forebay::dataset::zip {

// The records of an archive, whose numbers may contradict each other. By
// default the archive has one empty file, whose header is at the archive's
// beginning.
struct EntryRecord {
  std::string name = "a";
  std::string extra = {};
  std::string comment = {};
  std::uint8_t version = 20;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc32 = 0;
  std::uint32_t compressed = 0;
  std::uint32_t length = 0;
  std::uint16_t disk = 0;
  std::uint32_t header_offset = 0;

  std::string Bytes() const;
};

struct EocdRecord {
  std::uint16_t disk = 0;
  std::uint16_t directory_disk = 0;
  std::uint16_t members_here = 1;
  std::uint16_t members = 1;
  std::uint32_t directory_bytes = 47;
  std::uint32_t directory_offset = 31;
  std::string comment = {};

  std::string Bytes() const;
};

struct Eocd64Record {
  std::uint32_t disk = 0;
  std::uint32_t directory_disk = 0;
  std::uint64_t members_here = 1;
  std::uint64_t members = 1;
  std::uint64_t directory_bytes = 47;
  std::uint64_t directory_offset = 31;
  std::string extensible = {};

  std::string Bytes() const;
};

struct LocatorRecord {
  std::uint32_t disk = 0;
  std::uint64_t eocd64_offset = 31 + 47;
  std::uint32_t disks = 1;

  std::string Bytes() const;
};

// Returns a little-endian number of `bytes` bytes.
std::string Number(std::uint64_t number, int bytes);

// Returns a member's local file header (APPNOTE 4.3.7), with its name and extra
// fields.
std::string HeaderBytes(const std::string& name, const std::string& extra = {});

// Returns an archive of one member with a correct end record. The member's data
// is `compressed` zeros.
std::string ArchiveOf(const EntryRecord& entry);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_ARCHIVE_RECORDS_H_
