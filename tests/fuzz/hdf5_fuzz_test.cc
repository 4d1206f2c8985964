// Fuzzes the parser of HDF5 files. The parser ends for any bytes, and requests
// only bytes of the file. It finds the same rows however many bytes it reads at
// a time. A file has one dataset or several. Values lie within the bytes read
// or made. Wrong checksums of metadata are corrected, so that the parser
// reaches the metadata.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/checksum.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/records/compressed_keys.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::base::MemoryBudget;
using forebay::base::WorkingMemory;
using forebay::dataset::ComputedBytes;
using forebay::dataset::FieldRange;
using forebay::dataset::FieldValue;
using forebay::dataset::ReadSizes;
using forebay::dataset::ValueBuffers;
using forebay::dataset::hdf5::ArrayLister;
using forebay::dataset::hdf5::ColumnOf;
using forebay::dataset::hdf5::FileView;
using forebay::dataset::hdf5::Hdf5Column;
using forebay::dataset::hdf5::Hdf5Format;
using forebay::dataset::hdf5::ListedArray;
using forebay::dataset::hdf5::Lookup3;
using forebay::dataset::records::FileRecords;
using forebay::dataset::records::KeyReader;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using Bytes = absl::Span<const std::uint8_t>;

constexpr std::uint64_t kMemory = std::uint64_t{8} << 20;

MemoryBudget* Budget() {
  static auto* const budget = new MemoryBudget(kMemory);
  return budget;
}

std::vector<ListedArray> List(Bytes file, std::string* error) {
  WorkingMemory memory(Budget(), "metadata");
  FileView view(file.size(), {}, &memory);
  ArrayLister lister(&memory);
  for (;;) {
    const absl::Status status = lister.Run(view);
    if (status.ok()) return lister.datasets();
    *error = status.ToString();
    const auto wanted = view.wanted();
    if (!absl::IsUnavailable(status) || !wanted.has_value()) return {};
    Require(wanted->length > 0 && wanted->offset <= file.size() &&
            wanted->length <= file.size() - wanted->offset);
    if (!view.Take(file.subspan(wanted->offset, wanted->length)).ok())
      return {};
  }
}

// Corrects the checksum that an error names. Returns whether the error names a
// checksum.
bool PutRight(const std::string& error, std::vector<std::uint8_t>* file) {
  const std::vector<std::string> words = absl::StrSplit(error, ' ');
  std::uint64_t length = 0;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i + 8 < words.size(); ++i) {
    if (words[i] != "checksum" || words[i + 1] != "of") continue;
    if (!absl::SimpleAtoi(words[i + 2], &length) ||
        !absl::SimpleAtoi(words[i + 8], &offset))
      return false;
    Require(offset <= file->size() && length <= file->size() - offset);
    std::uint64_t summed = length - sizeof(std::uint32_t);
    std::uint64_t at = offset + summed;
    if (words[i + 5] == "links") {
      // A block of links has zeros in place of its own checksum when the
      // checksum is computed.
      Require(i + 15 < words.size() && absl::SimpleAtoi(words[i + 15], &at));
      Require(at >= offset && at - offset <= summed);
      std::memset(file->data() + at, 0, sizeof(std::uint32_t));
      summed = length;
    }
    const std::uint32_t sum = Lookup3(Bytes(*file).subspan(offset, summed));
    std::memcpy(file->data() + at, &sum, sizeof(sum));
    return true;
  }
  return false;
}

struct Result {
  std::string error;
  FileRecords records;
};

Result Parse(const Hdf5Format& format, Bytes file, const ReadSizes& sizes) {
  WorkingMemory memory(Budget(), "rows");
  auto parser = format.Parse({"a", {.size = file.size()}}, sizes, &memory);
  if (!parser.ok()) return {parser.status().ToString(), {}};
  while (const auto read = (*parser)->next_read()) {
    Require(read->length > 0 && read->offset <= file.size() &&
            read->length <= file.size() - read->offset);
    const absl::Status status =
        (*parser)->Take(file.subspan(read->offset, read->length));
    if (!status.ok()) return {status.ToString(), {}};
  }
  return {"", (*parser)->TakeRecords()};
}

// Reads a row, which is an extent of the file or consists of pieces of it.
std::vector<std::uint8_t> RecordOf(const Hdf5Format& format, Bytes file,
                                   const std::string& key, std::uint64_t begin,
                                   std::uint64_t end) {
  std::vector<std::uint8_t> record;
  if (end <= file.size()) {
    const Bytes extent = file.subspan(begin, end - begin);
    record.assign(extent.begin(), extent.end());
    return record;
  }
  const auto pieces = format.PiecesOf(key);
  Require(begin >= file.size() && pieces.ok());
  std::uint64_t bytes = 0;
  for (const auto& piece : *pieces) {
    Require(piece.length > 0 && piece.offset <= file.size() &&
            piece.length <= file.size() - piece.offset);
    bytes += piece.length;
    if (bytes > kMemory) break;
    const Bytes some = file.subspan(piece.offset, piece.length);
    record.insert(record.end(), some.begin(), some.end());
  }
  Require(bytes > kMemory || bytes == end - begin);
  return record;
}

void ReadRows(const Hdf5Format& format, std::size_t columns, Bytes file,
              const FileRecords& records) {
  constexpr std::size_t kMostRows = 8;
  Require(records.begins.size() == records.ends.size());
  KeyReader keys(records.keys.bytes);
  std::vector<FieldValue> values(columns);
  for (std::size_t i = 0; i < records.ends.size() && i < kMostRows; ++i) {
    Require(records.begins[i] < records.ends[i] && keys.Next());
    const std::vector<std::uint8_t> record =
        RecordOf(format, file, keys.key(), records.begins[i], records.ends[i]);
    ValueBuffers buffers;
    if (!format
             .ReadKeyedValues(keys.key(), record, absl::MakeSpan(values),
                              &buffers)
             .ok())
      continue;
    for (const FieldValue& value : values) {
      if (const auto* const range = std::get_if<FieldRange>(&value)) {
        Require(range->offset <= record.size() &&
                range->length <= record.size() - range->offset);
      } else if (const auto* const bytes = std::get_if<ComputedBytes>(&value)) {
        Touch(bytes->bytes.data(), bytes->bytes.size());
      }
    }
  }
}

// Returns the column made of all objects in the group that the dataset is in.
absl::StatusOr<Hdf5Column> ColumnOfGroup(const ListedArray& listed) {
  const std::size_t slash = listed.path.rfind('/');
  const std::string group =
      slash == listed.path.npos ? "" : listed.path.substr(0, slash + 1);
  auto array = **listed.array;
  array.MakeWhole();
  return ColumnOf(array, group + "*", "");
}

// Returns the error of the parser of datasets, or an empty text.
std::string CheckColumns(const std::vector<Hdf5Column>& columns, Bytes file) {
  const Hdf5Format format(columns, nullptr);
  const auto again = Hdf5Format::Parse(format.text(), nullptr);
  // Unlike names of fields, names of datasets need not be UTF-8, so the format
  // may refuse its own text.
  Require(!again.ok() || (*again)->text() == format.text());
  const Result little = Parse(format, file, {.min = 8, .max = 8});
  const Result much = Parse(format, file, {});
  if (little.error.starts_with("RESOURCE") ||
      much.error.starts_with("RESOURCE"))
    return {};
  Require(little.error == much.error &&
          little.records.ends == much.records.ends &&
          little.records.keys.bytes == much.records.keys.bytes);
  ReadRows(format, columns.size(), file, much.records);
  return much.error;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  constexpr int kMostWrong = 64;
  std::vector<std::uint8_t> file(data, data + size);
  int wrong = 0;
  std::string error;
  std::vector<ListedArray> arrays = List(file, &error);
  while (arrays.empty() && wrong++ < kMostWrong && PutRight(error, &file))
    arrays = List(file, &error);
  std::vector<Hdf5Column> read;
  for (std::size_t i = 0; i < arrays.size() && i < 16; ++i) {
    if (!arrays[i].array.ok()) continue;
    const auto whole = ColumnOf(**arrays[i].array, arrays[i].path, "");
    // The columns come from one file, but may have different numbers of rows.
    if (whole.ok() && read.size() < 3 && (size + i) % 4 != 0)
      read.push_back(*whole);
    std::vector<std::string> members = {""};
    for (const auto& member : (*arrays[i].array)->type.members)
      members.push_back(member.name);
    for (std::size_t k = 0; k <= members.size() && k < 4; ++k) {
      auto column = k == members.size() ? ColumnOfGroup(arrays[i])
                                        : ColumnOf(**arrays[i].array,
                                                   arrays[i].path, members[k]);
      if (!column.ok()) continue;
      column->is_kept = (size + i) % 2 == 0;
      while (PutRight(CheckColumns({*column}, file), &file) &&
             wrong++ < kMostWrong) {
      }
    }
  }
  if (read.size() > 1) CheckColumns(read, file);
  return 0;
}
