#ifndef FOREBAY_CLIENT_WIRE_DATASET_H_
#define FOREBAY_CLIENT_WIRE_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/status.h"
#include "client/forebay_producer.h"
#include "client/wire/dataset_location.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// A dataset as it is sent to the daemon: a spec and its descriptors. An
// immutable value, cheap to copy: copies share the descriptors. Thread-safe.
// Only opening folders may block. Errors: those of the functions in
// forebay_dataset.h and forebay_producer.h; see forebay_dataset_from_place for
// FromOptions.
class Dataset {
 public:
  static Status FromOptions(const forebay_loader_options& options,
                            Dataset* out);
  // `table` is CSV; see forebay_dataset_from_table.
  static Status FromTable(const forebay_loader_options& options,
                          std::string_view table, Dataset* out);
  static Status FromArrays(const char* uri, const forebay_array* arrays,
                           size_t count, Dataset* out);
  // `identity` has 16 bytes.
  static Status FromProducers(const char* uri, std::string_view identity,
                              std::uint64_t samples,
                              const forebay_array* fields, size_t count,
                              Dataset* out);
  // Of a dataset from producers: see forebay_dataset_set_lanes.
  void SetLanes(std::uint32_t lanes);
  // Likewise: see forebay_dataset_set_live.
  void SetLive();
  // Likewise: see forebay_dataset_set_host_fields.
  void SetHostFields(std::uint32_t count);
  Status Subset(const std::int64_t* samples, size_t count, Dataset* out) const;
  Status Select(const char* keys, const std::uint32_t* lengths, size_t count,
                Dataset* out) const;
  static Status Concatenate(const std::vector<const Dataset*>& parts,
                            Dataset* out);

  // Its name for people.
  const std::string& uri() const { return uri_; }
  // A serialized proto.DatasetSpec.
  const std::string& spec() const { return spec_; }
  // In the order in which they are sent.
  std::vector<int> fds() const;

 private:
  static Status FromLocation(const forebay_loader_options& options,
                             const DatasetLocation& location, Dataset* out);
  // A subset, by `list`; by so many keys, if they are not 0.
  Status SubsetBy(std::string_view list, std::uint64_t keys,
                  Dataset* out) const;
  void Add(proto::Fd fd) {
    fds_.push_back(std::make_shared<const proto::Fd>(std::move(fd)));
  }

  std::string uri_;
  std::string spec_;
  std::vector<std::shared_ptr<const proto::Fd>> fds_;
};

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_H_
