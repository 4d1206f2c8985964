#include "client/wire/dataset.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "client/wire/array_records.h"
#include "client/wire/dataset_spec.h"
#include "client/wire/packet_socket.h"

namespace forebay::client::wire {
namespace {

constexpr size_t kMaxExtraRoots = 8;
constexpr size_t kMaxUri = 4096;  // the most bytes of a URI in a spec

Status OpenFolder(const char* path, const char* what,
                  std::vector<proto::Fd>* out) {
  proto::Fd fd(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno,
                       std::string("cannot open the ") + what + " " + path);
  out->push_back(std::move(fd));
  return Status();
}

// Whether the daemon finds the dataset by its URI alone: "gs://bucket". The
// client then opens no folder.
bool IsRemote(const forebay_loader_options& options) {
  if (options.root != nullptr) return false;
  const std::string_view uri = options.uri;
  const size_t scheme = uri.find("://");
  return scheme != uri.npos && uri.find('/') == scheme + 1 &&
         uri.substr(0, scheme) != "file";
}

// Opens the dataset's folder and the extra roots with the rights of this
// process. The daemon thus reads only folders that the user can open.
Status OpenFolders(const forebay_loader_options& options,
                   const DatasetLocation& location,
                   std::vector<proto::Fd>* out) {
  if (IsRemote(options)) {
    if (options.extra_root_count == 0) return Status();
    return Status(FOREBAY_INVALID_ARGUMENT,
                  location.uri +
                      ": extra roots are for links in folders; here there are "
                      "none");
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      OpenFolder(location.folder.c_str(), "dataset folder", out));
  for (size_t i = 0; i < options.extra_root_count; ++i) {
    const char* const path = options.extra_roots[i];
    if (path == nullptr || path[0] != '/')
      return Status(FOREBAY_INVALID_ARGUMENT,
                    "an extra root must be an absolute path");
    FOREBAY_CLIENT_RETURN_IF_ERROR(OpenFolder(path, "extra root", out));
  }
  return Status();
}

Status CheckOptions(const forebay_loader_options& options) {
  if (options.uri == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a loader needs a dataset");
  if (options.extra_root_count > 0 && options.extra_roots == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "extra_roots is null");
  if (options.extra_root_count > kMaxExtraRoots)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "a dataset may have at most 8 extra roots");
  return Status();
}

}  // namespace

std::vector<int> Dataset::fds() const {
  std::vector<int> fds;
  for (const std::shared_ptr<const proto::Fd>& fd : fds_)
    fds.push_back(fd->get());
  return fds;
}

Status Dataset::FromOptions(const forebay_loader_options& options,
                            Dataset* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOptions(options));
  DatasetLocation location;
  FOREBAY_CLIENT_RETURN_IF_ERROR(LocateDataset(options, &location));
  return FromLocation(options, location, out);
}

Status Dataset::FromTable(const forebay_loader_options& options,
                          std::string_view table, Dataset* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOptions(options));
  DatasetLocation location;
  FOREBAY_CLIENT_RETURN_IF_ERROR(LocateTable(options, &location));
  proto::Fd memory;
  FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(table, &memory));
  Dataset dataset;
  FOREBAY_CLIENT_RETURN_IF_ERROR(FromLocation(options, location, &dataset));
  dataset.Add(std::move(memory));
  *out = std::move(dataset);
  return Status();
}

Status Dataset::FromLocation(const forebay_loader_options& options,
                             const DatasetLocation& location, Dataset* out) {
  std::vector<proto::Fd> folders;
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenFolders(options, location, &folders));
  Dataset dataset;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      SpecOfLocation(options, location, &dataset.spec_));
  for (proto::Fd& folder : folders) dataset.Add(std::move(folder));
  *out = std::move(dataset);
  return Status();
}

Status Dataset::FromArrays(const char* uri, const forebay_array* arrays,
                           size_t count, Dataset* out) {
  Records records;
  FOREBAY_CLIENT_RETURN_IF_ERROR(DescribeRecords(arrays, count, &records));
  proto::Fd memory;
  FOREBAY_CLIENT_RETURN_IF_ERROR(WriteRecords(records, &memory));
  Dataset dataset;
  dataset.spec_.uri = uri;
  dataset.spec_.kind = message::Arrays{FieldsOf(records), records.samples};
  dataset.Add(std::move(memory));
  *out = std::move(dataset);
  return Status();
}

Status Dataset::FromWorkers(const char* uri, std::string_view identity,
                            std::uint64_t samples, const forebay_array* fields,
                            size_t count, Dataset* out) {
  Records records;
  FOREBAY_CLIENT_RETURN_IF_ERROR(DescribeRecords(fields, count, &records));
  message::Produced produced;
  produced.fields = FieldsOf(records);
  produced.samples = samples;
  produced.identity = identity;
  Dataset dataset;
  dataset.spec_.uri = uri;
  dataset.spec_.kind = std::move(produced);
  *out = std::move(dataset);
  return Status();
}

void Dataset::SetAffinityWorkers(std::uint32_t workers) {
  if (auto* const produced = std::get_if<message::Produced>(&spec_.kind))
    produced->affinity_workers = workers;
}

void Dataset::SetLive() {
  // A live dataset has affinity to one worker, which makes all its samples.
  SetAffinityWorkers(1);
  if (auto* const produced = std::get_if<message::Produced>(&spec_.kind))
    produced->live = true;
}

void Dataset::SetHostFields(std::uint32_t count) {
  if (auto* const produced = std::get_if<message::Produced>(&spec_.kind))
    produced->host_fields = count;
}

message::DatasetSpec Dataset::AsPart() const {
  message::DatasetSpec part = spec_;
  part.descriptors = static_cast<std::uint32_t>(fds_.size());
  return part;
}

Status Dataset::Subset(const std::int64_t* samples, size_t count,
                       Dataset* out) const {
  return SubsetBy(
      {reinterpret_cast<const char*>(samples), count * sizeof *samples}, 0,
      out);
}

Status Dataset::Select(const char* keys, const std::uint32_t* lengths,
                       size_t count, Dataset* out) const {
  std::string list(reinterpret_cast<const char*>(lengths),
                   count * sizeof *lengths);
  list.append(keys, std::accumulate(lengths, lengths + count, size_t{0}));
  return SubsetBy(list, count, out);
}

Status Dataset::SubsetBy(std::string_view list, std::uint64_t keys,
                         Dataset* out) const {
  proto::Fd memory;
  FOREBAY_CLIENT_RETURN_IF_ERROR(SealedMemory(list, &memory));
  Dataset dataset;
  dataset.spec_.uri = spec_.uri;
  dataset.spec_.kind = message::Subset{{AsPart()}, keys};
  dataset.fds_ = fds_;
  dataset.Add(std::move(memory));
  *out = std::move(dataset);
  return Status();
}

Status Dataset::Concatenate(const std::vector<const Dataset*>& parts,
                            Dataset* out) {
  Dataset dataset;
  std::string& uri = dataset.spec_.uri;
  message::Concatenation concatenation;
  for (const Dataset* const part : parts) {
    if (!uri.empty()) uri += " + ";
    uri += part->uri();
    concatenation.parts.push_back(part->AsPart());
    dataset.fds_.insert(dataset.fds_.end(), part->fds_.begin(),
                        part->fds_.end());
  }
  dataset.spec_.kind = std::move(concatenation);
  // The joined name is only for people, so it may be cut off.
  uri.resize(std::min(uri.size(), kMaxUri));
  *out = std::move(dataset);
  return Status();
}

}  // namespace forebay::client::wire
