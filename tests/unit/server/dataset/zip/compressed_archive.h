#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_COMPRESSED_ARCHIVE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_COMPRESSED_ARCHIVE_H_

#include <string>
#include <vector>

#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// A file of an archive that is valid in every way.
struct CompressedFile {
  std::string name;
  std::string content = {};
  ZipMethod method = ZipMethod::kStored;
  std::string extra = {};  // in the local header only
};

// Returns an archive of these files.
std::string CompressedArchive(const std::vector<CompressedFile>& files);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_COMPRESSED_ARCHIVE_H_
