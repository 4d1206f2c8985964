#include "server/dataset/records/record_index_store.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/records/record_index_format.h"

namespace forebay::dataset::records {

std::string RecordIndexStore::PointsPathOf(std::string_view dataset) const {
  return files_.Check().ok() ? absl::StrCat(files_.PathOf(dataset), ".points")
                             : "";
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> RecordIndexStore::Load(
    std::string_view dataset,
    absl::Span<const storage::ListedObject> files) const {
  FOREBAY_ASSIGN_OR_RETURN(
      auto index, files_.Load(dataset, [&](IndexFileReader& file,
                                           base::WorkingMemory& memory) {
        return DecodeRecordIndex(file, memory, [&] {
          return compressed::LoadPoints(PointsPathOf(dataset), memory);
        });
      }));
  if (!index->IsOf(files)) return files_.OfOthers(dataset, "files");
  return index;
}

absl::Status RecordIndexStore::Save(std::string_view dataset,
                                    const RecordIndex& index) const {
  return files_.Save(dataset, index.memory(),
                     [&] { return EncodeRecordIndex(index); });
}

}  // namespace forebay::dataset::records
