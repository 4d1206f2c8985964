#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_FORMAT_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npz {

// Files of which each is a sample, with arrays as fields, and perhaps a label:
// the class folder that it lies in. A sample is read whole: its own directory
// says where its arrays lie, or what to inflate.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class NpzFormat final : public records::RecordFormat {
 public:
  // `names` are those of the arrays. INVALID_ARGUMENT: there are none or too
  // many, one comes twice, is no field's name, or is that of the label.
  static absl::StatusOr<std::shared_ptr<const NpzFormat>> Create(
      std::vector<std::string> names, bool has_labels);
  // Makes a format of its text. DATA_LOSS: it is of no such format.
  static absl::StatusOr<std::shared_ptr<const NpzFormat>> Parse(
      std::string_view text);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          MadeValues* made) const override;
  std::optional<std::size_t> class_field() const override {
    if (!has_labels_) return std::nullopt;
    return names_.size();
  }
  // Arrays may be deflated.
  bool LowerBytes(const records::RecordIndex&, std::uint64_t,
                  absl::Span<std::uint64_t>) const override {
    return true;
  }
  // A file has one sample.
  std::string NameOf(const records::RecordIndex&,
                     std::uint64_t) const override {
    return {};
  }

 private:
  NpzFormat(std::vector<std::string> names, bool has_labels);

  const std::vector<std::string> names_;
  const bool has_labels_;
  const std::string text_;
};

// INVALID_ARGUMENT: as NpzFormat::Create.
absl::Status CheckNames(const std::vector<std::string>& names,
                        bool has_labels = false);

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_FORMAT_H_
