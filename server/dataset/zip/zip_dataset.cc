#include "server/dataset/zip/zip_dataset.h"

#include <utility>

#include "proto/shm_layout.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/shown_name.h"

namespace forebay::dataset::zip {
namespace {

// Returns the field of images or clips.
Field ContentOf(bool is_audio, std::uint64_t longest) {
  return {
      .name = is_audio ? "audio" : "image",
      .kind = is_audio ? proto::FieldKind::kAudio : proto::FieldKind::kImage,
      .longest = longest};
}

}  // namespace

ZipDataset::ZipDataset(std::shared_ptr<const ZipIndex> index,
                       std::shared_ptr<const storage::Root> root,
                       bool are_audio, base::MemoryBudget* budget)
    : index_(std::move(index)),
      layout_(std::make_shared<const ZipLayout>(index_, budget)),
      root_(std::move(root)),
      fields_({ContentOf(are_audio, index_->images().largest_sample()),
               {"label", proto::FieldKind::kLabel, 0}}) {}

Sample ZipDataset::At(std::uint64_t id) const {
  const ZipIndex::Extent extent = index_->ExtentOf(id);
  storage::ListedObject archive = index_->ArchiveAt(extent.archive);
  return {.object = std::move(archive.name),
          .version = archive.version,
          .layout = layout_,
          .offset = extent.offset,
          .length = extent.length};
}

void ZipDataset::ValuesOf(std::uint64_t id,
                          absl::Span<FieldValue> values) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  values[0] = CompressedRange{{0, index_->ExtentOf(id).length}};
  values[1] = index_->images().LabelOf(id);
}

// The header may differ from the directory, so the data's place is checked
// again before it is used.
absl::StatusOr<absl::Span<const std::uint8_t>> ZipDataset::Decompress(
    std::uint64_t id, absl::Span<const std::uint8_t> compressed,
    DecompressionRoom room) const {
  const ZipMember member = index_->MemberOf(id);
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t offset,
                           DataOffset(member.name, compressed));
  if (offset > compressed.size() ||
      member.compressed > compressed.size() - offset) {
    return absl::DataLossError(
        "the member's data reaches over what lies behind it");
  }
  const auto data = compressed.subspan(offset, member.compressed);
  // Stored data is returned in place, without a copy.
  if (member.method == ZipMethod::kStored) {
    FOREBAY_RETURN_IF_ERROR(CheckCrc(data, member.crc32));
    return data;
  }
  FOREBAY_ASSIGN_OR_RETURN(const auto image, room(member.length));
  FOREBAY_RETURN_IF_ERROR(Inflate(data, image));
  FOREBAY_RETURN_IF_ERROR(CheckCrc(image, member.crc32));
  return image;
}

std::string ZipDataset::NameOf(std::uint64_t id) const {
  return ShownName(index_->MemberOf(id).name);
}

}  // namespace forebay::dataset::zip
