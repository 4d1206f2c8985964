#include "server/dataset/records/record_catalog.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/compressed/decompressing_parser.h"
#include "server/dataset/compressed/point_file.h"
#include "server/dataset/object_scan.h"
#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/record_dataset.h"
#include "server/dataset/records/record_layout.h"
#include "server/storage/read_now.h"

// An opening takes the index that other loaders have open, if it has the listed
// files in their versions. Otherwise it takes the index on disk, on the same
// condition. Otherwise it scans the files. If files have transaction ids, these
// are read before an index is used again: a writer that maps a file may leave
// its size and time unchanged.

namespace forebay::dataset::records {
namespace {

// The most attempts to list and scan files that change meanwhile.
constexpr int kMaxTries = 3;
// Reads of the scan take at most one part in kReadsPart of the memory limit.
constexpr std::uint64_t kReadsPart = 32;

// Returns a text that tells the datasets of different requests apart.
std::string NameOf(const RecordRequest& request) {
  const auto identity = request.root->identity();
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      std::string(1, '\0'), request.name);
}

// The parser of one file, and the parser in front of it, which decompresses the
// file. `decompressing` is null if files of the format are never compressed.
struct FileParser {
  absl::StatusOr<ObjectParser*> Begin(const RecordFormat& format,
                                      const storage::ListedObject& file,
                                      const ReadSizes& read_sizes,
                                      compressed::PointFileWriter* points,
                                      base::WorkingMemory* memory) {
    const auto make =
        [=, this, &format](
            std::uint64_t size,
            const ReadSizes& sizes) -> absl::StatusOr<ObjectParser*> {
      storage::ListedObject sized = file;
      sized.version.size = size;
      FOREBAY_ASSIGN_OR_RETURN(records, format.Parse(sized, sizes, memory));
      return records.get();
    };
    if (!format.may_be_compressed()) return make(file.version.size, read_sizes);
    FOREBAY_ASSIGN_OR_RETURN(
        decompressing,
        compressed::DecompressingParser::Create(
            file,
            {.compression_of =
                 [&format](absl::Span<const std::uint8_t> start) {
                   return format.CompressionOf(start);
                 },
             .make = make},
            read_sizes, points, memory));
    return decompressing.get();
  }

  std::unique_ptr<RecordParser> records;
  std::unique_ptr<compressed::DecompressingParser> decompressing;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> RecordCatalog::Open(
    const RecordRequest& request, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::string name = NameOf(request);
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find(name, request.root->uri(), opening,
                   [&](Search::Start start, const std::stop_token& search) {
                     return FindIndex(request, name, std::move(start.item),
                                      warnings, search);
                   }));
  if (index_cache_ != nullptr)
    index_cache_->Keep(
        absl::StrCat("records ", name), index,
        index->memory() + storage::compressed::MemoryOf(index->points()));
  auto format = request.make_format(index->format());
  if (!format.ok()) return base::Annotate(format.status(), request.root->uri());
  FileClasses classes;
  if ((*format)->class_field().has_value()) {
    auto found = FileClasses::Create(*index, budget_);
    if (!found.ok()) return base::Annotate(found.status(), request.root->uri());
    classes = *std::move(found);
  }
  return std::make_shared<const RecordDataset>(std::move(index),
                                               *std::move(format), request.root,
                                               budget_, std::move(classes));
}

absl::StatusOr<RecordCatalog::IndexPtr> RecordCatalog::FindIndex(
    const RecordRequest& request, const std::string& name, IndexPtr previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, name, previous, warnings, stop);
    if (index.ok()) return index;
    // These errors mean that a file has changed between the listing and the
    // scan.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (!changed || tries == kMaxTries)
      return base::Annotate(index.status(), request.root->uri());
  }
}

absl::StatusOr<RecordCatalog::IndexPtr> RecordCatalog::FindOnce(
    const RecordRequest& request, const std::string& name, IndexPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of files and their index");
  FOREBAY_ASSIGN_OR_RETURN(const RecordRequest::Files files,
                           request.list(memory, stop));
  if (files.empty()) return absl::NotFoundError("no file was named");
  IndexPtr found = previous != nullptr && previous->IsOf(files)
                       ? previous
                       : Load(request, name, files, warnings);
  previous.reset();
  if (found != nullptr) {
    FOREBAY_ASSIGN_OR_RETURN(const bool is_current,
                             HasTransactionIds(request, found, stop));
    if (is_current) return found;
    found.reset();
  }
  FOREBAY_ASSIGN_OR_RETURN(IndexPtr index,
                           Scan(request, name, files, memory, stop));
  if (store_.has_value()) {
    if (const auto saved = store_->Save(name, *index); !saved.ok()) {
      warnings->push_back(absl::StrCat(
          request.root->uri(),
          ": its index is kept in memory only: ", saved.message()));
    }
  }
  return index;
}

absl::StatusOr<RecordCatalog::IndexPtr> RecordCatalog::Scan(
    const RecordRequest& request, const std::string& name,
    const RecordRequest::Files& files, base::WorkingMemory& memory,
    const std::stop_token& stop) const {
  FOREBAY_ASSIGN_OR_RETURN(const RecordRequest::FormatPtr format,
                           request.find_format(files, memory, stop));
  compressed::PointFileWriter points(
      store_.has_value() ? store_->PointsPathOf(name) : "", &memory);
  std::vector<std::optional<storage::compressed::DecompressedFile>> compressed;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(compressed, files.size()));
  compressed.resize(files.size());
  std::map<std::size_t, FileParser> parsers;
  std::vector<FileRecords> records;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(records, files.size()));
  records.resize(files.size());
  const std::uint64_t reads =
      budget_->limit() / kReadsPart / request.read_sizes.max;
  ObjectScan scan{.source = request.source,
                  .root = request.root,
                  .objects = files,
                  .objects_at_once = std::min<std::size_t>(
                      request.files_at_once, std::max<std::uint64_t>(1, reads)),
                  .uncached = true,
                  .stop = stop,
                  .begin = {},
                  .end = {}};
  scan.begin = [&](std::size_t file) -> absl::StatusOr<ObjectParser*> {
    return parsers[file].Begin(*format, files[file], request.read_sizes,
                               &points, &memory);
  };
  scan.end = [&](std::size_t file) {
    const auto parser = parsers.find(file);
    records[file] = parser->second.records->TakeRecords();
    if (parser->second.decompressing != nullptr)
      compressed[file] = parser->second.decompressing->TakeDecompressed();
    // Only the sources of local files can check transaction ids. So versions of
    // other files have none.
    if (!request.reads_transaction_ids) records[file].transaction_id = 0;
    parsers.erase(parser);
    return absl::OkStatus();
  };
  FOREBAY_RETURN_IF_ERROR(ScanObjects(scan, memory));
  FOREBAY_ASSIGN_OR_RETURN(compressed::PointsPtr found,
                           points.Finish(files, std::move(compressed)));
  return BuildRecordIndex(format->text(), files, std::move(records), memory,
                          std::move(found));
}

// Reads one byte of each file, in the version that the index records. A source
// of local files refuses the read if the transaction id has changed.
absl::StatusOr<bool> RecordCatalog::HasTransactionIds(
    const RecordRequest& request, const IndexPtr& index,
    const std::stop_token& stop) const {
  if (!request.reads_transaction_ids) return true;
  FOREBAY_ASSIGN_OR_RETURN(RecordRequest::FormatPtr format,
                           request.make_format(index->format()));
  if (!format->has_transaction_ids()) return true;
  const auto layout =
      std::make_shared<const RecordLayout>(index, std::move(format), budget_);
  for (std::size_t file = 0; file < index->parts().files.size(); ++file) {
    storage::ListedObject known = index->FileAt(file);
    storage::ReadRequest read;
    read.root = request.root;
    read.object = std::move(known.name);
    read.version = known.version;
    read.layout = layout;
    read.length = 1;
    read.uncached = true;
    const absl::Status status =
        storage::ReadNow(*request.source, std::move(read), stop).status();
    if (absl::IsFailedPrecondition(status)) return false;
    FOREBAY_RETURN_IF_ERROR(status);
  }
  return true;
}

// If loading fails, adds a warning, unless the index is missing or out of date.
RecordCatalog::IndexPtr RecordCatalog::Load(
    const RecordRequest& request, const std::string& name,
    const RecordRequest::Files& files,
    std::vector<std::string>* warnings) const {
  if (!store_.has_value()) return nullptr;
  absl::Status status;
  if (auto index = store_->Load(name, files); index.ok()) {
    status = request.make_format((*index)->format()).status();
    if (status.ok()) return *std::move(index);
  } else {
    status = index.status();
  }
  if (!absl::IsNotFound(status)) {
    warnings->push_back(absl::StrCat(
        request.root->uri(), ": its index is built anew: ", status.message()));
  }
  return nullptr;
}

}  // namespace forebay::dataset::records
