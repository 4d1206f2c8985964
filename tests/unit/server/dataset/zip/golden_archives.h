#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_GOLDEN_ARCHIVES_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_GOLDEN_ARCHIVES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// A member of an archive, as zipfile reads it: see
// tests/golden/zip/make_golden.py.
struct GoldenMember {
  ZipMember member;
  std::uint64_t data_offset = 0;  // from the archive's begin
  std::string sha256;             // in hexadecimal
};

struct GoldenArchive {
  std::string name;
  // Number of zeros that the archive has before the file's bytes.
  std::uint64_t base = 0;
  std::vector<GoldenMember> members;
};

std::vector<GoldenArchive> GoldenArchives();

// Returns the bytes of a file of tests/golden/zip.
std::string GoldenFile(const std::string& name);

absl::Span<const std::uint8_t> AsBytes(std::string_view text);

// Returns the members of `archive`, which lies after `base` zeros. Each piece
// that is read has `extra` bytes more than the wanted ones.
absl::StatusOr<std::vector<ZipMember>> Members(std::string_view archive,
                                               std::uint64_t base = 0,
                                               std::uint64_t extra = 0);

// Returns a member's bytes, which may be at most 1 MiB.
absl::StatusOr<std::string> Content(std::string_view archive,
                                    const ZipMember& member,
                                    std::uint64_t base = 0);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ZIP_GOLDEN_ARCHIVES_H_
