#include "server/dataset/npy/npy_index_store.h"

#include <cstdint>

#include "server/base/status.h"
#include "server/dataset/npy/npy_index_format.h"

namespace forebay::dataset::npy {

absl::StatusOr<std::shared_ptr<const NpyIndex>> NpyIndexStore::Load(
    std::string_view dataset,
    absl::Span<const storage::ListedObject> files) const {
  FOREBAY_ASSIGN_OR_RETURN(auto index, files_.Load(dataset, DecodeNpyIndex));
  if (!index->IsOf(files)) return files_.OfOthers(dataset, "files");
  return index;
}

absl::Status NpyIndexStore::Save(std::string_view dataset,
                                 const NpyIndex& index) const {
  return files_.Save(dataset, index.memory(),
                     [&] { return EncodeNpyIndex(index); });
}

}  // namespace forebay::dataset::npy
