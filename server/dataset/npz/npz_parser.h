#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_PARSER_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_PARSER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/zip/zip_directory.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npz {

// Finds the only record of a .npz file, which is the whole file. Finds the
// lengths of the file's arrays, too. Reads only the archive's central
// directory.
//
// Used by one thread. The caller owns the parser; the parser owns the members
// that it finds. Never blocks. Errors name the file: those of ZipDirectory;
// INVALID_ARGUMENT: an array is missing; UNIMPLEMENTED: the arrays are too long
// to be decompressed.
class NpzParser final : public records::RecordParser {
 public:
  // Makes the parser of a file. `names` are the arrays that are fields. `names`
  // and `memory` outlive the parser.
  static absl::StatusOr<std::unique_ptr<NpzParser>> Create(
      const storage::ListedObject& file, const std::vector<std::string>* names,
      base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override { return std::move(records_); }

 private:
  NpzParser(storage::ListedObject file, zip::ZipDirectory directory,
            const std::vector<std::string>* names, base::WorkingMemory* memory)
      : file_(std::move(file)),
        directory_(std::move(directory)),
        names_(*names),
        memory_(memory) {}

  // Looks up the arrays once all members are known, and fills in the record.
  absl::Status Finish();

  const storage::ListedObject file_;
  zip::ZipDirectory directory_;
  const std::vector<std::string>& names_;
  base::WorkingMemory* const memory_;
  std::vector<zip::ZipMember> members_;
  // Bytes of `members_` that are counted in the memory.
  std::uint64_t counted_ = 0;
  records::FileRecords records_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_PARSER_H_
