#include "client/wire/dataset_location.h"

#include <string_view>

namespace forebay::client::wire {
namespace {

// Splits a path at the last slash before position `end`. Stores the folder in
// `location`, and the part after the slash in `rest`. If there is no such
// slash, the folder is the current folder.
void Split(std::string_view path, size_t end, DatasetLocation* location,
           std::string* rest) {
  const size_t slash = end == 0 ? path.npos : path.rfind('/', end - 1);
  if (slash == path.npos) {
    location->uri = ".";
    *rest = path;
  } else {
    location->uri = path.substr(0, slash == 0 ? 1 : slash);
    *rest = path.substr(slash + 1);
  }
  location->folder = location->uri;
}

// Finds the folder and the patterns of files. With a root, the options list the
// patterns; without one, `uri` is the path of the files.
Status FindFiles(const forebay_loader_options& options, std::string_view uri,
                 DatasetLocation* location) {
  if (options.root == nullptr) {
    if (options.shard_count > 0)
      return Status(
          FOREBAY_INVALID_ARGUMENT,
          "files (`shards`) need the folder that they lie in (`root`)");
    // The folder ends before the first component that has a pattern.
    const size_t special = uri.find_first_of("{*?[");
    location->files.emplace_back();
    Split(uri, special == uri.npos ? uri.size() : special, location,
          &location->files[0]);
    return Status();
  }
  for (size_t i = 0; i < options.shard_count; ++i) {
    if (options.shards == nullptr || options.shards[i] == nullptr)
      return Status(FOREBAY_INVALID_ARGUMENT, "the name of a file is null");
    location->files.emplace_back(options.shards[i]);
  }
  return Status();
}

// Finds zip archives. Without a root, the options' uri ends in the folder
// inside the archives, as in "/data/all.zip/train". Removes this folder from
// the uri before it looks for the files.
Status FindArchives(const forebay_loader_options& options,
                    DatasetLocation* location) {
  std::string_view uri = options.uri;
  if (options.folder == nullptr) return FindFiles(options, uri, location);
  location->inner_folder = options.folder;
  const std::string end = "/" + location->inner_folder;
  if (options.root == nullptr) {
    if (uri.size() <= end.size() ||
        uri.substr(uri.size() - end.size()) != end) {
      return Status(FOREBAY_INVALID_ARGUMENT,
                    "the path of archives must end in the folder in them");
    }
    uri.remove_suffix(end.size());
  }
  return FindFiles(options, uri, location);
}

// Whether a path ends in a single slash: it then names a folder, and not files.
bool IsFolder(std::string_view uri) {
  return uri.size() > 1 && uri.back() == '/' && uri[uri.size() - 2] != '/';
}

Status CheckFields(const forebay_loader_options& options) {
  for (size_t i = 0; i < options.field_count; ++i) {
    if (options.fields == nullptr || options.fields[i] == nullptr)
      return Status(FOREBAY_INVALID_ARGUMENT, "the name of a field is null");
  }
  return Status();
}

Status CheckColumns(const forebay_loader_options& options) {
  for (size_t i = 0; i < options.field_count; ++i) {
    if (options.columns == nullptr || options.columns[i] == nullptr)
      return Status(FOREBAY_INVALID_ARGUMENT, "the name of a column is null");
  }
  return Status();
}

}  // namespace

Status LocateDataset(const forebay_loader_options& options,
                     DatasetLocation* location) {
  *location = DatasetLocation();
  location->uri = options.uri;
  location->folder = options.root != nullptr ? options.root : options.uri;
  if (Status checked = CheckFields(options); !checked.ok()) return checked;
  switch (options.format) {
    case FOREBAY_NPY:
      if (options.root == nullptr && IsFolder(location->uri)) {
        location->uri.pop_back();
        location->folder = location->uri;
        return Status();
      }
      return FindFiles(options, options.uri, location);
    case FOREBAY_WEBDATASET:
      return FindFiles(options, options.uri, location);
    case FOREBAY_ZIP:
      return FindArchives(options, location);
    case FOREBAY_MDS:
      if (options.columns == nullptr)
        return FindFiles(options, options.uri, location);
      [[fallthrough]];
    case FOREBAY_TFRECORD:
    case FOREBAY_LMDB:
    case FOREBAY_HDF5:
    case FOREBAY_NPZ:
    case FOREBAY_TOKENS:
    case FOREBAY_ARRAY_RECORD:
      if (Status checked = CheckColumns(options); !checked.ok()) return checked;
      return FindFiles(options, options.uri, location);
    case FOREBAY_MANIFEST:
      if (Status checked = CheckColumns(options); !checked.ok()) return checked;
      if (options.root != nullptr)
        return Status(
            FOREBAY_INVALID_ARGUMENT,
            "a manifest must lie in the folder that its paths are relative to");
      Split(options.uri, std::string_view(options.uri).size(), location,
            &location->manifest);
      return Status();
    default:
      return Status();
  }
}

Status LocateTable(const forebay_loader_options& options,
                   DatasetLocation* location) {
  if (options.format != FOREBAY_MANIFEST)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "a table in memory is of the format FOREBAY_MANIFEST");
  if (Status checked = CheckFields(options); !checked.ok()) return checked;
  if (Status checked = CheckColumns(options); !checked.ok()) return checked;
  *location = DatasetLocation();
  location->uri = options.uri;
  location->folder = options.root != nullptr ? options.root : options.uri;
  return Status();
}

}  // namespace forebay::client::wire
