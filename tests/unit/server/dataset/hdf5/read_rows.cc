#include "tests/unit/server/dataset/hdf5/read_rows.h"

#include <cstdint>
#include <string_view>
#include <variant>

#include "server/base/status.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/records/compressed_keys.h"
#include "server/dataset/records/value_type.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

void AddValue(const FieldValue& value, const std::string& record,
              std::string* all) {
  if (const auto* range = std::get_if<FieldRange>(&value)) {
    *all += record.substr(range->offset, range->length);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    all->append(reinterpret_cast<const char*>(number), sizeof(*number));
  } else if (const auto* bytes = std::get_if<ComputedBytes>(&value)) {
    all->append(bytes->bytes.begin(), bytes->bytes.end());
  }
}

}  // namespace

absl::StatusOr<Hdf5Column> FindColumn(const std::string& file,
                                      const std::string& path, bool is_kept,
                                      base::WorkingMemory* memory) {
  FileView view(file.size(), {}, memory);
  absl::StatusOr<NamedArray> found;
  FOREBAY_RETURN_IF_ERROR(LookInto(file, view, [&](FileView& looked) {
    found = FindFirstArray(looked, path);
    return found.status();
  }));
  auto column = ColumnOf(found->array, found->path, found->member);
  if (column.ok()) column->is_kept = is_kept;
  // The samples of `points` may have different numbers of rows.
  if (column.ok() && path == "data/*/points") {
    FOREBAY_RETURN_IF_ERROR(
        SetValueType(*records::ParseValueType("float32[n,3]"), &*column));
  }
  return column;
}

absl::StatusOr<records::FileRecords> FindRows(const std::string& file,
                                              const Hdf5Format& format,
                                              const ReadSizes& sizes,
                                              base::WorkingMemory* memory,
                                              int* reads) {
  FOREBAY_ASSIGN_OR_RETURN(
      auto parser,
      format.Parse({"a.h5", {.size = file.size()}}, sizes, memory));
  while (const auto read = parser->next_read()) {
    CHECK(read->length > 0u);
    CHECK(read->offset + read->length <= file.size());
    ++*reads;
    FOREBAY_RETURN_IF_ERROR(parser->Take(
        AsBytes(std::string_view(file).substr(read->offset, read->length))));
  }
  return parser->TakeRecords();
}

absl::StatusOr<std::vector<std::string>> ReadRows(
    const std::string& file, const Hdf5Format& format,
    const records::FileRecords& found, std::size_t columns) {
  std::vector<std::string> all(columns);
  std::vector<FieldValue> values(columns);
  records::KeyReader keys(found.keys.bytes);
  for (std::size_t i = 0; i < found.ends.size(); ++i) {
    CHECK(keys.Next());
    const std::uint64_t length = found.ends[i] - found.begins[i];
    std::string record;
    if (found.begins[i] < file.size()) {
      record = file.substr(found.begins[i], length);
    } else {
      FOREBAY_ASSIGN_OR_RETURN(const auto pieces, format.PiecesOf(keys.key()));
      for (const auto& piece : pieces)
        record += file.substr(piece.offset, piece.length);
    }
    CHECK(record.size() == length);
    ValueBuffers buffers;
    FOREBAY_RETURN_IF_ERROR(format.ReadKeyedValues(
        keys.key(), AsBytes(record), absl::MakeSpan(values), &buffers));
    for (std::size_t k = 0; k < columns; ++k)
      AddValue(values[k], record, &all[k]);
  }
  return all;
}

}  // namespace forebay::dataset::hdf5
