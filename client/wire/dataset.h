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
#include "proto/dataset.message.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// A dataset as it is sent to the daemon: a spec and its descriptors, which are
// folders or memfds.
//
// A value, cheap to copy: copies share the descriptors. Thread-safe except for
// the Set methods, which must be called before the dataset is used. Only the
// opening of folders may block. Each method implements a function of
// forebay_dataset.h or forebay_producer.h, and has that function's errors.
class Dataset {
 public:
  // See forebay_dataset_from_place.
  static Status FromOptions(const forebay_loader_options& options,
                            Dataset* out);
  // See forebay_dataset_from_table. `table` is CSV.
  static Status FromTable(const forebay_loader_options& options,
                          std::string_view table, Dataset* out);
  static Status FromArrays(const char* uri, const forebay_array* arrays,
                           size_t count, Dataset* out);
  // See forebay_dataset_from_producers. `identity` has 16 bytes.
  static Status FromWorkers(const char* uri, std::string_view identity,
                            std::uint64_t samples, const forebay_array* fields,
                            size_t count, Dataset* out);
  // The Set methods have no effect on datasets that are not from workers.
  //
  // Sets the number of workers to which samples have affinity: see
  // forebay_dataset_set_lanes.
  void SetAffinityWorkers(std::uint32_t workers);
  // Makes a dataset from workers live: see forebay_dataset_set_live.
  void SetLive();
  // Keeps the first `count` fields of a dataset from workers on the host: see
  // forebay_dataset_set_host_fields.
  void SetHostFields(std::uint32_t count);
  // The next three methods implement forebay_dataset_subset,
  // forebay_dataset_select and forebay_dataset_concatenate.
  Status Subset(const std::int64_t* samples, size_t count, Dataset* out) const;
  Status Select(const char* keys, const std::uint32_t* lengths, size_t count,
                Dataset* out) const;
  static Status Concatenate(const std::vector<const Dataset*>& parts,
                            Dataset* out);

  // Returns the dataset's name for people.
  const std::string& uri() const { return spec_.uri; }
  const message::DatasetSpec& spec() const { return spec_; }
  // Returns the descriptors that are sent with the spec, in the spec's order.
  // The dataset still owns them.
  std::vector<int> fds() const;

 private:
  static Status FromLocation(const forebay_loader_options& options,
                             const DatasetLocation& location, Dataset* out);
  // Makes a subset by `list`, which is sent in a memfd. If `keys` is 0, `list`
  // holds sample numbers. If `keys` is not 0, `list` holds the lengths of
  // `keys` keys, then the keys themselves.
  Status SubsetBy(std::string_view list, std::uint64_t keys,
                  Dataset* out) const;
  void Add(proto::Fd fd) {
    fds_.push_back(std::make_shared<const proto::Fd>(std::move(fd)));
  }

  // Returns the spec in the form for a part of another dataset, in which
  // `descriptors` is set.
  message::DatasetSpec AsPart() const;

  message::DatasetSpec spec_;
  std::vector<std::shared_ptr<const proto::Fd>> fds_;
};

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_H_
