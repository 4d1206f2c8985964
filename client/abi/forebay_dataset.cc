// The C interface to datasets (forebay_dataset.h): checks that pointers are not
// null, and translates. wire::Dataset checks the values.

#include "client/forebay_dataset.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/wire/dataset.h"

using forebay::client::Status;
using forebay::client::abi::Guard;
using forebay::client::wire::Dataset;

namespace {

// Gives the caller a handle of the dataset that `make` makes. If `make` fails,
// does not change *out.
template <typename Make>
Status Give(const Make& make, forebay_dataset** out) {
  auto handle = std::make_unique<forebay_dataset>();
  Status status = make(&handle->dataset);
  if (status.ok()) *out = handle.release();
  return status;
}

}  // namespace

forebay_status forebay_dataset_from_place(const forebay_loader_options* options,
                                          forebay_dataset** out) {
  return Guard(options != nullptr && out != nullptr, [&] {
    const auto all = forebay::client::abi::Complete(*options);
    return Give(
        [&](Dataset* dataset) { return Dataset::FromOptions(all, dataset); },
        out);
  });
}

forebay_status forebay_dataset_from_table(const forebay_loader_options* options,
                                          const char* table, size_t bytes,
                                          forebay_dataset** out) {
  const bool arguments_given =
      options != nullptr && table != nullptr && out != nullptr;
  return Guard(arguments_given, [&] {
    const auto all = forebay::client::abi::Complete(*options);
    return Give(
        [&](Dataset* dataset) {
          return Dataset::FromTable(all, {table, bytes}, dataset);
        },
        out);
  });
}

forebay_status forebay_dataset_from_arrays(const char* uri,
                                           const forebay_array* arrays,
                                           size_t count,
                                           forebay_dataset** out) {
  return Guard(uri != nullptr && arrays != nullptr && out != nullptr, [&] {
    return Give(
        [&](Dataset* dataset) {
          return Dataset::FromArrays(uri, arrays, count, dataset);
        },
        out);
  });
}

forebay_status forebay_dataset_subset(const forebay_dataset* whole,
                                      const int64_t* samples, size_t count,
                                      forebay_dataset** out) {
  const bool arguments_given = samples != nullptr || count == 0;
  return Guard(whole != nullptr && arguments_given && out != nullptr, [&] {
    return Give(
        [&](Dataset* dataset) {
          return whole->dataset.Subset(samples, count, dataset);
        },
        out);
  });
}

forebay_status forebay_dataset_select(const forebay_dataset* whole,
                                      const char* keys, const uint32_t* lengths,
                                      size_t count, forebay_dataset** out) {
  const bool arguments_given =
      keys != nullptr && lengths != nullptr && count > 0;
  return Guard(whole != nullptr && arguments_given && out != nullptr, [&] {
    return Give(
        [&](Dataset* dataset) {
          return whole->dataset.Select(keys, lengths, count, dataset);
        },
        out);
  });
}

forebay_status forebay_dataset_concatenate(const forebay_dataset* const* parts,
                                           size_t count,
                                           forebay_dataset** out) {
  const bool arguments_given =
      parts != nullptr &&
      std::find(parts, parts + count, nullptr) == parts + count;
  return Guard(arguments_given && out != nullptr, [&] {
    std::vector<const Dataset*> datasets;
    for (size_t i = 0; i < count; ++i) datasets.push_back(&parts[i]->dataset);
    return Give(
        [&](Dataset* dataset) {
          return Dataset::Concatenate(datasets, dataset);
        },
        out);
  });
}

void forebay_dataset_free(forebay_dataset* dataset) {
  Guard(true, [&] {
    delete dataset;
    return Status();
  });
}
