#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_PACKED_ARCHIVE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_PACKED_ARCHIVE_H_

#include <string>
#include <vector>

#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// A file of an archive that is right in every way.
struct PackedFile {
  std::string name;
  std::string content = {};
  ZipMethod method = ZipMethod::kStored;
  std::string extra = {};  // in its own header alone
};

// Returns an archive of these files.
std::string PackedArchive(const std::vector<PackedFile>& files);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_PACKED_ARCHIVE_H_
