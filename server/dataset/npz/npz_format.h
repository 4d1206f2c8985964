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

// The format of .npz files where each file is a sample. The sample's fields are
// the arrays and, if `has_labels`, a label: the class folder that the file is
// in. A sample's extent is the whole file, because the file's own central
// directory says where the arrays are.
//
// Immutable and thread-safe. Owns its names; datasets share the format. Never
// blocks. Errors give the reason alone, as RecordFormat says.
class NpzFormat final : public records::RecordFormat {
 public:
  // Makes the format of files with these arrays as fields. INVALID_ARGUMENT:
  // there are no names or too many of them; or a name comes twice, is not a
  // valid field name, or is the label's name.
  static absl::StatusOr<std::shared_ptr<const NpzFormat>> Create(
      std::vector<std::string> names, bool has_labels);
  // Makes the format whose text() is `text`. DATA_LOSS: `text` is of another
  // format.
  static absl::StatusOr<std::shared_ptr<const NpzFormat>> Parse(
      std::string_view text);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;
  std::optional<std::size_t> class_field() const override {
    if (!has_labels_) return std::nullopt;
    return names_.size();
  }
  // Lowers nothing, and returns true. The bounds in the index hold as they are:
  // the extent's length is not a bound, because a deflated array may be longer
  // than its file.
  bool LowerBytes(const records::RecordIndex&, std::uint64_t,
                  absl::Span<std::uint64_t>) const override {
    return true;
  }
  // Returns nothing: a file has one sample, whose name is the file's.
  std::string NameOf(const records::RecordIndex&,
                     std::uint64_t) const override {
    return {};
  }

 private:
  NpzFormat(std::vector<std::string> names, bool has_labels);

  // Names of the arrays, in the order of the fields.
  const std::vector<std::string> names_;
  const bool has_labels_;
  const std::string text_;
};

// Checks the names of arrays as NpzFormat::Create does.
absl::Status CheckNames(const std::vector<std::string>& names,
                        bool has_labels = false);

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_FORMAT_H_
