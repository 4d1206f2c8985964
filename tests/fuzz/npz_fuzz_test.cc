// Fuzzes .npz files. The parser ends for any bytes, and requests only bytes of
// the file. It knows the lengths of the arrays that it finds. A file that can
// be read has as many rows as it says, in memory of its own.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_format.h"
#include "server/dataset/npz/npz_parser.h"
#include "server/dataset/npz/npz_rows.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::base::AmpleBudget;
using forebay::base::WorkingMemory;
using forebay::dataset::ComputedBytes;
using forebay::dataset::FieldRange;
using forebay::dataset::FieldValue;
using forebay::dataset::ValueBuffers;
using forebay::dataset::npz::ArrayNamesOf;
using forebay::dataset::npz::LoadNpzRows;
using forebay::dataset::npz::NpzFormat;
using forebay::dataset::npz::NpzParser;
using forebay::dataset::npz::ReadMembers;
using forebay::dataset::records::FileRecords;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using forebay::storage::MemorySource;
using Bytes = absl::Span<const std::uint8_t>;

// Parses the file. Returns whether the file has all of the arrays.
bool Parse(Bytes file, const std::vector<std::string>& names,
           FileRecords* records) {
  WorkingMemory memory(AmpleBudget(), "arrays");
  auto parser = NpzParser::Create({"a", {.size = file.size(), .stamp = 1}},
                                  &names, &memory);
  if (!parser.ok()) return false;
  while (const auto read = (*parser)->next_read()) {
    Require(read->length > 0 && read->offset <= file.size() &&
            read->length <= file.size() - read->offset);
    if (!(*parser)->Take(file.subspan(read->offset, read->length)).ok())
      return false;
  }
  *records = (*parser)->TakeRecords();
  return true;
}

void ReadSample(Bytes file, const std::vector<std::string>& names) {
  const auto format = NpzFormat::Create(names, false);
  if (!format.ok()) return;
  FileRecords records;
  const bool is_parsed = Parse(file, names, &records);
  std::vector<FieldValue> values(names.size());
  ValueBuffers buffers;
  if (!(*format)->ReadValues(file, absl::MakeSpan(values), &buffers).ok())
    return;
  Require(is_parsed && records.bounds.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::uint64_t length = 0;
    if (const auto* const range = std::get_if<FieldRange>(&values[i])) {
      Require(range->offset <= file.size() &&
              range->length <= file.size() - range->offset);
      length = range->length;
    } else {
      const Bytes bytes = std::get<ComputedBytes>(values[i]).bytes;
      Touch(bytes.data(), bytes.size());
      length = bytes.size();
    }
    Require(length == records.bounds[i].longest);
  }
}

void LoadRows(Bytes file, std::uint64_t least_stored) {
  MemorySource source;
  const std::vector<forebay::storage::ListedObject> files = {
      {"a", source.Put("a", {reinterpret_cast<const char*>(file.data()),
                             file.size()})}};
  std::vector<std::string> warnings;
  const auto dataset = LoadNpzRows({.root = source.root(),
                                    .names = {},
                                    .source = &source,
                                    .budget = AmpleBudget(),
                                    .least_stored = least_stored,
                                    .stop = {}},
                                   files, &warnings);
  if (!dataset.ok() || (*dataset)->size() == 0) return;
  const auto last = (*dataset)->At((*dataset)->size() - 1);
  Require(last.length == (*dataset)->largest_sample() &&
          last.offset + last.length <= last.version.size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const Bytes file(data, size);
  std::vector<std::string> names = {"x"};
  if (const auto members = ReadMembers(file); members.ok()) {
    std::uint64_t bytes = 0;
    for (const auto& member : *members) bytes += member.length;
    // A hundred compressed bytes may become so many that decompressing them
    // takes long.
    if (bytes > 1 << 20) return 0;
    names = ArrayNamesOf(*members);
  }
  ReadSample(file, names);
  LoadRows(file, 1 << 26);
  LoadRows(file, 0);
  return 0;
}
