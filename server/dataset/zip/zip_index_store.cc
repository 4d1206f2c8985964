#include "server/dataset/zip/zip_index_store.h"

#include <cstdint>

#include "server/base/status.h"
#include "server/dataset/zip/zip_index_format.h"

namespace forebay::dataset::zip {

absl::StatusOr<std::shared_ptr<const ZipIndex>> ZipIndexStore::Load(
    std::string_view dataset,
    absl::Span<const storage::ListedObject> archives) const {
  FOREBAY_ASSIGN_OR_RETURN(auto index, files_.Load(dataset, DecodeZipIndex));
  if (!index->IsOf(archives)) return files_.OfOthers(dataset, "archives");
  return index;
}

absl::Status ZipIndexStore::Save(std::string_view dataset,
                                 const ZipIndex& index) const {
  return files_.Save(dataset, index.memory() + index.images().memory(),
                     [&] { return EncodeZipIndex(index); });
}

}  // namespace forebay::dataset::zip
