#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_PIECES_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_PIECES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/byte_source.h"
#include "server/storage/gathered/pieces.h"

namespace forebay::dataset::records {

// Finds the pieces from which an index's records are gathered. The records'
// keys tell the pieces. For threads, blocking and errors, see Pieces. Shares
// the index, and the format with which the index was built.
class RecordPieces final : public storage::gathered::Pieces {
 public:
  RecordPieces(std::shared_ptr<const RecordIndex> index,
               std::shared_ptr<const RecordFormat> format)
      : index_(std::move(index)), format_(std::move(format)) {}

  std::uint64_t OwnSize(const std::string& object,
                        std::uint64_t size) const override;
  absl::StatusOr<std::vector<storage::gathered::Piece>> Find(
      const std::string& object, std::uint64_t offset,
      std::uint64_t length) const override;

 private:
  const std::shared_ptr<const RecordIndex> index_;
  const std::shared_ptr<const RecordFormat> format_;
};

// Returns a root that also serves the virtual extents of gathered records.
// Returns `root` itself if no record of the index is gathered.
std::shared_ptr<const storage::Root> WithPieces(
    std::shared_ptr<const storage::Root> root,
    std::shared_ptr<const RecordIndex> index,
    std::shared_ptr<const RecordFormat> format);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_PIECES_H_
