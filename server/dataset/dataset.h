#ifndef FOREBAY_SERVER_DATASET_DATASET_H_
#define FOREBAY_SERVER_DATASET_DATASET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/storage/byte_source.h"

namespace forebay::dataset {

// 16 bytes that change when any sample's name, size, time or label does.
using Version = std::array<std::uint8_t, 16>;

// Where a sample's bytes lie, and what the index knows without reading them.
struct Sample {
  std::string object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
  std::int64_t label = 0;
};

// A fixed, versioned set of samples, by number. Immutable and thread-safe;
// shared by all jobs that read it. Nothing here blocks or fails: building is
// what may.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::uint64_t size() const = 0;
  // `id` is below size().
  virtual Sample At(std::uint64_t id) const = 0;
  // Bytes of the largest sample.
  virtual std::uint64_t largest_sample() const = 0;
  // Names by label.
  virtual const std::vector<std::string>& classes() const = 0;
  virtual const Version& version() const = 0;
  virtual const std::shared_ptr<const storage::Root>& root() const = 0;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_DATASET_H_
