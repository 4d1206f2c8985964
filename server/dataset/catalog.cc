#include "server/dataset/catalog.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/dataset.pb.h"
#include "proto/dataset_texts.h"
#include "server/base/check.h"
#include "server/base/clock.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/array_record/array_record_files.h"
#include "server/dataset/folder/revalidation.h"
#include "server/dataset/hdf5/hdf5_format_choice.h"
#include "server/dataset/listing/brace_expansion.h"
#include "server/dataset/listing/file_list.h"
#include "server/dataset/listing/remote_file_list.h"
#include "server/dataset/lmdb/lmdb_format_choice.h"
#include "server/dataset/manifest/manifest_dataset.h"
#include "server/dataset/mds/column_choice.h"
#include "server/dataset/npz/npz_choice.h"
#include "server/dataset/object_version_lookup.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/spec_contents.h"
#include "server/dataset/tfrecord/example_choice.h"
#include "server/dataset/tfrecord/tfrecord_files.h"
#include "server/dataset/tokens/token_settings.h"
#include "server/storage/local/file_stat.h"
#include "server/storage/local/local_root.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {
namespace {

using storage::local::LocalRoot;
// A request to a bucket takes as long as reading a megabyte. So headers that
// lie close together are read in one request, with the bytes between them.
constexpr std::size_t kRemoteFilesAtOnce = 32;
constexpr ReadSizes kRemoteReadSizes = {.min = 256 << 10, .max = 2 << 20};

// Returns `root` as a folder of this host, or null if it is not one.
const LocalRoot* AsFolder(const storage::Root& root) {
  return dynamic_cast<const LocalRoot*>(&root);
}

std::vector<std::string> PatternsOf(const proto::DatasetSpec& spec) {
  return {FilesOf(spec).begin(), FilesOf(spec).end()};
}

absl::Status NoFiles(const storage::Root& root) {
  return absl::InvalidArgumentError(
      absl::StrCat(root.uri(), ": no files were named"));
}

manifest::FieldColumns ColumnsOf(const proto::Manifest& spec) {
  manifest::FieldColumns columns;
  for (const proto::FieldColumn& column : spec.columns()) {
    columns.fields.push_back(column.field());
    columns.columns.push_back(column.column());
  }
  return columns;
}

// Returns a text that differs for different sets of files below one root.
std::string NameOf(const std::vector<std::string>& patterns) {
  return absl::StrJoin(patterns, std::string(1, '\0'));
}

// Sets the request's format, fields and types. Errors name the root.
absl::Status ChooseFormat(const proto::DatasetSpec& spec,
                          base::MemoryBudget* budget,
                          records::RecordRequest* request,
                          std::vector<std::string>* warnings) {
  std::vector<std::string> names;
  std::vector<std::string> types;
  for (const proto::TypedField& field : TypedFieldsOf(spec)) {
    names.push_back(field.name());
    types.push_back(field.type());
  }
  const auto complete = [&](const auto& choice) {
    if (choice.ok()) choice->Complete(request, warnings);
    return choice.status();
  };
  absl::Status status;
  if (spec.has_npz()) {
    status = complete(npz::NpzChoice::Create(spec.npz()));
  } else if (spec.has_mds()) {
    status = complete(mds::ColumnChoice::Create(names, types));
  } else if (spec.has_lmdb()) {
    status = complete(
        lmdb::LmdbFormatChoice::Create(names, types, spec.lmdb().database()));
  } else if (spec.has_hdf5()) {
    status = complete(hdf5::Hdf5FormatChoice::Create(names, types, budget));
  } else {
    const auto choice = tfrecord::ExampleChoice::Create(names, types);
    if (choice.ok()) {
      choice->Complete(spec.has_array_record()
                           ? array_record::ArrayRecordFiles()
                           : tfrecord::TfrecordFiles(),
                       budget, request, warnings);
    }
    status = choice.status();
  }
  return base::Annotate(status, request->root->uri());
}

absl::StatusOr<storage::ObjectVersion> StatRegularFile(
    const LocalRoot& root, const std::string& path) {
  FOREBAY_ASSIGN_OR_RETURN(const storage::local::FileStat stat,
                           root.Stat(path));
  if (stat.type != storage::local::FileType::kRegular) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a regular file"));
  }
  return stat.version();
}

}  // namespace

Catalog::Catalog(CatalogOptions options)
    : options_(std::move(options)),
      index_cache_(options_.budget,
                   [] { return base::Clock::Monotonic()->NowNanos(); }),
      folders_(options_, &index_cache_),
      shards_(options_.index_directory, options_.budget, &index_cache_),
      manifests_(options_.budget),
      npy_files_(options_.index_directory, options_.budget),
      npz_files_(options_.budget),
      records_(options_.index_directory, options_.budget, &index_cache_),
      tokens_(options_.budget),
      zips_(options_.index_directory, options_.budget, &index_cache_) {
  FOREBAY_CHECK(options_.scan_threads >= 1 && options_.wall_clock != nullptr &&
                options_.budget != nullptr);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::Open(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening, std::optional<std::string_view> table) {
  if (AsFolder(*root) == nullptr && options_.lister == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(root->uri(), ": is not a folder"));
  }
  switch (spec.kind_case()) {
    case proto::DatasetSpec::kImageFolder:
    case proto::DatasetSpec::kAudioFolder:
    case proto::DatasetSpec::kNpyFolder:
      return folders_.Open(std::move(root), spec, warnings, opening.stop);
    case proto::DatasetSpec::kWebdataset:
      return OpenShards(std::move(root), spec, source, warnings, opening);
    case proto::DatasetSpec::kManifest:
      return OpenManifest(root, spec, source, warnings, opening, table);
    case proto::DatasetSpec::kNpyFiles:
      return OpenNpyFiles(std::move(root), spec, source, warnings, opening);
    case proto::DatasetSpec::kNpz:
      return OpenNpzFiles(std::move(root), spec, source, warnings, opening);
    case proto::DatasetSpec::kTfrecord:
    case proto::DatasetSpec::kLmdb:
    case proto::DatasetSpec::kMds:
    case proto::DatasetSpec::kArrayRecord:
    case proto::DatasetSpec::kHdf5:
      return OpenRecords(std::move(root), spec, source, warnings, opening);
    case proto::DatasetSpec::kTokens:
      return OpenTokens(std::move(root), spec, source, opening);
    case proto::DatasetSpec::kZip:
      return OpenZips(std::move(root), spec, source, warnings, opening);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(root->uri(), ": the dataset's kind is not known"));
  }
}

absl::StatusOr<std::vector<storage::ListedObject>> Catalog::ListFiles(
    const storage::Root& root, const std::vector<std::string>& patterns,
    base::WorkingMemory& memory, const std::stop_token& stop) const {
  const auto* const folder = AsFolder(root);
  return folder != nullptr ? listing::ListFiles(*folder, patterns, memory, stop)
                           : listing::ListRemoteFiles(*options_.lister, root,
                                                      patterns, memory, stop);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenShards(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::vector<std::string> patterns = PatternsOf(spec);
  if (patterns.empty()) return NoFiles(*root);
  const auto& names = spec.webdataset().fields();
  auto fields = shards::FieldChoice::Create({names.begin(), names.end()});
  if (!fields.ok()) return base::Annotate(fields.status(), root->uri());
  shards::ShardRequest request{
      .root = root,
      .name = NameOf(patterns),
      .fields = *std::move(fields),
      .list =
          [&](base::WorkingMemory& memory, const std::stop_token& search) {
            return ListFiles(*root, patterns, memory, search);
          },
      .source = &source};
  if (AsFolder(*root) == nullptr) {
    request.shards_at_once = kRemoteFilesAtOnce;
    request.read_sizes = kRemoteReadSizes;
  }
  return shards_.Open(request, warnings, opening);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenManifest(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening, std::optional<std::string_view> table) {
  const auto* const folder = AsFolder(*root);
  manifest::FindRoot find_root;
  if (folder != nullptr)
    find_root = [folder](const auto& path) { return folder->NameIn(path); };
  const auto stat_until =
      [&](const std::stop_token& search) -> manifest::StatFunction {
    if (folder != nullptr)
      return std::bind_front(StatRegularFile, std::cref(*folder));
    return [objects = std::make_shared<ObjectVersionLookup>(
                options_.lister, root, options_.budget, search)](
               const auto& path) { return objects->Find(path); };
  };
  const std::string& path = spec.manifest().path();
  const manifest::ManifestRequest request{
      .root = root,
      .path = path,
      .table = path.empty() ? table : std::nullopt,
      .fields = ColumnsOf(spec.manifest()),
      .absolute_root = root->uri(),
      .find_root = std::move(find_root),
      .stat_until = stat_until,
      .threads = options_.scan_threads,
      .max_stats =
          folder == nullptr ? 0 : folder::RevalidationLimits().Of(*folder),
      .source = &source};
  return manifests_.Open(request, warnings, opening);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenNpyFiles(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::vector<std::string> patterns = PatternsOf(spec);
  if (patterns.empty()) return NoFiles(*root);
  const npy::NpyRequest request{
      .root = root,
      .name = NameOf(patterns),
      .list =
          [&](base::WorkingMemory& memory, const std::stop_token& search) {
            return ListFiles(*root, patterns, memory, search);
          },
      .source = &source,
      .files_at_once = AsFolder(*root) != nullptr
                           ? static_cast<std::size_t>(options_.scan_threads)
                           : kRemoteFilesAtOnce};
  return npy_files_.Open(request, warnings, opening);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenNpzFiles(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  const auto choice = npz::NpzChoice::Create(spec.npz());
  if (!choice.ok()) return base::Annotate(choice.status(), root->uri());
  if (!choice->rows())
    return OpenRecords(std::move(root), spec, source, warnings, opening);
  const std::vector<std::string> patterns = PatternsOf(spec);
  if (patterns.empty()) return NoFiles(*root);
  const npz::NpzRequest request{
      .root = root,
      .name = NameOf(patterns),
      .arrays = choice->names(),
      .list =
          [&](base::WorkingMemory& memory, const std::stop_token& search) {
            return ListFiles(*root, patterns, memory, search);
          },
      .source = &source};
  return npz_files_.Open(request, warnings, opening);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenRecords(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::vector<std::string> patterns = PatternsOf(spec);
  if (patterns.empty()) return NoFiles(*root);
  const bool is_folder = AsFolder(*root) != nullptr;
  records::RecordRequest request;
  request.root = root;
  request.name = NameOf(patterns);
  request.list = [&](base::WorkingMemory& memory,
                     const std::stop_token& search) {
    return spec.has_lmdb() ? ListEnvironments(*root, patterns, memory, search)
                           : ListFiles(*root, patterns, memory, search);
  };
  request.source = &source;
  request.reads_transaction_ids = is_folder;
  if (!is_folder) {
    request.files_at_once = kRemoteFilesAtOnce;
    request.read_sizes = kRemoteReadSizes;
  }
  FOREBAY_RETURN_IF_ERROR(
      ChooseFormat(spec, options_.budget, &request, warnings));
  return records_.Open(request, warnings, opening);
}

// An LMDB environment is a folder with a file data.mdb, or such a file itself.
// The first pattern decides whether all patterns name folders or files.
absl::StatusOr<std::vector<storage::ListedObject>> Catalog::ListEnvironments(
    const storage::Root& root, const std::vector<std::string>& patterns,
    base::WorkingMemory& memory, const std::stop_token& stop) const {
  constexpr std::string_view kFile = "/data.mdb";
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string> expanded,
                           listing::ExpandBraces(patterns.front(), memory));
  const std::string& one =
      expanded.empty() ? patterns.front() : expanded.front();
  const auto first =
      ListFiles(root, {absl::StrCat(one, std::string(kFile))}, memory, stop);
  if (!first.ok()) {
    auto files = ListFiles(root, patterns, memory, stop);
    // If the pattern names a folder, the error says that it lacks data.mdb.
    return absl::IsInvalidArgument(files.status()) ? first : files;
  }
  std::vector<std::string> in_folders;
  for (const std::string& pattern : patterns)
    in_folders.push_back(absl::StrCat(pattern, std::string(kFile)));
  return ListFiles(root, in_folders, memory, stop);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenTokens(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, const Opening& opening) {
  auto settings = tokens::SettingsOf(spec.tokens());
  if (!settings.ok()) return base::Annotate(settings.status(), root->uri());
  const tokens::TokenRequest request{
      .root = root,
      .patterns = PatternsOf(spec),
      .settings = *std::move(settings),
      .list =
          [&](const std::vector<std::string>& patterns,
              base::WorkingMemory& memory, const std::stop_token& search) {
            return ListFiles(*root, patterns, memory, search);
          },
      .source = &source,
      .files_at_once = AsFolder(*root) != nullptr
                           ? static_cast<std::size_t>(options_.scan_threads)
                           : kRemoteFilesAtOnce};
  if (request.patterns.empty()) return NoFiles(*root);
  return tokens_.Open(request, opening);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenZips(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  zip::ZipRequest request;
  request.patterns = PatternsOf(spec);
  if (request.patterns.empty()) return NoFiles(*root);
  request.root = root;
  request.folder = spec.zip().folder();
  if (!proto::Zip::Content_IsValid(spec.zip().content())) {
    return absl::InvalidArgumentError(
        absl::StrCat(root->uri(), ": ", proto::kNotZipFields));
  }
  request.are_audio = spec.zip().content() == proto::Zip::AUDIO;
  request.list = [&](base::WorkingMemory& memory,
                     const std::stop_token& search) {
    return ListFiles(*root, request.patterns, memory, search);
  };
  request.source = &source;
  if (AsFolder(*root) == nullptr) request.archives_at_once = kRemoteFilesAtOnce;
  return zips_.Open(request, warnings, opening);
}

absl::StatusOr<storage::ObjectVersion> Catalog::FindVersion(
    const storage::Root& root, const std::string& name,
    const std::stop_token& stop) const {
  if (const auto* const folder = AsFolder(root))
    return StatRegularFile(*folder, name);
  if (options_.lister == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no objects are read there"));
  }
  return options_.lister->Stat(root, name, stop);
}

void Catalog::MarkStale(const Dataset& dataset) {
  for (const Dataset* const source : dataset.sources()) {
    if (const auto* const table =
            dynamic_cast<const manifest::ManifestDataset*>(source)) {
      table->MarkStale();
    } else {
      folders_.MarkStale(source->version());
    }
  }
}

}  // namespace forebay::dataset
