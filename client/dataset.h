#ifndef FOREBAY_CLIENT_DATASET_H_
#define FOREBAY_CLIENT_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/fd.h"
#include "client/forebay_dataset.h"
#include "client/status.h"

namespace forebay::client {

// What the daemon is told of a dataset: a spec, and the descriptors that go
// with it. An immutable value, cheap to copy: copies share the descriptors.
// Thread-safe. Only opening folders may block. Errors: as forebay_dataset.h's
// functions of the same names.
class Dataset {
 public:
  static Status FromPlace(const forebay_loader_options& options, Dataset* out);
  static Status FromArrays(const char* uri, const forebay_array* arrays,
                           size_t count, Dataset* out);
  Status Subset(const std::int64_t* samples, size_t count, Dataset* out) const;
  static Status Concatenate(const std::vector<const Dataset*>& parts,
                            Dataset* out);

  // A serialized proto.DatasetSpec.
  const std::string& spec() const { return spec_; }
  // In the order in which they are sent.
  std::vector<int> fds() const;

 private:
  void Take(Fd fd) {
    fds_.push_back(std::make_shared<const Fd>(std::move(fd)));
  }
  void TakeFolders(std::vector<Fd> folders);

  std::string uri_;  // for people
  std::string spec_;
  std::vector<std::shared_ptr<const Fd>> fds_;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_DATASET_H_
